"""What `super().method(x)` runs, and where subclasses call so what they stand in place of; of constructors `constructions` tells."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Protocol

from ..facts import names
from ..facts.module import Class, Function
from ..facts.syntax import is_super
from ..query.question import Asking, question
from .calling import CallSite


class Code(Asking, Protocol):
    """What is asked of the project."""

    def ancestry(self, klass: Class) -> Iterator[Class]: ...
    def lineage(self, name: str) -> frozenset[str]: ...
    def subclasses(self, klass: Class) -> list[Class]: ...
    def writes(self, path: str, text: str) -> bool: ...


def run_by(code: Code, function: Function, call: ast.Call) -> Function | None:
    """The method of a base class that `super().method(x)` runs; None for other calls, and where no base in the project has one."""
    func, klass = call.func, function.cls
    if klass is None or not isinstance(func, ast.Attribute) or func.attr == "__init__":
        return None
    if not is_own(func.value, klass):
        return None
    above = itertools.islice(code.ancestry(klass), 1, None)
    return next((one.methods[func.attr] for one in above if func.attr in one.methods), None)


@question("called by heirs", [])
def calls(code: Code, method: Function) -> list[CallSite]:
    """Where methods of subclasses call a method by `super()`."""
    klass, name = method.cls, method.name
    if (
        klass is None
        or name == "__init__"
        or not any(code.writes(path, f").{name}(") for path in code.lineage(klass.name))
    ):
        return []
    return [
        CallSite(one, call)
        for heir in code.subclasses(klass)
        for one in heir.methods.values()
        for call in one.flow.calls_named(name)
        if run_by(code, one, call) is method
    ]


def is_own(node: ast.expr, klass: Class) -> bool:
    """Whether an expression is what a class inherits from: `super()`, `super(Net, self)` in a method of `Net`."""
    return is_super(node) and isinstance(node, ast.Call) and (not node.args or names.last(node.args[0]) == klass.name)
