"""Loops that play: each iteration is a step of an environment, and the loop around them learns from all of these at once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from ..system.cached import kept
from . import names, runs
from .common_names import ENVIRONMENT_NAME
from .flow import Flow, Loop, contains
from .frequency import ends_loop
from .module import Function
from .nodes import bound_names, names_in, root_of

Targets = Callable[[ast.Call], list[Function]]
STEPS = rb"(?:env|envs|robot)\.step\("
"""What a project holds that plays."""


def is_beside(function: Function, node: ast.AST, loop: Loop, by_others: Callable[[], bool]) -> bool:
    """Whether each iteration of a loop plays, and comes to a place once, beside that: `for rollout in range(n): ...; loss.backward()`.

    `by_others` tells whether it does by functions that it calls, as `plays_by_others` finds.
    """
    flow = function.flow
    if flow.loops(node)[:1] != [loop] or flow.comprehension(node) is not None:
        return False
    known: dict[Loop, bool | None] = kept(function, "plays", dict)
    if loop not in known:
        known[loop] = _plays(function, loop)
    plays = known[loop]
    return plays if plays is not None else by_others()


def _plays(function: Function, loop: Loop) -> bool | None:
    """Whether each iteration of a loop plays many steps of an environment, and no single one; None where it takes none itself."""
    calls = function.flow.calls_in(loop)
    steps = [call for call in calls if names.last(call.func) == "step" and _is_of_environment(call)]
    return all(_is_played(function, call, loop) for call in steps) if steps else None


def plays_by_others(function: Function, loop: Loop, targets: Targets) -> bool:
    """Whether an inner loop plays by functions of the project, which `targets` tells of a call: `state = play(env, state, values)`."""
    inside = [call for call in function.flow.calls_in(loop) if function.flow.loops(call)[0] is not loop]
    playing = [(call, step) for call in inside for step in _steps_by(call, targets)]
    return bool(playing) and all(
        _is_one_of_many(function, call, loop) and _is_chosen_by(function, call, step) for call, step in playing
    )


def _steps_by(call: ast.Call, targets: Targets) -> Iterator[tuple[Function, ast.Call]]:
    """The single steps of an environment that a call takes, with the functions of the project that take them."""
    for target in targets(call):
        for step in target.flow.calls_named("step"):
            if _is_of_environment(step) and not target.flow.loops(step):
                yield target, step


def _is_chosen_by(function: Function, call: ast.Call, taken: tuple[Function, ast.Call]) -> bool:
    """Whether what a call runs chooses an action for its step, of an environment that is the same on each iteration."""
    target, step = taken
    inner = function.flow.loops(call)[0]
    if isinstance(inner, ast.For | ast.AsyncFor) and not names_in(call).isdisjoint(bound_names(inner.target)):
        root = root_of(step.func)
        given = target.argument(call, root.id) if root is not None else None
        if given is not None and not names_in(given).isdisjoint(bound_names(inner.target)):
            return False
    return any(
        isinstance(part, ast.Call) or (isinstance(part, ast.Name) and part.id in target.flow.stores)
        for given in step.args
        for part in ast.walk(given)
    )


def _is_of_environment(call: ast.Call) -> bool:
    """`env.step(action)`"""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return owner is not None and bool(call.args) and ENVIRONMENT_NAME.search(names.last(owner)) is not None


def _is_played(function: Function, step: ast.Call, loop: Loop) -> bool:
    """Whether a step of an environment is one of many of a loop that each iteration of another one comes to."""
    return _is_one_of_many(function, step, loop) and _chooses(function.flow, step, function.flow.loops(step)[0])


def _is_one_of_many(function: Function, call: ast.Call, loop: Loop) -> bool:
    """Whether a call is one of many of a loop that each iteration of another one comes to."""
    inner = function.flow.loops(call)[0]
    if inner is loop or runs.of_few(function, inner) or runs.counts_few(function, inner):
        return False
    return all(map(ends_loop, function.flow.guards(inner, loop)))  # else an evaluation, now and then


def _chooses(flow: Flow, step: ast.Call, loop: Loop) -> bool:
    """Whether each iteration has an action of its own: not for each of many environments, nor the same action a few times."""
    if isinstance(loop, ast.For | ast.AsyncFor) and not names_in(step.func).isdisjoint(bound_names(loop.target)):
        return False
    return any(
        isinstance(part, ast.Call) or (isinstance(part, ast.Name | ast.Attribute) and _is_bound(flow, part, loop))
        for given in step.args
        for part in ast.walk(given)
    )


def _is_bound(flow: Flow, node: ast.Name | ast.Attribute, loop: Loop) -> bool:
    """Whether a loop binds a name, or an attribute: `self.action = self.act(self.state)`."""
    if isinstance(node, ast.Name):
        return bool(flow.stores_within(node.id, loop))
    stores = flow.targets.get(".".join(names.chain(node) or ()), ())
    return any(contains(loop, store) for store in stores)
