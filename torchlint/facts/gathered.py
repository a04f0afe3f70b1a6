"""Buffers of the device for what all processes send: `all_gather([torch.zeros(n).cuda() for _ in range(size)], x)`."""

from __future__ import annotations

import ast

from . import syntax
from .flow import Flow
from .place import Place

_GATHERS = "torch.distributed.all_gather"


def is_buffer(place: Place) -> bool:
    """Whether the place makes one tensor of a list, in a comprehension or a loop, that another one of each process is written into."""
    calls = (call for call in place.flow.calls_named("all_gather") if place.resolve(call.func) == _GATHERS)
    given = [call.args[0] for call in calls if call.args]
    if not given or not isinstance(place.target, ast.expr):
        return False
    around = place.flow.parents.get(place.target)
    held = _list_of(place.flow, place.target, around)
    return around in given or any(isinstance(one, ast.Name) and one.id == held for one in given)


def _list_of(flow: Flow, made: ast.expr, around: ast.AST | None) -> str:
    """The name of the list that a comprehension makes of such tensors, or that a loop adds one to; "" where there is none."""
    held = None
    if isinstance(around, ast.ListComp):
        held = syntax.target(flow, around)
    elif isinstance(around, ast.Call) and around.args == [made] and flow.loops(made):
        held = syntax.appended_to(flow, around)
    return held.id if isinstance(held, ast.Name) else ""
