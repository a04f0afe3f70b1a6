"""The model that a call switches to evaluation, and the calls of a function that run it afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..system.regex import regex
from ..text.declared import functions_in
from . import alternatives, short_functions, training
from .graph_liveness import becomes_array, is_dead
from .module import Class, Function
from .names import chain, last
from .nodes import argument_of, given_to, is_constant
from .place import Place
from .trainable import NO_RUN, is_method_of_models, model_of, runs_trainable, switches_off
from .wrapped_models import Model, given_on, known_as, may_know, reads, wrapped

_IN_PLACE = frozenset(("eval", "train", "to", "cuda", "cpu", "half", "float", "bfloat16", "double", "requires_grad_"))
"""Methods of a module that give the module again."""
_SWITCHES = ("train", "eval")
_PART = regex(r"(?:^|_)(?:extractor|aggregator|encoder|decoder|backbone|head|forward)$")

_RUN_GIVEN = frozenset(("monai.inferers.sliding_window_inference", "monai.inferers.utils.sliding_window_inference"))
"""Functions of libraries that run the model that they are given, with autograd as they find it."""

_HANDED_ON = 2
"""How many functions hand a model on at most before one runs it."""
_MOST_HANDED = 20
"""A model whose name stands in more places is more than run."""

_TRAINS = regex(r"(?i)train|backward|optim|^fit|^step$")
"""What is called where a model is trained."""


def switched(place: Place, call: ast.Call) -> Model | None:
    """The model that is switched, by its name: `net` of `net.eval()`, `net.cuda().eval()`, `net = load().eval().cuda()`."""
    node: ast.expr = call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _IN_PLACE:
        node = node.func.value
    model = chain(node)
    if model is not None:
        return model
    whole: ast.AST = call
    around = place.flow.parents.get(whole)
    while isinstance(around, ast.Attribute) and around.attr in _IN_PLACE:
        whole = place.flow.parents[around]
        around = place.flow.parents.get(whole)
    kept = around.targets if isinstance(around, ast.Assign) and around.value is whole else ()
    return chain(kept[0]) if len(kept) == 1 else None


def where_switched(place: Place, model: Model) -> Iterator[tuple[tuple[Function, ast.Call], ast.expr]]:
    """The calls in its file of a function that does nothing but switch models, each with the model of a place of it there: `def set_eval(net): net.eval()`."""
    function = place.function
    if not _only_switches(function):
        return
    for site in place.callers(function):
        if site.function.module is not function.module:
            continue
        if any(True for _ in short_functions.calls_named(site.function, "set_grad_enabled")):
            continue  # it has autograd switched as well
        if len(model) == 1:
            switched = function.argument(site.call, model[0])
        else:
            switched = _of_same_object(function, site.function, site.call, model)
        if switched is not None:
            yield (site.function, site.call), switched


def _only_switches(function: Function) -> bool:
    """Whether all that a function does is to switch models to evaluation, and to give them back perhaps."""
    made = [one.value if isinstance(one, ast.Expr | ast.Return) else one for one in function.node.body]
    calls = [one for one in made if isinstance(one, ast.Call)]
    rest = (one for one in made if not isinstance(one, ast.Call | ast.Constant | ast.Name | None))
    return bool(calls) and all(map(is_switch, calls)) and not any(rest) and function is not function.module.body


def _of_same_object(method: Function, caller: Function, call: ast.Call, model: Model) -> ast.expr | None:
    """What a method calls `self.net` that switches it, where another method of the object calls it."""
    func = call.func
    if len(model) != 2 or model[0] != method.own_name or not isinstance(func, ast.Attribute):
        return None
    if not isinstance(func.value, ast.Name) or func.value.id != caller.own_name:
        return None
    switched = next((one for one in switching(method) if chain(_owner(one)) == model), None)
    return _owner(switched) if switched is not None and caller.own_name == method.own_name else None


def _owner(switch: ast.Call) -> ast.expr:
    assert isinstance(switch.func, ast.Attribute)
    return switch.func.value


def names_of(function: Function, model: Model) -> list[Model]:
    """What a function calls a model: by its name, and by others that are given it once: `best = model`."""
    name, flow = model[0], function.flow
    if len(model) > 1 or name in flow.globals or len(flow.stores.get(name, ())) + (name in flow.parameters) != 1:
        return [model]
    given = (flow.parents[load] for load in flow.loads.get(name, ()))
    others = [
        one.targets[0].id
        for one in given
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)
    ]
    kept = (one for one in others if one not in flow.globals and len(flow.stores.get(one, ())) == 1)
    return [model, *([one] for one in kept)]


def switched_between(place: Place, model: Model, first: ast.Call, last: ast.Call) -> bool:
    """Whether the model is switched again before it runs: to training, or once more to evaluation, which tells of it then."""
    has_it_switched = not is_switch(first)
    return any(
        first.lineno < call.lineno < last.lineno
        and (_switches_itself(call, model) or (has_it_switched and _has_switched(place, call, model)))
        for call in place.flow.calls
    )


def _switches_itself(call: ast.Call, model: Model) -> bool:
    """`model.train()`, `model.eval()`"""
    func = call.func
    return isinstance(func, ast.Attribute) and func.attr in _SWITCHES and chain(func.value) == model


def _has_switched(place: Place, call: ast.Call, model: Model) -> bool:
    """Whether a call runs a function of the project that is given the model, or the object that has it, and switches one: `set_train(model)`."""
    of_object = isinstance(call.func, ast.Attribute) and chain(call.func.value) == model[:1] and len(model) > 1
    if not of_object and not any(chain(given) == model for given in given_to(call)):
        return False
    targets = place.project.targets(place.function, call)
    return any(target.flow.calls_named(name) for target in targets for name in _SWITCHES)


def is_switch(call: ast.Call) -> bool:
    """`model.eval()`, `model.train(False)`, `model.train(mode=False)`"""
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "eval":
        return not given_to(call)
    return call.func.attr == "train" and is_constant(argument_of(call, "mode", 0), False) and len(given_to(call)) == 1


def switching(function: Function) -> Iterator[ast.Call]:
    """The calls of a function that switch a model to evaluation."""
    return (call for name in ("eval", "train") for call in function.flow.calls_named(name) if is_switch(call))


def switches(function: Function) -> bool:
    """Whether a function switches a model to evaluation, by itself or by one of its file that does nothing else."""
    if next(switching(function), None) is not None:
        return True
    module = function.module
    if not (module.source.holds(b".eval(") or module.source.holds(b".train(")):
        return False  # before other functions are looked at, which an edit of them would have this one asked again for
    called = {last(call.func) for call in function.flow.calls}.intersection(
        module.source.fact("functions", functions_in)
    )
    return any(any(map(_only_switches, module.functions_named(name))) for name in sorted(called))


def is_wrapped_for_it(place: Place) -> bool:
    """Whether the model that a statement wraps is switched to evaluation behind it, and nothing is called that trains.

    By its function, or by one that this gives the model to.
    """
    model = wrapped(place)
    if model is None or _trains(place, place.function):
        return False
    line = place.statement.lineno
    if any(call.lineno > line and switched(place, call) == model for call in switching(place.function)):
        return True
    given = [(function, name) for function, name in given_on(place, model) if function is not place.function]
    return any(_switches(place, *one) for one in given) and not any(_trains(place, function) for function, _ in given)


def _trains(place: Place, function: Function) -> bool:
    """Whether a function calls something by whose name it trains."""
    calls = function.flow.calls
    return place.once(("trains", function), lambda: any(_TRAINS.search(last(call.func)) for call in calls))


def _switches(place: Place, function: Function, model: Model) -> bool:
    """Whether a function switches the model to evaluation."""
    return any(switched(place.at(function, call), call) == model for call in switching(function))


def runs(place: Place, call: ast.Call, model: Model) -> bool:
    """Whether a call runs the model: itself, as the argument of a function of the project that does, or in a method beside it."""
    if is_itself(call, model) or _is_run_outside(place, place.function, call, model):
        return True
    called = chain(call.func)
    if is_part(place, call, model):
        return runs_trainable(place, call) or is_method_of_models(place, call)
    if called is not None and called[0] == place.function.own_name == model[0]:
        return any(_runs_own(place, target, model[1:]) for target in place.project.targets(place.function, call))
    return next(runs_of_given(place, call, model), None) is not None


def is_itself(call: ast.Call, model: Model) -> bool:
    """`model(x)`, `model.forward(x)`"""
    return chain(model_of(call)) == model


def is_part(place: Place, call: ast.Call, model: Model) -> bool:
    """Whether something is called of the model, `model.encoder(x)`, that is not the method's own object."""
    called = chain(call.func) or []
    return len(called) > len(model) and called[: len(model)] == model != [place.function.own_name]


def _runs_own(place: Place, method: Function, part: Model) -> bool:
    """Whether a method runs a part of its own object, and neither switches autograd off nor asks for gradients."""
    if not method.is_method or training.asks(method) or place.analysis.context.function_off(method):
        return False
    model = [method.own_name, *part]
    return any(
        (chain(inner.func) == model or _is_run_outside(place, method, inner, model))
        and _may_record(place, method, inner)
        for inner in method.flow.calls
    )


def _is_run_outside(place: Place, function: Function, call: ast.Call, model: Model) -> bool:
    """`sliding_window_inference(x, size, 4, model)`"""
    given = any(chain(one) == model for one in given_to(call))
    return given and place.project.resolve(function, call.func) in _RUN_GIVEN


def _may_record(place: Place, function: Function, run: ast.Call) -> bool:
    """Whether autograd may be on at a call, which does not run in training alone, and leaves it to no flag."""
    if any(_is_by_flag(context) for context in function.flow.contexts(run)):
        return False
    return not place.analysis.context.off_where_called(function, run) and not training.only_trains(function, run)


def _is_by_flag(context: ast.expr) -> bool:
    """`torch.set_grad_enabled(not validation)`"""
    if not isinstance(context, ast.Call) or last(context.func) != "set_grad_enabled":
        return False
    return not any(is_constant(one, True) for one in given_to(context))


def runs_of_given(
    place: Place, call: ast.Call, model: Model, handed_on: int = _HANDED_ON
) -> Iterator[tuple[Function, ast.Call]]:
    """Where a function of the project runs the model that a call gives it, or one that this hands it on to does, and asks for no gradients."""
    if not may_know(place.function, call, model):
        return
    for target in place.project.targets(place.function, call):
        name = known_as(place, target, call, model)
        if name is None or (target.cls is not None and len(name) == 1) or place.analysis.context.function_off(target):
            return
        for inner in target.flow.calls:
            within = place.at(target, inner)
            further = _handed_on(place, target, inner, name, handed_on - 1) if handed_on else []
            if not (further or _is_run(within, inner, name)) or not _may_record(place, target, inner):
                continue
            if further and not target.flow.loops(inner):
                yield from further  # the loop is there, if there is one
                continue
            if further and (any(is_dead(place.at(*one), one[1]) for one in further) or not is_dead(within, inner)):
                continue  # told there, or kept for somebody
            if is_itself(inner, name) and becomes_array(within, inner):
                continue  # it raises where there is a graph
            if not switches_off(within, inner) and not _asks_with(target, inner, call):
                yield target, inner


def _handed_on(
    place: Place, function: Function, call: ast.Call, model: Model, handed_on: int
) -> list[tuple[Function, ast.Call]]:
    """Where what a call gives the model to runs it, and no call of the function gives it to what asks for gradients: `next_token(model, tokens)`."""
    if not may_know(function, call, model) or ".".join(model) in function.flow.targets:
        return []
    loads = reads(function, model)
    handing = [function.flow.argument_of(load) for load in loads[:_MOST_HANDED]]
    if len(loads) > _MOST_HANDED:
        return []
    if call not in handing:
        handing.append(call)
    calls = (one for one in handing if isinstance(one, ast.Call))
    run = [target for one in calls for target in place.project.targets(function, one)]
    # What a decorator does around one of several functions, a test of its own flag may decide.
    if any(training.asks(target) for target in run) or any(one.decorators for one in (function, *run)):
        return []
    return list(runs_of_given(place.at(function, call), call, model, handed_on))


def _is_run(place: Place, call: ast.Call, model: Model) -> bool:
    """`model(x)`, a method of it that records, or that nobody knows: `model.parse(x)`.

    `model.parameters()` and `model.scale.item()` run nothing, `model.generate(x)` and `model.parse_no_grad(x)` no autograd.
    """
    parts, own = chain(call.func) or [""], len(model)
    if parts[:own] != model or "config" in parts or (len(parts) > own + 1 and not (call.args or call.keywords)):
        return False
    if len(parts) == own or is_itself(call, model):
        return True
    if parts[-1] in NO_RUN or "no_grad" in parts[-1]:
        return False
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    if place.value(owner).class_ is None and not place.may_run(call):
        return parts[-1] != "generate"  # those of `transformers` turn autograd off
    return runs_trainable(place, call) or is_method_of_models(place, call)


def _asks_with(function: Function, run: ast.Call, call: ast.Call) -> bool:
    """Whether a function deals in gradients around a run, where a call chooses the branch: `step(model, x, train=False)`."""
    if not training.asks(function):
        return False
    for guard in function.flow.guards(run):
        said = list(alternatives.said(guard.test, guard.true))
        given = alternatives.given(function, call, {one.name for one in said} & function.positions.keys())
        if given and guard.block is not None and not alternatives.excluded(given, said):
            return any(training.asks(function, statement) for statement in guard.block)
    return True


def keepers(place: Place, klass: Class, model: Model) -> Iterator[str]:
    """The attributes that hold the model: `self.model.eval()` of a constructor, or what the method returns to another one that keeps it."""
    function = place.function
    if len(model) == 2 and model[0] == function.own_name and function.name == "__init__":
        yield model[1]
    returned = function.flow.returned
    if not any(chain(value) == model for value in returned):
        return
    for method in klass.methods.values():
        for call in method.flow.calls_named(function.name):
            parent = method.flow.parents.get(call)
            kept = chain(parent.targets[0]) if isinstance(parent, ast.Assign) else None
            if kept is not None and len(kept) == 2 and kept[0] == method.own_name:
                yield kept[1]


def runs_kept(place: Place, method: Function, call: ast.Call, name: str) -> bool:
    """Whether a loop of a method, or one that calls it, runs what an attribute holds, or a part of it, with autograd on."""
    called = chain(call.func)
    if called is None or called[:2] != [method.own_name, name] or len(called) > 3:
        return False
    if not call.args or (len(called) == 3 and not _PART.search(called[2])):
        return False
    return (bool(method.flow.loops(call)) or _is_looped(place, method)) and _may_record(place, method, call)


def _is_looped(place: Place, method: Function) -> bool:
    """Whether a loop of the project, outside of tests, calls a method."""
    callers = (one for one in place.callers(method) if not place.project.is_tested(one.function))
    return any(one.function.flow.loops(one.call) for one in callers)
