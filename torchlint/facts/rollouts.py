"""Loops that play: each iteration is a step of an environment, and the loop around them learns from all of these at once."""

from __future__ import annotations

import ast

from ..system.cached import kept
from . import names, runs
from .common_names import ENVIRONMENT_NAME
from .flow import Flow, Loop, contains
from .frequency import ends_loop
from .module import Function
from .nodes import names_in


def is_beside(function: Function, node: ast.AST, loop: Loop) -> bool:
    """Whether each iteration of a loop plays, and comes to a place once, beside that: `for rollout in range(n): ...; loss.backward()`."""
    flow = function.flow
    if flow.loops(node)[:1] != [loop] or flow.comprehension(node) is not None:
        return False
    known: dict[Loop, bool] = kept(function, "plays", dict)
    if loop not in known:
        known[loop] = _plays(function, loop)
    return known[loop]


def _plays(function: Function, loop: Loop) -> bool:
    """Whether each iteration of a loop plays many steps of an environment, and no single one."""
    calls = function.flow.calls_in(loop)
    steps = [call for call in calls if names.last(call.func) == "step" and _is_of_environment(call)]
    return bool(steps) and all(_is_played(function, call, loop) for call in steps)


def _is_of_environment(call: ast.Call) -> bool:
    """`env.step(action)`"""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return owner is not None and bool(call.args) and ENVIRONMENT_NAME.search(names.last(owner)) is not None


def _is_played(function: Function, step: ast.Call, loop: Loop) -> bool:
    """Whether a step of an environment is one of many of a loop that each iteration of another one comes to."""
    inner = function.flow.loops(step)[0]
    if inner is loop or runs.of_few(function, inner) or runs.counts_few(function, inner):
        return False
    if not all(map(ends_loop, function.flow.guards(inner, loop))):
        return False  # an evaluation, now and then
    return _chooses(function.flow, step, inner)


def _chooses(flow: Flow, step: ast.Call, loop: Loop) -> bool:
    """Whether each iteration has an action of its own: not for each of many environments, nor the same action a few times."""
    if isinstance(loop, ast.For | ast.AsyncFor) and not names_in(step.func).isdisjoint(names_in(loop.target)):
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
