"""What a call does of a training step: a backward pass, a step of an optimizer, or both; and which methods take whole steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable
from typing import Literal

from ..facts import common_names, names, short_functions
from ..facts.library_calls import WHOLE_STEP, takes_whole_step
from ..facts.module import Class, Function
from ..facts.training import TRAINS
from ..query.question import question
from ..system.regex import regex
from . import families
from .project import Project
from .step_text import STEPPING, hands_step_on

Step = Literal["backward", "step"]
_LOSS = regex(r"loss|cost|objective|err", re.IGNORECASE)
_WHOLE = regex(
    r"^(?!(?:log|print|save|show|write|report|record)_)(?:\w+_)?(?:step|descen[dt]|backward|backprop|scaler|optimi[sz]e|minimi[sz]e)(?:_|$)"
)
"""What is called that runs a loss backward and steps an optimizer."""
BACKWARDS = frozenset(("backward", "manual_backward"))


def parts_of_step(project: Project, function: Function, call: ast.Call) -> tuple[Step, ...]:
    """What a call does of a training step: nothing, a backward pass, a step of an optimizer, or both.

    `loss.backward()`, `accelerator.backward(loss)`; `optimizer.step()`, `scaler.step(optimizer)`; a project's own
    `self.optimizer.step(loss)` does both, since no optimizer of torch takes a loss, and so does what a library calls a step
    and is given both: `loss_scaler(loss, optimizer)`. A short function does what its statement does.
    """
    short = short_functions.called(function, call)
    if short is None:
        return _own_parts(project, function, call)
    return next(filter(None, (_own_parts(project, short, one) for one in short_functions.uses(short))), ())


def _own_parts(project: Project, function: Function, call: ast.Call) -> tuple[Step, ...]:
    func = call.func
    if len(call.args) > 1 and _hands_step_on(project, function, call):
        return ("backward", "step")
    if not isinstance(func, ast.Attribute):
        return ()
    if func.attr == WHOLE_STEP and not project.definers(WHOLE_STEP):
        return (
            ("backward", "step") if takes_whole_step(function, func.attr, project.value(function, func.value)) else ()
        )
    if func.attr in BACKWARDS:
        return ("backward",) if _is_backward(project, function, call, func) else ()
    if func.attr != "step":
        return ()
    if len(call.args) == 1 and common_names.OPTIMIZER_NAME.search(names.last(func.value)):
        given = names.last(call.args[0])
        if _LOSS.search(given):
            return ("backward", "step")
    return ("step",) if _is_optimizer_step(project, function, call, func) else ()


def _hands_step_on(project: Project, function: Function, call: ast.Call) -> bool:
    """`loss_scaler(loss, optimizer)`, `gradient_descent(optimizer, loss)`: a library's, by its name, of a loss that is calculated."""
    if not _WHOLE.search(names.last(call.func)) or isinstance(function.flow.parents.get(call), ast.withitem):
        return False
    one, other = (names.last(given) for given in call.args[:2])
    if common_names.OPTIMIZER_NAME.search(one):
        loss = call.args[1] if _LOSS.search(other) else None
    else:
        loss = call.args[0] if _LOSS.search(one) and common_names.OPTIMIZER_NAME.search(other) else None
    if loss is None or project.value(function, loss).kind != "tensor":
        return False
    return not families.may_run(project, function, call)


def _is_backward(project: Project, function: Function, call: ast.Call, func: ast.Attribute) -> bool:
    name = project.resolve(function, func)
    if name is not None and name != "torch.autograd.backward":
        return False
    if call.args and not _is_given_loss(function, call.args[0]):
        return False
    owner = names.last(func.value)
    # `self.backward(grad)`, `Function.backward(ctx, g)`: an implementation, not a call of autograd.
    return not (owner in ("self", "cls", "super", "ctx") and func.attr == "backward" and _own_backward(function))


def _is_optimizer_step(project: Project, function: Function, call: ast.Call, func: ast.Attribute) -> bool:
    receiver = func.value
    if isinstance(receiver, ast.Subscript):
        receiver = receiver.value
    parts = names.chain(receiver)
    last = parts[-1] if parts else ""
    if call.args:
        # scaler.step(optimizer), optimizer.step(closure): never scheduler.step(noise, t, x) or env.step(action)
        argument = names.last(call.args[0])
        if len(call.args) > 1 or call.keywords:
            return False
        return bool(common_names.OPTIMIZER_NAME.search(argument)) or (
            argument == "closure" and bool(common_names.OPTIMIZER_NAME.search(last))
        )
    if common_names.OPTIMIZER_NAME.search(last):
        return not (isinstance(receiver, ast.Name) and _searches(project, function, call, receiver))
    if "sched" in last.lower() or "env" in last.lower() or last in ("prof", "profiler", "p", "pbar", "self"):
        return False
    return bool(project.value(function, func.value).kind == "optimizer")


def _searches(project: Project, function: Function, call: ast.Call, optimizer: ast.Name) -> bool:
    """Whether a step is known to be one of the project's own that takes no gradient: `RandomSamplingOptimizer(model).step()`."""
    value = project.value(function, optimizer)
    run = project.targets(function, call) if value.proven and not value.other_kinds else []
    return bool(run) and not any(one.says(TRAINS) for one in run)


def _own_backward(function: Function) -> bool:
    return function.cls is not None and "backward" in function.cls.methods and "forward" in function.cls.methods


def named_like_steps(function: Function) -> list[ast.Call]:
    """The calls in a function that may be parts of a step, by their last names alone."""
    return [call for name in (*BACKWARDS, "step", WHOLE_STEP) for call in short_functions.calling(function, name)]


def is_whole(project: Project, method: Function) -> bool:
    """Whether a method runs a backward pass and an optimizer, outside of loops of its own."""
    return are_whole(project, method, [call for call in named_like_steps(method) if not method.flow.loops(call)])


def are_whole(project: Project, function: Function, found: Iterable[ast.Call]) -> bool:
    """Whether there is a backward pass and a step of an optimizer among some calls."""
    return len({part for call in found for part in parts_of_step(project, function, call)}) == 2


@question("updates", frozenset())
def updates(project: Project, klass: Class) -> frozenset[Function]:
    """The methods that run several whole steps: `update_critic` and `update_actor`, one after the other.

    They are called for nothing else, once for each batch.
    """
    source = klass.module.source
    if not (source.holds(STEPPING) or hands_step_on(source)) or project.in_test(klass.module.path, klass.name):
        return frozenset()
    whole = {name for name, method in klass.methods.items() if is_whole(project, method)}
    return frozenset(
        method
        for name, method in klass.methods.items()
        if len(whole) > 1 and name not in whole and len({names.last(c.func) for c in own_calls(method, whole)}) > 1
    )


def _is_given_loss(function: Function, given: ast.expr) -> bool:
    """Whether what `backward` is given is a loss, not a gradient: `y.backward(dy)` measures or tests a kernel."""
    last = names.last(given)
    return bool(_LOSS.search(last)) or function.module.source.holds(b".step(")


def own_calls(method: Function, called: Collection[str]) -> list[ast.Call]:
    """The calls of other methods of the same object, by their names, outside of loops."""
    own = method.own_name
    calls_ = (call for name in called for call in method.flow.calls_named(name))
    return [
        call
        for call in calls_
        if names.chain(call.func) == [own, names.last(call.func)] and not method.flow.loops(call)
    ]
