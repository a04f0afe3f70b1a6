"""Functions that calculate on the host, and give back there, what they are given on the device: `make_pad_mask(lengths)`."""

from __future__ import annotations

import ast

from .module import Function
from .nodes import is_constant, none_test, spreads
from .place import Place
from .uses import assigned_on_all_ways

_CALLS = 3
"""Through how many functions what a call gives is followed."""
_STEPS = 8


def gives_on_host(place: Place, call: ast.Call, found: list[Function]) -> bool:
    """Whether the functions that a call runs make what it gives on the host, on all ways that its arguments leave open."""
    return bool(found) and all(_makes_there(place, one, call, frozenset(), _CALLS) for one in found)


def _makes_there(place: Place, function: Function, call: ast.Call, absent: frozenset[str], calls: int) -> bool:
    """The same of one function, where the caller's parameters `absent` are None."""
    if not isinstance(function.node, ast.FunctionDef) or function.is_replaced or spreads(call):
        return False
    left = frozenset(name for name in function.positions if _is_none(function, call, name, absent))
    ends = [one for one in function.flow.returns if not _is_closed_off(function, one, left)]
    return bool(ends) and all(
        end.value is not None and _is_made_there(place, function, end.value, left, calls, _STEPS) for end in ends
    )


def _is_none(function: Function, call: ast.Call, name: str, absent: frozenset[str]) -> bool:
    """Whether a call leaves a parameter at None, and the function does too."""
    if name in function.flow.stores:
        return False
    given = function.argument(call, name) or function.defaults.get(name)
    return is_constant(given, None) or (isinstance(given, ast.Name) and given.id in absent)


def _is_closed_off(function: Function, node: ast.AST, absent: frozenset[str]) -> bool:
    """Whether a place is behind `if x is not None:` of a parameter that is None."""
    for guard in function.flow.guards(node) if absent else ():
        name, is_none = none_test(guard.test) or (None, False)
        if isinstance(name, ast.Name) and name.id in absent and is_none is not guard.true:
            return True
    return False


def _is_made_there(
    place: Place, function: Function, node: ast.expr, absent: frozenset[str], calls: int, steps: int
) -> bool:
    while isinstance(node, ast.UnaryOp | ast.Compare):
        if isinstance(node, ast.Compare) and not all(isinstance(one, ast.Constant) for one in node.comparators):
            break
        node = node.operand if isinstance(node, ast.UnaryOp) else node.left
    if isinstance(node, ast.Name):
        ways = assigned_on_all_ways(function, node) if steps else []
        open_ = [way for way in ways if not _is_closed_off(function, way, absent)]
        return bool(open_) and all(_is_made_there(place, function, way, absent, calls, steps - 1) for way in open_)
    there = place.at(function, node)
    if isinstance(node, ast.Call):
        found = there.may_run(node)
        if found:
            return calls > 0 and all(_makes_there(place, one, node, absent, calls - 1) for one in found)
    value = there.value(node)
    return value.kind == "tensor" and value.device == "cpu" and not value.other_kinds
