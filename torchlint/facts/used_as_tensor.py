"""Calls of methods that arrays and modules have as well, written as only those of tensors are: `x.float().sum()`, `x.any(dim=1)`."""

from __future__ import annotations

import ast

from .nodes import number

_CASTS = frozenset("float double half bfloat16 int bool".split())
_CALCULATED = frozenset(
    """sum mean max min any all prod std var median abs pow sqrt exp log round floor view reshape t argmax argmin norm
    cumsum flatten squeeze transpose logical_not""".split()
)
"""Methods of tensors that arrays may have as well, and modules do not."""
_REDUCES = frozenset("sum mean max min any all prod std var median argmax argmin norm cumsum argsort sort".split())


def gives_tensor(method: str, call: ast.Call) -> bool:
    """Whether what a method is called of, unless it is an object with such methods of its own, is a tensor, and so is the result.

    Arrays have no casts of these names, and call a dimension `axis`; arrays with named dimensions are given names.
    """
    if method in _CALCULATED and cast_from(call) is not None:
        return True
    return method in _REDUCES and any(one.arg == "dim" and _is_dimension(one.value) for one in call.keywords)


def cast_from(call: ast.Call) -> ast.expr | None:
    """`x` of `x.float().sum()`; None where a method is called of something else."""
    match call.func:
        case ast.Attribute(value=ast.Call(func=ast.Attribute(attr=cast, value=owner), args=[], keywords=[])):
            return owner if cast in _CASTS else None
    return None


def _is_dimension(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple | ast.List) else (node,)
    return all(isinstance(number(part), int) for part in parts)
