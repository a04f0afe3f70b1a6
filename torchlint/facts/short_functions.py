"""Functions of one statement, which stand for that wherever they are called: `def run_backward(loss): loss.backward()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ..system.cached import kept
from .names import last
from .nodes import telling

if TYPE_CHECKING:
    from .module import Class, Function, Module

_CHOOSES = (
    *(ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.Yield, ast.YieldFrom, ast.Await),
)
"""What runs parts of itself on a condition, several times or later."""


def is_all(function: Function, statement: ast.stmt) -> bool:
    """Whether a statement is all that a function does, but for giving back what that makes: `y = x.cpu()`, `return y`."""
    if isinstance(function.node, ast.Module) or not isinstance(statement, ast.Return | ast.Expr | ast.Assign):
        return False
    body = telling(function.node.body)
    return next(body, None) is statement and all(isinstance(one, ast.Return) for one in body)


def called(function: Function, call: ast.Call) -> Function | None:
    """The short function of the same file that a call runs, by a name that nothing else of the file has: `f(x)`, `self.f(x)`."""
    func = call.func
    own = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == function.own_name
    if isinstance(func, ast.Name):
        found = _named(function.module, func.id)
        hides = any(one.binds(func.id) for one in function.scopes if one is not function.module.body)
        return found if found is not None and found.cls is None and not hides else None
    found = _named(function.module, func.attr) if own and isinstance(func, ast.Attribute) else None
    return found if found is not None and found.is_method and _has_method(function.cls, found.cls) else None


def calls_named(function: Function, name: str) -> Iterator[tuple[ast.Call, Function, ast.Call]]:
    """The calls of short functions in another one that call something of a name, each with that function and the call in it."""
    for short, inner in _calling(function.module, name):
        for call in function.flow.calls_named(short.name):
            if called(function, call) is short:
                yield call, short, inner


def calling(function: Function, name: str) -> list[ast.Call]:
    """The calls of a function that call something of a name, by themselves or by a short function."""
    return [*function.flow.calls_named(name), *(call for call, _, _ in calls_named(function, name))]


def uses(function: Function) -> Iterator[ast.Call]:
    """The calls in the statement of a short function that run whenever it is called."""
    todo: list[ast.AST] = [*islice(telling(function.node.body), 1)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, _CHOOSES):
            todo += ast.iter_child_nodes(node)


def _has_method(klass: Class | None, owner: Class | None) -> bool:
    """Whether a class is the one that defines a method, or names that as its base."""
    if klass is None or owner is None:
        return False
    return klass is owner or any(last(base) == owner.name for base in klass.bases)


def _named(module: Module, name: str) -> Function | None:
    """The short function of a name that no other function of the file has, at its top or a method."""
    every = module.functions_named(name)
    if len(every) != 1:
        return None
    one = every[0]
    at_top = one.cls is not None or one.parent is module.body
    return one if at_top and kept(one, "is short", lambda: _is_short(one)) else None


def _is_short(function: Function) -> bool:
    first = next(telling(function.node.body), None)
    return first is not None and is_all(function, first) and not function.decorators


def _calling(module: Module, name: str) -> list[tuple[Function, ast.Call]]:
    known: dict[str, list[tuple[Function, ast.Call]]] = kept(module, "short functions by calls", dict)
    calling = module.functions_calling(name)  # each time: who asks is noted
    if name not in known:
        known[name] = [
            (one, call)
            for one in calling
            if _named(module, one.name) is one
            for call in uses(one)
            if isinstance(call.func, ast.Attribute) and call.func.attr == name
        ]
    return known[name]
