"""What processes send to each other from the device: buffers, `all_gather([torch.zeros(n).cuda() for _ in range(size)], x)`, and numbers."""

from __future__ import annotations

import ast

from ..system.regex import regex
from . import names, syntax
from .flow import Flow
from .nodes import given_to
from .place import Place

_GATHERS = "torch.distributed.all_gather"
_EXCHANGES = frozenset(
    """all_gather all_gather_into_tensor all_reduce all_to_all all_to_all_single broadcast gather isend irecv recv reduce
    reduce_scatter reduce_scatter_tensor scatter send""".split()
)
"""What `torch.distributed` sends a tensor by."""
_HELPER = regex(
    r"^_?(?:nested_gather|all_?reduce(?:_\w+)?|all_?gather(?:_\w+)?|gather_for_metrics|reduce_(?:mean|sum|tensor|value))$"
)
"""What programs and frameworks call what does so."""


def is_buffer(place: Place) -> bool:
    """Whether the place makes one tensor of a list, in a comprehension or a loop, that another one of each process is written into.

    What pickles sends objects, as programs do with the results of an evaluation, once.
    """
    if any(place.flow.calls_named("dumps")):
        return False
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


def is_exchanged(place: Place) -> bool:
    """Whether what the place makes, or the name that it gets, is sent to other processes: `n = torch.tensor(count).cuda()`, `dist.all_reduce(n)`."""
    flow, made = place.flow, place.target
    for around in flow.ancestors(place.target):
        if not _hands_on(around, made):
            break
        made = around
    if not isinstance(made, ast.expr):
        return False
    target = syntax.target(flow, made)
    loads = flow.loads.get(target.id, ()) if isinstance(target, ast.Name) else ()
    return any(_is_sent(place, one) for one in (made, *loads))


def _hands_on(around: ast.AST, made: ast.AST) -> bool:
    """`made.cuda()`, `made[None]`"""
    match around:
        case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Call(func=ast.Attribute() as inner):
            return inner is made
    return False


def _is_sent(place: Place, given: ast.expr) -> bool:
    call = place.flow.parents.get(given)
    return isinstance(call, ast.Call) and given in given_to(call) and _exchanges(place, call)


def _exchanges(place: Place, call: ast.Call) -> bool:
    name = names.last(call.func)
    if name not in _EXCHANGES and not _HELPER.match(name):
        return False
    resolved = place.resolve(call.func) or ""
    if resolved.startswith("torch."):
        return resolved.startswith("torch.distributed.")
    return _HELPER.match(name) is not None
