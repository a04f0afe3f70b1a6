"""How often a place runs a model, and whether autograd has something to do there."""

from __future__ import annotations

import ast

from ..system.regex import regex
from . import evaluation_mode, names, runs, simulators, training
from .flow import Loop
from .frozen import freezes_itself, is_frozen, is_frozen_by, is_made_frozen, is_off_before
from .module import Function
from .names import chain
from .nodes import given_to
from .place import Place
from .trainable import model_of

_GRADIENTS = regex(r"(?:^|_)grads?(?:ients?)?(?:_|$)")
"""What options on autograd are called: `no_grad`, `with_gradient`."""


def repeated(place: Place, call: ast.Call) -> bool:
    """Whether a loop runs a call more often than until it succeeds; one of another function may. A constructor tries its parts once."""
    if place.function.name == "__init__":
        return False
    loops = place.flow.loops(call)
    return not is_tried(place, loops) if loops else runs_often(place.at(place.function, call))


def runs_often(place: Place) -> bool:
    """Whether a step loop, or one of evaluation, calls the function: `agent.select_action(state)`."""
    if place.hot is not None or place.warm_caller is None:
        return place.hot is not None
    if simulators.steps(place):
        return False  # whoever plays switches gradients off
    caller, _ = place.warm_caller
    # Where the model is switched in the caller, that is told there; a framework calls a function by itself.
    return caller is place.function or not evaluation_mode.switches(caller)


def off(place: Place, call: ast.Call) -> bool:
    """Whether autograd is off at the call, or inside what it runs, or is needed there, or an option of that name leaves it on."""
    context = place.analysis.context
    if context.off_where_called(place.function, call) or training.differentiates(place, call):
        return True
    if any(_GRADIENTS.search(names.last(guard.test)) for guard in place.flow.guards(call)):
        return True
    model = place.value(whole(place, model_of(call)))
    given = [place.value(one) for one in given_to(call)] if model.kind == "function" else [model]
    classes = (value.class_ for value in given if value.kind != "function")
    forwards = (place.project.method(klass, "forward") for klass in classes if klass is not None)
    return any(context.function_off(one) or _leaves_to_off(place, one) for one in forwards if one is not None)


def _leaves_to_off(place: Place, forward: Function) -> bool:
    """Whether a path of a forward leaves it to a method that has autograd off: `if not self.trainable: return self.infer(x)`."""
    given = (one.value for one in forward.flow.returns)
    methods = (one for call in given if isinstance(call, ast.Call) for one in place.project.targets(forward, call))
    return any(one.cls is not None and place.analysis.context.function_off(one) for one in methods)


def frozen(place: Place, call: ast.Call) -> bool:
    """Whether the file, or the model itself, freezes the parameters of the model that is called, `vae(x)` or `vae.encode(x)`."""
    model = whole(place, model_of(call))
    if isinstance(model, ast.Attribute) and is_frozen_by(place, place.value(model.value), model.attr):
        return True
    name = (chain(model) or ["?"])[-1]
    if is_frozen(place, name) or freezes_itself(place, place.value(model)) or is_off_before(place, call, name):
        return True
    return is_made_frozen(place, model)


def whole(place: Place, model: ast.expr) -> ast.expr:
    """The model of which a method is called: `vae` of `vae.encode`."""
    return model.value if isinstance(model, ast.Attribute) and place.value(model).kind == "function" else model


def is_tried(place: Place, loops: list[Loop]) -> bool:
    """Whether all loops around a place only try again, until one iteration succeeds."""
    return all(place.once(("tries again", loop), lambda: runs.tries_again(place.flow, loop)) for loop in loops)  # noqa: B023
