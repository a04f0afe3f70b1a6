"""What decorators of the project make of what a function gives."""

from __future__ import annotations

import ast
from typing import Protocol

from ..system.cached import kept
from .evaluator import Evaluator
from .flow import Flow
from .module import Class, Function, Module
from .nodes import callee, names_in
from .syntax import given_to_target


class Code(Protocol):
    """What is asked of the project."""

    def definition(self, name: str, near: Module) -> Function | Class | Module | None: ...
    def resolve(self, function: Function, node: ast.expr) -> str | None: ...


def gives_other(values: Evaluator) -> bool:
    """Whether a decorator gives what it makes of what the function gave: `return {name: part.item() for name, part in parts.items()}`."""
    return any(_gives_other(values, decorator) for decorator in values.function.decorators)


def _gives_other(values: Evaluator, decorator: ast.expr) -> bool:
    found = named(values.world, values.function.module, decorator)
    return found is not None and kept(found, "gives other", lambda: _makes_other(found, frozenset()))


def named(code: Code, module: Module, decorator: ast.expr) -> Function | None:
    """The function of the project that a decorator in a file names: `traced` of `@traced`, `every` of `@every(100)`."""
    called = callee(decorator)
    own = module.top_functions.get(called.id) if isinstance(called, ast.Name) else None
    name = code.resolve(module.body, called) if own is None else None
    found = code.definition(name, module) if name is not None else own
    return found if isinstance(found, Function) else None


def _makes_other(decorator: Function, taken: frozenset[str]) -> bool:
    """Whether a function inside of a decorator calls what that was given, and gives something made of the result."""
    taken |= decorator.positions.keys()
    return any(
        _turns(inner.flow, taken - inner.positions.keys()) or _makes_other(inner, taken)
        for inner in decorator.nested.values()
    )


def _turns(flow: Flow, taken: frozenset[str]) -> bool:
    """Whether a function calls one of some names, and gives back something else that is made of what that gave."""
    calls = [call for name in taken for call in flow.calls_named(name) if isinstance(call.func, ast.Name)]
    results = {name for call in calls if (name := _result(flow, call)) is not None}
    return any(
        not _hands_on(flow, given, calls) and (not results.isdisjoint(names_in(given)) or _holds(given, calls))
        for given in flow.returned
    )


def _result(flow: Flow, call: ast.Call) -> str | None:
    """The name of what a call gives: `out = function(*args)`."""
    made = flow.parents.get(call)
    target = made.targets[0] if isinstance(made, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else None


def _hands_on(flow: Flow, node: ast.expr, calls: list[ast.Call]) -> bool:
    """Whether an expression is a call, or the name of what calls gave and nothing else."""
    if isinstance(node, ast.Name):
        return all(given_to_target(flow, store) in calls for store in flow.stores.get(node.id, ()))
    return node in calls


def _holds(node: ast.expr, calls: list[ast.Call]) -> bool:
    return any(part in calls for part in ast.walk(node))
