"""Where another function moves what a place makes: what it is given, or an attribute that another method fills."""

from __future__ import annotations

import ast

from . import names, syntax
from .host_constants import is_written
from .host_filled import MOST_USES, is_between
from .module import Function
from .place import Place
from .sending import goes_to_device
from .uses import only_reader

_MOVES = frozenset(("to", "cuda", "xpu"))


def mover(place: Place, made: ast.Call) -> Place | None:
    """Where another function moves what a call of the place makes: what it is given, `to_gpu(torch.randn(2))`, or an attribute."""
    whole: ast.expr = made
    while (method := _method_of(place, whole)) is not None and is_between(place, method):
        whole = method
    user = place.flow.parents.get(whole)
    if isinstance(user, ast.Assign) and (read := _only_read(place, user)) is not None:
        whole, user = read, place.flow.parents.get(read)
    if isinstance(user, ast.Call) and whole in user.args:
        return _moved_as_given(place, user, user.args.index(whole))
    target = user.targets[0] if isinstance(user, ast.Assign) and len(user.targets) == 1 else None
    return _moved_as_attribute(place, target) if isinstance(target, ast.Attribute) and place.hot is not None else None


def _only_read(place: Place, made: ast.Assign) -> ast.Name | None:
    """Where a name is read that a statement assigns, in one place alone of the same loop, whatever it is afterwards."""
    name = made.targets[0] if len(made.targets) == 1 else None
    loads = place.flow.loads.get(name.id, ()) if isinstance(name, ast.Name) else ()
    if not isinstance(name, ast.Name) or len(loads) > MOST_USES:
        return None
    read = only_reader(place.function, name.id, made.value)
    return read if read is not None and place.flow.loops(read) == place.flow.loops(made) else None


def _method_of(place: Place, node: ast.expr) -> ast.Call | None:
    """The call of a method of what an expression gives."""
    method = place.flow.parents.get(node)
    call = place.flow.parents.get(method) if isinstance(method, ast.Attribute) else None
    return call if isinstance(call, ast.Call) and call.func is method else None


def _moved_as_given(place: Place, call: ast.Call, at: int) -> Place | None:
    """Where the function of the project that is called moves what it is given at a place, before it does anything with it."""
    if any(isinstance(given, ast.Starred) for given in call.args):
        return None
    found = [one for one in place.may_run(call) if not _leaves_all(one)]
    moved = [_moved_parameter(place, function, at + function.is_method) for function in found]
    return moved[0] if moved and None not in moved else None


def _leaves_all(function: Function) -> bool:
    """Whether a method does nothing, and others stand in its place: `def scaled(self, x): pass`."""
    return function.is_method and (function.is_abstract or all(isinstance(one, ast.Pass) for one in function.telling))


def _moved_parameter(place: Place, function: Function, at: int) -> Place | None:
    """Where a function moves one of its parameters; None where it uses that before, but to ask what it is."""
    if at >= len(function.parameters):
        return None
    name = function.parameters[at].arg
    uses = (load for load in function.flow.loads.get(name, ()) if not _is_asked(function, load))
    first = next((load for load in uses if not _is_other(function, load)), None)
    if first is None or any(store.lineno < first.lineno for store in function.flow.stores.get(name, ())):
        return None
    move = _moving(place, function, first) if not function.flow.loops(first) else None
    return move if move is not None and not move.rare else None


def _is_asked(function: Function, load: ast.Name) -> bool:
    """`if isinstance(x, list):`, `if x.is_cuda:`"""
    return any(
        isinstance(parent, ast.If | ast.IfExp) and parent.test is child for child, parent in function.flow.upwards(load)
    )


def _is_other(function: Function, load: ast.Name) -> bool:
    """Whether a place is reached with something else than tensors: behind `if isinstance(x, list):`."""
    tests = (guard.test for guard in function.flow.guards(load) if guard.true)
    return any(
        isinstance(test, ast.Call)
        and names.last(test.func) == "isinstance"
        and len(test.args) == 2
        and "Tensor" not in ast.unparse(test.args[1])
        for test in tests
    )


def _moving(place: Place, function: Function, read: ast.expr) -> Place | None:
    """The call that moves what is read, `x.cuda()`, `x.transpose(0, 1).cuda()`."""
    there = place.at(function, read)
    call = _method_of(there, read)
    while call is not None and is_between(there, call):
        call = _method_of(there, call)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr not in _MOVES:
        return None
    move = place.at(function, call)
    return move if goes_to_device(move, call) else None


def _moved_as_attribute(place: Place, target: ast.Attribute) -> Place | None:
    """Where a step moves the attribute that another method fills on each step: `self.hidden = self.hidden.cuda()`."""
    klass, name = place.function.cls, syntax.own_attribute(place.function, target)
    if klass is None or name is None or place.function.name == "__init__":
        return None
    uses = klass.uses.get(name, ())
    if len(uses) > MOST_USES or any(
        is_written(method, f"{method.own_name}.{name}") for method in klass.methods.values()
    ):
        return None
    moved = (_moving(place, method, use) for method, use in uses)
    return next((move for move in moved if move is not None and move.hot is not None), None)
