"""Which calls run a model: by the values of what is called, by what it calls itself, and by names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from ..facts import common_names, library_models, names
from ..facts.flow import Loop
from ..facts.module import Function
from ..facts.nodes import callee, given_to, receiver_of
from ..facts.torch_table import OFF
from ..facts.values import Value
from ..query.question import question
from ..system.regex import regex
from ..torch_api.operators import operator
from . import families
from .project import Project

_PARTS = regex(r"(?:^|_)(?:extractor|aggregator|encoder|decoder|backbone|head|generate|predict|forward)$")
_RUNS = regex(r"(?:^|_)(?:model|denoiser?|pred|score|eps|velocity)_fn$")
_PREDICTS = frozenset(("predict", "infer", "inference", "recommend"))
_NOT_ONE = regex(r"batch|s$|^(?:obs|state|observation)")
"""What a loop over batches, or an environment that wants an action, gives."""
_INFERS = regex(r"(?:^|_)(?:infer|inference|inferer|predictor)$")
_MAKES = regex(
    r"(?:get|set|add|load|unload|create|build|make|init|save|prepare|setup|export|delete|remove|free|release|reset)_"
)
_KEEPS = frozenset("update add apply append log register load_state_dict to".split())
"""Methods of modules that keep something, or change the module."""


def runs_module_once(project: Project, function: Function, call: ast.Call) -> bool:
    """Whether all that a call may run are methods that run a module outside of loops of their own."""
    targets = families.may_run(project, function, call)
    return bool(targets) and all(
        one.cls is not None and runs_module(project, one) and _runs_once(project, one) for one in targets
    )


def is_named_like_model(project: Project, function: Function, call: ast.Call, callee: Value) -> bool:
    """`net(x)`, `score_fn(x, t)`, `net.forward(x)`: by its name, where nothing else is known of what is called."""
    last = names.last(call.func)
    if last == "forward" and project.value(function, receiver_of(call)).kind == "module":
        return True
    if _MAKES.match(last):
        return False
    if _RUNS.search(last) and callee.kind in ("unknown", "function"):
        return True
    named = common_names.MODEL_NAME.search(last) is not None and not last.endswith(("encoder", "decoder"))
    return named and callee.kind == "unknown"


def is_method_of_module(project: Project, function: Function, call: ast.Call, callee: Value) -> bool:
    """`model.decode(tokens)`: a method that the project gives to a model, takes tensors, and runs a module; `engine(tokens)` likewise."""
    if not (call.args or call.keywords):
        return False
    if callee.kind == "instance":
        return any(runs_module(project, one) and _runs_once(project, one) for one in project.run_by(callee))
    if not isinstance(call.func, ast.Attribute):
        return False
    kind = project.value(function, call.func.value).kind
    one_of_several = callee.kind == "function" and callee.function is None
    if kind == "module" and (callee.kind == "unknown" or one_of_several):
        return runs_library_model(project, function, call) or any(
            runs_module(project, one) for one in families.may_run(project, function, call)
        )
    if callee.kind != "function" or kind not in ("module", "instance"):
        return False
    # Of an object of one of several classes, each runs it.
    several = project.targets(function, call) if callee.function is None else (callee.function,)
    return bool(several) and all(_runs_it(project, one, kind == "module") for one in several)


def _runs_it(project: Project, method: Function, of_module: bool) -> bool:
    """`engine.logits(tokens)`: of an object that is no module once, not in a loop of its own."""
    return method.cls is not None and any(
        runs_module(project, one) and (of_module or _runs_once(project, one)) for one in _made_real(project, method)
    )


def runs_library_model(project: Project, function: Function, call: ast.Call) -> bool:
    """`vae.decode(latents)`, of an autoencoder of diffusers."""
    return library_models.runs_model(partial(project.value, function), call)


def makes_what_runs_them(project: Project, function: Function, loop: Loop) -> bool:
    """Whether each iteration makes the object whose method runs a model in a loop further in, and with it begins anew: `tracker = Tracker(options)`, `for frame in video: tracker.track(frame)`."""
    flow = function.flow
    for call in flow.calls_within(loop):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(owner, ast.Name) or flow.loops(call)[:1] == [loop]:
            continue
        stores = [one for one in flow.stores.get(owner.id, ()) if loop in flow.loops(one)]
        if not stores or any(flow.loops(one)[0] is not loop for one in stores):
            continue
        value = project.value(function, owner)
        if value.kind == "instance" and any(runs_module(project, one) for one in project.targets(function, call)):
            return True
    return False


def _made_real(project: Project, method: Function) -> list[Function]:
    """The method, or what stands in place of an abstract one."""
    return list(families.overrides(project, method)) if method.is_abstract else [method]


def _runs_once(project: Project, method: Function) -> bool:
    """Whether a method that runs a module does so outside of its own loops."""
    return any(_runs_module(project, method, call) and not method.flow.loops(call) for call in method.flow.calls)


@question("runs module", False)
def runs_module(project: Project, method: Function) -> bool:
    """Whether a method of a model calls a module, by itself or in another method: `get_weight` does not."""
    return any(_runs_module(project, method, one) for one in method.flow.calls)


def _runs_module(project: Project, method: Function, call: ast.Call) -> bool:
    last = names.last(call.func)
    if last == "forward":
        return True
    callee = project.value(method, call.func)
    called = callee.function if callee.kind == "function" else None
    if called is not None and (called.cls is not None or called.parent is method):
        return runs_module(project, called)
    if callee.kind == "instance":
        return any(runs_module(project, one) for one in project.run_by(callee))
    return callee.kind == "module" or (callee.kind == "unknown" and bool(common_names.MODEL_NAME.search(last)))


def is_unknown_method(project: Project, function: Function, call: ast.Call) -> bool:
    """`net.score(x)`, where the function evaluates: a method that nobody here has, of a model, which is given a tensor that is not on the host, or a batch that was sent."""
    if not isinstance(call.func, ast.Attribute) or not (call.args or call.keywords) or _is_no_pass(call.func.attr):
        return False
    if not (_keeps_no_gradients(function, call) or _evaluates(function)):
        return False
    if project.value(function, call.func.value).kind != "module" or project.value(function, call.func):
        return False
    given = (project.value(function, one) for one in given_to(call))
    return any(
        (one.is_tensor and not one.on_cpu) or (one.kind == "batch" and one.device == "accelerator") for one in given
    )


def _is_no_pass(method: str) -> bool:
    """Whether a method is named for what it makes, or keeps: `update` of a metric, which is a module as well."""
    return _MAKES.match(method) is not None or method in _KEEPS


def _evaluates(function: Function) -> bool:
    """Whether a function switches a model to evaluation."""
    return any(not call.args for call in function.flow.calls_named("eval"))


def infers(project: Project, function: Function, call: ast.Call) -> bool:
    """`sliding_window_inference(images, size, 1, model)`: a function of a library that runs the model it is given."""
    if not _INFERS.search(names.last(call.func)) or project.targets(function, call):
        return False
    given = given_to(call)
    return len(given) > 1 and any(
        common_names.MODEL_NAME.search(names.last(one)) and project.value(function, one).kind in ("module", "unknown")
        for one in given
    )


def is_given_model(project: Project, function: Function, call: ast.Call, callee: Value) -> bool:
    """`query(points)`: a function that callers give, which runs a model; or an unknown one, called with a tensor without gradients."""
    if not isinstance(call.func, ast.Name) or not call.args or not function.binds(call.func.id):
        return False
    targets = project.targets(function, call)
    name = call.func.id
    return any(_runs_alone(project, one) for one in targets) or (
        not targets
        and callee.kind in ("unknown", "function")
        and name in function.flow.parameters
        and name not in function.flow.stores
        and _keeps_no_gradients(function, call)
        and project.value(function, call.args[0]).is_tensor
    )


def _runs_alone(project: Project, one: Function) -> bool:
    return one.name != "__call__" and runs_module(project, one) and _runs_once(project, one)


def _keeps_no_gradients(function: Function, call: ast.Call) -> bool:
    """Whether a function turns gradients off around a call, or altogether."""
    around = (*function.flow.contexts(call), *function.decorators)
    return any(names.last(callee(one)) in OFF for one in around)


def predicts(project: Project, function: Function, call: ast.Call) -> bool:
    """`self.predict(user)`: a method by the name of one that infers, which computes tensors without modules, for one thing at a time."""
    if not isinstance(call.func, ast.Attribute) or not call.args or call.func.attr not in _PREDICTS:
        return False
    if any(_NOT_ONE.search(names.word(one)) for one in call.args):
        return False
    return any(one.cls is not None and _computes(project, one) for one in families.may_run(project, function, call))


@question("computes", False)
def _computes(project: Project, method: Function) -> bool:
    """Whether a method computes tensors with torch, outside of loops of its own."""
    return any(
        (project.resolve(method, call.func) or "").startswith("torch.")
        and not method.flow.loops(call)
        and project.value(method, call).is_tensor
        for call in method.flow.calls
    )


def hands_on_model(project: Project, function: Function, call: ast.Call) -> bool:
    """`next_token(model, tokens)`: a function of the project that is given a model, and calls it, or its `forward`, once."""
    given = [one for one in given_to(call) if not isinstance(one, ast.Constant)]
    # The values of what is given take longest to tell: most calls are of nothing that calls one of its names.
    targets = project.targets(function, call) if given else []
    called = [
        (target, name)
        for target in targets
        for c in target.flow.calls
        if (name := _called_by_name(c)) is not None and not target.flow.loops(c) and project.may_be_own(target, c)
    ]
    if not called or not any(project.value(function, argument).kind == "module" for argument in given):
        return False
    return any(project.value(target, name).kind == "module" for target, name in called) or any(
        (model := target.argument(call, name)) is not None and project.value(function, model).kind == "module"
        for target in targets
        for name in run_by(project, target)
    )


def _called_by_name(call: ast.Call) -> ast.Name | None:
    """`net` of `net(x)` and `net.forward(x)`."""
    called = receiver_of(call) if names.last(call.func) == "forward" else call.func
    return called if isinstance(called, ast.Name) else None


def _may_run_without_gradients(function: Function, call: ast.Call) -> bool:
    """Whether gradients are off at a call, and what it calls is not named for something that it makes."""
    return _keeps_no_gradients(function, call) and not _MAKES.match(names.last(call.func))


def is_run_without_gradients(project: Project, function: Function, call: ast.Call) -> bool:
    """`schedule.denoise(image, t, model)`, with gradients off: what is given a model and a tensor, and has no loop of its own."""
    given = given_to(call)
    models = [one for one in given if common_names.MODEL_NAME.search(names.last(one))]
    if not models or not _may_run_without_gradients(function, call):
        return False
    if any(project.value(function, one).kind not in ("module", "unknown") for one in models):
        return False
    if not any(value.is_tensor and not value.on_cpu for value in (project.value(function, one) for one in given)):
        return False
    return not any(one.has_loops for one in project.targets(function, call))


def is_given_module(project: Project, function: Function, call: ast.Call) -> bool:
    """`render(field, rays)`, with gradients off: what is given a module, and tensors to run it with, as far as anybody knows."""
    given = given_to(call)
    if len(given) < 2 or not _may_run_without_gradients(function, call):
        return False
    return any(value.kind == "module" and value.proven for value in (project.value(function, one) for one in given))


def run_by(project: Project, function: Function) -> frozenset[str]:
    """The parameters, named for models, that a function calls once, or hands on to one that does: `return _loss(model, images)`."""
    return project.ask(("run by", function), lambda: frozenset(_run_by(project, function)), frozenset[str]())


def _run_by(project: Project, function: Function) -> Iterator[str]:
    models = {one.arg for one in function.parameters if common_names.MODEL_NAME.search(one.arg)}
    for call in function.flow.calls if models else ():
        if function.flow.loops(call):
            continue
        if isinstance(call.func, ast.Name) and call.func.id in models:
            yield call.func.id
        elif isinstance(function.flow.parents.get(call), ast.Return) and not function.has_loops:
            # Whoever does more with the result, or has loops of its own, is no mere wrapper.
            for target in project.targets(function, call):
                for name in run_by(project, target):
                    handed = target.argument(call, name)
                    if isinstance(handed, ast.Name) and handed.id in models:
                        yield handed.id


def is_computed(project: Project, function: Function, call: ast.Call) -> bool:
    """`torch.matmul(a, b)` of tensors that are not known to be on the host."""
    row = operator(project.resolve(function, call.func) or "")
    if row is None or row.device or row.alias:
        return False
    value = project.value(function, call)
    return value.is_tensor and value.device != "cpu"


def is_part_of_model(call: ast.Call) -> bool:
    """`self.model.feature_extractor(x)`: a part of a model by its name, which is given something."""
    parts = names.chain(call.func) or []
    return (
        len(parts) > 1
        and bool(call.args)
        and bool(common_names.MODEL_NAME.search(parts[-2]))
        and bool(_PARTS.search(parts[-1]))
    )
