"""Where autograd is needed: functions that train or ask for gradients, and results that a caller trains on."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection

from ..system.regex import regex
from . import guards, names, short_functions
from .derived import Derived, made_of
from .flow import contains
from .module import Function
from .nodes import given_to, is_constant
from .place import Place
from .torch_table import TAKES_LOSS

INSIDE = regex(rb"autograd\.(?:grad|functional)|enable_grad|set_grad_enabled|create_graph|register_hook|retain_grad")
"""What a forward asks of autograd."""
_OFF = rb"(?!_?(?: *= *|\( *)False\b)"
"""Behind `requires_grad` what says no more than that nothing is to be differentiated."""
_BACKWARD = regex(rb"backward\(")
TRAINS = regex(INSIDE.pattern + rb"|backward\(|\.grad\b|requires_grad" + _OFF + rb"|\.step\(")
ASKS = regex(
    rb"(?i)backward\(|autograd\.grad|requires_grad|enable_grad|\.grad\b|attack|advers|salienc|attribut|gradcam|pgd|fgsm"
)
"""What code says that asks for gradients, or for none, by other means than to train."""
_ASKS_OTHERWISE = regex(ASKS.pattern.replace(rb"requires_grad", rb"\.requires_grad|requires_grad(?!\s*=\s*False\b)"))
_DATA = frozenset(
    """Variable tensor as_tensor zeros ones empty full eye arange linspace rand randn randint randperm zeros_like ones_like
    empty_like full_like rand_like randn_like Tensor FloatTensor LongTensor DoubleTensor from_numpy""".split()
)
"""What makes data: of `requires_grad=False` there nothing follows for a model."""
_BACKWARDS = TAKES_LOSS | {"grad"}
_CALLERS = 3
"""How many calls away results are followed."""
GRADIENTS = rb"\bautograd\.grad\b|\bautograd import (?:[\w, ]*, ?)?grad\b"
_ALLOWS = regex(rb"enable_grad|set_grad_enabled")
_MOST = 30
"""How many functions are looked into for what a call runs."""


def trains(function: Function) -> bool:
    """Whether the text of a function speaks of gradients."""
    return function.says(TRAINS)


def leads_to_training(place: Place, function: Function) -> bool:
    """Whether a function speaks of gradients, or runs a backward pass by what it calls with something: `update(loss, optimizer)`."""
    key = ("leads to training", function)
    return trains(function) or place.once(key, lambda: _goes_backward(place, function))


def _goes_backward(place: Place, function: Function) -> bool:
    todo, seen = [(function, _CALLERS)], {function}
    while todo and len(seen) < _MOST:
        caller, depth = todo.pop()
        for call in caller.flow.calls:
            if not given_to(call) and not isinstance(call.func, ast.Attribute):
                continue
            for target in place.project.targets(caller, call):
                if target.says(_BACKWARD):
                    return True
                if depth and target not in seen:
                    seen.add(target)
                    todo.append((target, depth - 1))
    return False


def differentiates(place: Place, call: ast.Call) -> bool:
    """Whether what a call runs takes gradients itself outside of training, as a model does that gives normals: it can't do without autograd.

    What switches autograd on for that can. Of what is not known, any module of the project may be it.
    """
    run = run_by(place, place.function, call)
    if run:
        return _take_gradients(place, run)
    return place.once(
        ("forwards that differentiate",), lambda: any(_take_gradients(place, [one]) for one in _forwards(place))
    )


def _forwards(place: Place) -> list[Function]:
    """What modules do in the files of the project that take gradients."""
    files = sorted(place.project.holders(GRADIENTS, word=b"autograd"))
    modules = [module for path in files if (module := place.project.module(path)) is not None]
    return [
        function
        for module in modules
        for function in module.functions
        if function.name == "forward" and function.cls is not None and place.project.is_module(function.cls)
    ]


def _take_gradients(place: Place, run: list[Function]) -> bool:
    """Whether functions, or what they run, take gradients outside of training."""
    seen: set[Function] = set()
    todo = [*run]
    while todo and len(seen) < _MOST:
        function = todo.pop()
        if function in seen:
            continue
        seen.add(function)
        if function.says(_ALLOWS):
            continue
        calls = [one for one in function.flow.calls if not only_trains(function, one)]
        if any(_takes_gradients(place, function, one) for one in calls):
            return True
        todo += itertools.chain.from_iterable(run_by(place, function, one) for one in calls)
    return False


def _takes_gradients(place: Place, function: Function, call: ast.Call) -> bool:
    """`torch.autograd.grad(...)`, or a tensor that is made to want a gradient."""
    if names.last(call.func) == "grad":
        return bool(place.project.resolve(function, call.func) == "torch.autograd.grad")
    return names.last(call.func) != "Parameter" and any(
        keyword.arg == "requires_grad" and is_constant(keyword.value, True) for keyword in call.keywords
    )


def asks(function: Function, part: ast.stmt | ast.expr | None = None) -> bool:
    """Whether a function, or a part of it, says what `ASKS` looks for, data made with `requires_grad=False` apart, or runs a backward pass by a short function."""
    module = function.module
    short = (call for call, _, _ in short_functions.calls_named(function, "backward"))
    if any(part is None or contains(part, call) for call in short):
        return True
    if not (function.says(ASKS) if part is None else module.says(part, ASKS)):
        return False
    if function.says(_ASKS_OTHERWISE) if part is None else module.says(part, _ASKS_OTHERWISE):
        return True
    calls = (call for call in function.flow.calls if any(given.arg == "requires_grad" for given in call.keywords))
    return not all(names.last(call.func) in _DATA for call in calls)


def only_trains(function: Function, call: ast.Call) -> bool:
    """Whether a call runs in training alone: `if model.training:`."""
    return any(guards.evaluates(guard.test, not guard.true) for guard in function.flow.guards(call))


def run_by(place: Place, function: Function, call: ast.Call) -> list[Function]:
    """The functions of the project that a call runs, and those that it is given."""
    given = (place.project.value(function, argument) for argument in given_to(call))
    return [*place.project.targets(function, call), *(value.function for value in given if value.function is not None)]


def is_trained_on(place: Place, function: Function, depth: int = _CALLERS) -> bool:
    """Whether a caller of the project starts a backward pass at what the function gives."""
    sites = place.project.call_sites(function) or ()
    return any(starts_backward(place, site.function, [site.call], depth) for site in sites)


def starts_backward(place: Place, function: Function, values: Collection[ast.expr], depth: int = _CALLERS) -> bool:
    """Whether a backward pass starts at values of a function or at what is made of them, here or where it is given back to."""
    made = Derived(function.flow, values)
    given = [call for call in function.flow.calls if made.holds(call)]
    if any(_starts(place, function, call, values) for call in given):
        return True
    if any(_take_gradients(place, run_by(place, function, call)) for call in given if call not in values):
        return True
    if any(_starts_at_given(place, function, call, made) for call in given if call in values):
        return True
    return depth > 0 and gives_back(function, values) and is_trained_on(place, function, depth - 1)


def gives_back(function: Function, values: Collection[ast.expr]) -> bool:
    """Whether a function returns some values, or what is made of them."""
    returned = function.flow.returned
    return bool(returned) and any(map(Derived(function.flow, values).holds, returned))


def _starts_at_given(place: Place, function: Function, call: ast.Call, made: Derived) -> bool:
    """Whether a call trains on what it gave the turn before: `penalty = step(x, penalty)`, which adds that to its loss."""
    taken = [one for one in given_to(call) if made.holds(one)]
    return any(
        (name := target.parameter_given(call, one)) is not None
        and starts_backward(place, target, target.flow.loads.get(name, ()), depth=0)
        for one in taken
        for target in place.project.targets(function, call)
    )


def backward_sources(place: Place) -> frozenset[str]:
    """The names of a function that its backward passes start at, or at what is made of them."""

    def found() -> frozenset[str]:
        function = place.function
        return made_of(function.flow, [call for call in function.flow.calls if _starts(place, function, call)])

    return place.once(("backward sources", place.function), found)


def _starts(place: Place, function: Function, call: ast.Call, values: Collection[ast.expr] = ()) -> bool:
    """Whether a call that is none of some values runs a backward pass, by itself or by what it calls."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _BACKWARDS:
        return True
    return call not in values and any(leads_to_training(place, one) for one in run_by(place, function, call))
