"""Who sends the batches of a loader to the device."""

from __future__ import annotations

import ast
from collections.abc import Collection

from ..facts import names
from ..facts.arguments import device_of
from ..facts.host_constants import viewed
from ..facts.module import Function
from ..facts.nodes import advanced, bound_names, given_to, names_in
from ..facts.sending import SENDS
from ..facts.values import Batch, Tensor, Value
from ..system.regex import regex
from .families import may_run
from .host_places import goes_to_host
from .project import Project

_MOVES = ("to", "cuda", "xpu", "to_device")
_NAMED = regex(
    r"^(?:mini_?)?(?:data_?)?batch(?:_?(?:data|input|inputs|sample|samples))?$|^(?:samples?|data|inputs|model_inputs|images|imgs)$"
)
"""What people call a batch that a loop goes through."""


def sent_batch(project: Project, function: Function, call: ast.Call) -> Tensor | Batch | None:
    """What a loader gave that a call sends to the device: `x.to(device)`, `move_to(batch, device)`."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in _MOVES:
        # A view lies in pinned memory, too, and so does a cast to what the loader gives; what else is made of a batch is new.
        given = _behind_views(project, function, func.value)
        if _is_made(given):
            return None
    elif isinstance(func, ast.Name) and len(call.args) > 1 and SENDS.search(func.id):
        given = call.args[0]
    else:
        return None
    batch = project.value(function, given)
    if batch.kind not in ("tensor", "batch") or not batch.from_loader or goes_to_host(project, function, call):
        return None
    return batch


def sends_its_own(project: Project, function: Function, loop: ast.For) -> bool:
    """Whether a loop puts what it goes through, of which only the name is known, in its place on the device: `for batch in source: batch = move_to_cuda(batch)`."""
    named = {name for name in bound_names(loop.target) if _NAMED.search(name)}
    if not named or project.value(function, loop.iter).kind not in ("unknown", "instance", "loader"):
        return False
    return any(
        isinstance(statement, ast.Assign)
        and isinstance(target := statement.targets[0], ast.Name)
        and target.id in named
        and any(_sends_name(project, function, one, target.id) for one in _ways(statement.value))
        for statement in loop.body
    )


def _ways(node: ast.expr) -> list[ast.expr]:
    """What `a if cuda else b` may come to."""
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]


def _sends_name(project: Project, function: Function, node: ast.expr, name: str) -> bool:
    """Whether an expression is what a name holds, or all of its parts, on the device."""
    match node:
        case ast.DictComp(
            value=ast.Call(func=ast.Attribute()) as call,
            generators=[ast.comprehension(iter=ast.Call(func=ast.Attribute(attr="items", value=ast.Name(id=moved))))],
        ) if moved == name:
            return _sends_there(project, function, call)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=moved))) if moved == name:
            return _sends_there(project, function, node)
        case ast.Call(args=[ast.Name(id=moved), *_]) if moved == name and SENDS.search(names.last(node.func)):
            return len(node.args) < 2 or _is_device(project.value(function, node.args[1]))
    return False


def _sends_there(project: Project, function: Function, call: ast.Call) -> bool:
    """`x.cuda()`, `x.to(device)`"""
    move = names.last(call.func)
    if move != "to":
        return move in _MOVES
    return bool(call.args) and _is_device(project.value(function, call.args[0]))


def _is_device(value: Value) -> bool:
    """Whether something names a device that is not the host."""
    return value.kind in ("device", "str") and device_of(value) != "cpu"


def _behind_views(project: Project, function: Function, node: ast.expr) -> ast.expr:
    """What views, casts and `Variable(x)`, which is `x` itself, stand before."""
    node = viewed(node)
    while (
        isinstance(node, ast.Call) and node.args and project.resolve(function, node.func) == "torch.autograd.Variable"
    ):
        node = viewed(node.args[0])
    return node


def _is_made(node: ast.expr) -> bool:
    """Whether a call made something; `next(batches)` is what a loader gave."""
    return isinstance(node, ast.Call) and advanced(node) is None


def takes(call: ast.Call, names_: Collection[str]) -> bool:
    """Whether a call is given something of that name, or a part of it."""
    given = given_to(call)
    return any(isinstance(part, ast.Name) and part.id in names_ for one in given for part in ast.walk(one))


def sends(project: Project, function: Function, depth: int, *, as_it_is: bool = False) -> bool:
    """Whether a function moves what it is given, or hands it on to one that does.

    `as_it_is`: what it moves may lie where the loader put it, which an array that it makes a tensor of anew does not.
    """
    if any(
        isinstance(call.func, ast.Attribute)
        and not (as_it_is and _is_made(_behind_views(project, function, call.func.value)))
        and _may_be_batch(project.value(function, call.func.value))
        and not goes_to_host(project, function, call)
        for method in _MOVES
        for call in function.flow.calls_named(method)
    ):
        return True
    own = _parts(function)
    return depth > 0 and any(
        sends(project, target, depth - 1, as_it_is=as_it_is)
        for call in function.flow.calls
        if takes(call, own)
        for target in may_run(project, function, call)
    )


def _parts(function: Function) -> set[str]:
    """The names of what a function is given, and of what it takes out of that."""
    return with_parts(function, {parameter.arg for parameter in function.parameters[function.is_method :]})


def with_parts(function: Function, given: Collection[str]) -> set[str]:
    """Names, and those of what is taken out of what they name: x of `x, y = batch`, of `x = batch["x"]`, of `x, y = unpack(batch)`."""
    own = {*given}
    for node in function.flow.nodes:
        if isinstance(node, ast.Assign):
            part = node.value
            if isinstance(part, ast.Call) and isinstance(node.targets[0], ast.Tuple) and len(part.args) == 1:
                part = part.args[0]
            while isinstance(part, ast.Subscript):
                part = part.value
            if isinstance(part, ast.Name) and part.id in own:
                own |= names_in(node.targets[0])
    return own


def _may_be_batch(value: Value) -> bool:
    if value.kind in ("tensor", "batch"):
        return value.device != "accelerator"
    return value.kind == "unknown"
