"""Small numbers that keep a logarithm from infinity: `p + 1e-8`, `p.clamp(min=eps)`."""

from __future__ import annotations

import ast

from .common_names import EPSILON_NAME
from .names import last
from .nodes import argument_of, number
from .place import Place

_MOST = 1e-4
"""What is larger says something of the numbers themselves: a floor, a smoothing."""
_CLAMPS = frozenset(("clamp", "clip", "clamp_min"))
_LIMITS = frozenset(("torch.finfo", "numpy.finfo"))


def without(place: Place, node: ast.expr) -> ast.expr:
    """What a small number is added to, or keeps from 0 (and from 1); any other expression itself."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        if _is_small(place, node.right):
            return node.left
        return node.right if _is_small(place, node.left) else node
    if isinstance(node, ast.Call) and last(node.func) in _CLAMPS and isinstance(node.func, ast.Attribute):
        return _clamped(place, node) or node
    return node


def _clamped(place: Place, call: ast.Call) -> ast.expr | None:
    """`p` of `p.clamp(1e-8, 1)` and `torch.clamp(p, min=1e-8)`; None where more than the ends is cut off."""
    assert isinstance(call.func, ast.Attribute)
    before = int(place.resolve(call.func) == f"torch.{call.func.attr}")
    clamped = argument_of(call, "input", 0) if before else call.func.value
    least, most = argument_of(call, "min", before), argument_of(call, "max", before + 1)
    ends = least is not None and _is_small(place, least) and (most is None or _is_almost_one(place, most))
    return clamped if ends else None


def _is_small(place: Place, node: ast.expr) -> bool:
    """`1e-8`, a name for it, `torch.finfo(x.dtype).eps`"""
    match node:
        case ast.Attribute(value=ast.Call(func=limits), attr="eps" | "tiny" | "smallest_normal"):
            return place.resolve(limits) in _LIMITS
    if not isinstance(node, ast.Constant | ast.Name | ast.Attribute):
        return False
    value = place.value(node)
    if value.const is None:
        return value.kind in ("number", "unknown") and EPSILON_NAME.search(last(node)) is not None
    return isinstance(value.const, float) and 0 < value.const <= _MOST


def _is_almost_one(place: Place, node: ast.expr) -> bool:
    """`1`, `1 - 1e-8`"""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return number(node.left) == 1 and _is_small(place, node.right)
    return number(node) == 1
