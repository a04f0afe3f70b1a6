"""Buffers of the device for what all processes send: `all_gather([torch.zeros(n).cuda() for _ in range(size)], x)`."""

from __future__ import annotations

import ast

from .place import Place

_GATHERS = "torch.distributed.all_gather"


def is_buffer(place: Place) -> bool:
    """Whether the place makes one tensor of a list, in a comprehension or a loop, that another one of each process is written into."""
    held = _list_of(place)
    if held is None:
        return False
    calls = (call for call in place.flow.calls_named("all_gather") if place.resolve(call.func) == _GATHERS)
    return any(call.args and (call.args[0] is held or _is_named(call.args[0], held)) for call in calls)


def _list_of(place: Place) -> ast.expr | None:
    """The comprehension whose elements the place makes, or its name, or that of the list that it is added to in a loop."""
    target = place.target
    assert isinstance(target, ast.expr)
    around = place.flow.parents.get(target)
    if isinstance(around, ast.ListComp):
        statement = place.flow.parents.get(around)
        named = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        return statement.targets[0] if named and isinstance(statement, ast.Assign) else around
    func = around.func if isinstance(around, ast.Call) and around.args == [target] else None
    adds = isinstance(func, ast.Attribute) and func.attr == "append" and bool(place.flow.loops(target))
    return func.value if adds and isinstance(func, ast.Attribute) else None


def _is_named(given: ast.expr, held: ast.expr) -> bool:
    return isinstance(given, ast.Name) and isinstance(held, ast.Name) and given.id == held.id
