"""Loops that take a few gradients of what a model is given, and train nothing: for one token of a guided generation, or one batch that is attacked."""

from __future__ import annotations

import ast

from ..facts import aliases, names, runs
from ..facts.argparse_defaults import by_default
from ..facts.flow import Loop, contains
from ..facts.module import Function
from .project import Project
from .step_calls import named_like_steps

_COUNTS = frozenset(("range", "trange"))
_OF_MODELS = ("parameters", "named_parameters")


def takes_few_gradients(
    project: Project, function: Function, loop: Loop, call: ast.Call | None, caller: Function
) -> bool:
    """Whether a loop of backward passes is a small part of an iteration of another loop, which calls its function, or stands around it.

    It counts to a small number, unless somebody asks for more, reads the gradients itself, of nothing that is a
    parameter of a model, and steps no optimizer.
    """
    flow = function.flow
    steps = [one for one in named_like_steps(function) if loop in flow.loops(one)]
    if not steps or any(names.last(one.func) == "step" for one in steps):
        return False
    if any(loop in flow.loops(one) for name in _OF_MODELS for one in flow.calls_named(name)):
        return False  # what is trained by hand
    reads = (node for node in flow.nodes if isinstance(node, ast.Attribute) and node.attr == "grad")
    if not any(isinstance(one.ctx, ast.Load) and contains(loop, one) for one in reads):
        return False
    return _counts_few(project, function, loop, call, caller)


def _counts_few(project: Project, function: Function, loop: Loop, call: ast.Call | None, caller: Function) -> bool:
    """`for i in range(n):` of a small number, which may be a default of the function, or of an option of the program."""
    counter = loop.iter if isinstance(loop, ast.For) else None
    if isinstance(counter, ast.Call) and names.last(counter.func) != "trange":
        counter = aliases.gone_through(counter)
    if not isinstance(counter, ast.Call) or names.last(counter.func) not in _COUNTS or len(counter.args) != 1:
        return False
    most = counter.args[0]
    if isinstance(most, ast.Name) and call is not None and most.id in _as_given(function):
        given = function.argument(call, most.id)
        if given is not None:
            return _is_few(project, caller, given)
    return _is_few(project, function, most)


def _is_few(project: Project, function: Function, most: ast.expr) -> bool:
    """Whether a number is small where it stands, or where nobody gives another one."""
    if isinstance(most, ast.Attribute):
        number = by_default(project, function.module, most.attr)
    else:
        made = _made(function, most.id) if isinstance(most, ast.Name) else most
        number = made.value if isinstance(made, ast.Constant) else None
    return type(number) is int and number <= runs.FEW


def _made(function: Function, name: str) -> ast.expr | None:
    """What a name is assigned from, once; of a parameter its default."""
    if name not in function.positions:
        return function.assigned_once(name)
    return function.defaults.get(name) if name in _as_given(function) else None


def _as_given(function: Function) -> set[str]:
    """The parameters that a function does not bind anew."""
    return function.positions.keys() - function.flow.stores.keys()
