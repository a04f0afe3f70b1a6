"""Where `apply` of a function of autograd hands what it is given on to its `forward`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Protocol

from ..facts import names
from ..facts.module import Class, Function, Module
from ..facts.nearby import calls_on
from ..facts.values import Value
from ..query.question import Asking, question
from .calling import CallSite
from .texts import MAX_SITES


class Code(Asking, Protocol):
    """What is asked of the project."""

    def is_autograd_function(self, klass: Class) -> bool: ...
    def module_for_calls(self, path: str, name: str) -> Module | None: ...
    def named_by(self, module: Module, name: str) -> list[str]: ...
    def value(self, function: Function, node: ast.expr) -> Value: ...
    def writes(self, path: str, text: str) -> bool: ...


@question("applied", [])
def calls(code: Code, method: Function) -> list[CallSite]:
    """The calls `Scale.apply(x, factor)` that run a `forward(ctx, x, factor)`; nothing where these are many."""
    klass = method.cls
    if klass is None or method.name != "forward" or method.is_method or not code.is_autograd_function(klass):
        return []
    found = list(_calls(code, klass))
    return found if len(found) <= MAX_SITES else []


def _calls(code: Code, klass: Class) -> Iterator[CallSite]:
    name = f"{klass.name}.apply"
    for path in (klass.module.path, *code.named_by(klass.module, klass.name)):
        module = code.module_for_calls(path, "apply") if code.writes(path, name) else None
        for function, call in (
            calls_on(module, module.lines_holding(name), "apply") if module is not None else ()
        ):  # as a name for it is bound, too
            owner = call.func.value if isinstance(call.func, ast.Attribute) else None
            if owner is None or names.last(owner) != klass.name or code.value(function, owner).class_ is not klass:
                continue
            context = ast.copy_location(ast.Constant(None), call)
            given = ast.Call(call.func, [context, *call.args], call.keywords)
            yield CallSite(function, call, ast.copy_location(given, call))
