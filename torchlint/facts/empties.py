"""Tensors that are written without an element: nothing of them is copied, wherever they go."""

from __future__ import annotations

import ast
from collections.abc import Iterator

# Factories whose first argument, or all of them, are the sizes.
_SIZED = frozenset(("zeros", "ones", "empty", "rand", "randn", "eye", "arange", "randperm"))


def no_data(data: ast.expr) -> bool:
    """`[]`, `()`, `[[], []]`: what `torch.tensor` makes of it has no elements."""
    return isinstance(data, ast.List | ast.Tuple) and all(no_data(row) for row in data.elts)


def no_sizes(name: str, call: ast.Call) -> bool:
    """`torch.zeros(0, 4)`, `torch.full(size=[0], fill_value=1.0)`, by the factory's name: a size of zero among the written ones."""
    return any(isinstance(size, ast.Constant) and size.value == 0 for size in _sizes(name, call))


def _sizes(name: str, call: ast.Call) -> Iterator[ast.expr]:
    if name == "arange" and len(call.args) > 1:
        return  # from 0 to somewhere
    named = [keyword.value for keyword in call.keywords if keyword.arg in ("size", "n", "m")]
    for given in [*(call.args if name in _SIZED else call.args[:1] if name == "full" else ()), *named]:
        if isinstance(given, ast.Tuple | ast.List):
            yield from given.elts
        else:
            yield given
