"""Indices that are written out once for each thing that they pick: `x.gather(1, places.unsqueeze(-1).repeat(1, 1, n))`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from .flow import Flow
from .nodes import argument_of, number, receiver_of
from .syntax import target
from .uses import only_read_inside

_BY_INDEX = frozenset("gather scatter scatter_ scatter_add scatter_add_".split())
"""What reads an index of any strides, and writes nothing to it."""
_FUNCTIONS = frozenset(f"torch.{name}" for name in _BY_INDEX)


def is_written_out(flow: Flow, repeat: ast.Call, resolve: Callable[[ast.expr], str | None]) -> bool:
    """Whether a call repeats the dimension alone that `unsqueeze` has just made, for an index or for what `gather` takes of: a view, `expand`, does the same.

    It may have a name in between that nothing else reads.
    """
    if not _repeats_new(repeat):
        return False
    read = repeat if target(flow, repeat) is None else only_read_inside(flow.function, repeat)
    return read is not None and (_is_index(flow, read, resolve) or _is_gathered(flow, read, resolve))


def _is_gathered(flow: Flow, node: ast.expr, resolve: Callable[[ast.expr], str | None]) -> bool:
    """`torch.gather(node, 1, places)`"""
    call = flow.argument_of(node)
    return isinstance(call, ast.Call) and resolve(call.func) == "torch.gather" and argument_of(call, "input", 0) is node


def _repeats_new(repeat: ast.Call) -> bool:
    """`x.unsqueeze(-1).repeat(1, 1, n)`"""
    made = receiver_of(repeat)
    counts = repeat.args
    if not isinstance(made, ast.Call) or repeat.keywords or any(isinstance(one, ast.Starred) for one in counts):
        return False
    dim = number(argument_of(made, "dim", 0))
    if not isinstance(made.func, ast.Attribute) or made.func.attr != "unsqueeze" or not isinstance(dim, int):
        return False
    several = [at for at, count in enumerate(counts) if number(count) != 1]
    return len(counts) > 1 and several == [dim if dim >= 0 else len(counts) + dim]


def _is_index(flow: Flow, node: ast.expr, resolve: Callable[[ast.expr], str | None]) -> bool:
    """`torch.gather(x, 1, node)`, `x.gather(dim=1, index=node)`"""
    call = flow.argument_of(node)
    if not isinstance(call, ast.Call):
        return False
    name = resolve(call.func)
    if name is not None:
        return name in _FUNCTIONS and argument_of(call, "index", 2) is node
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr in _BY_INDEX
    # Other things gather, too, but by no number of a dimension.
    return is_method and number(argument_of(call, "dim", 0)) is not None and argument_of(call, "index", 1) is node
