"""What methods call of their own object that its class has from another base: `self.show()` behind `class Trainer(Shows, Steps)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Protocol

from ..facts import names, syntax
from ..facts.module import BASES_OF_PYTHON, Class, Function, Module
from ..query.question import Asking, question
from .calling import CallSite
from .texts import MAX_SITES

MOST = 2 * MAX_SITES
"""Of so many subclasses it is looked up what they get from elsewhere, or store: each has to be parsed."""


class Code(Asking, Protocol):
    """What is asked of the project."""

    def ancestry(self, klass: Class) -> Iterator[Class]: ...
    def bases(self, klass: Class) -> list[Class]: ...
    def calling(self, name: str) -> frozenset[str]: ...
    def definers(self, name: str) -> list[str]: ...
    def heirs(self, name: str) -> list[tuple[str, str]]: ...
    def method(self, klass: Class, name: str) -> Function | None: ...
    def module(self, path: str) -> Module | None: ...


def run_by(code: Code, function: Function, call: ast.Call) -> list[Function]:
    """The methods that `self.show()` may run of classes beside its own; nothing where its own class or a base of it may have one."""
    klass, name = function.cls, syntax.own_attribute(function, call.func)
    if klass is None or name is None or not code.definers(name) or code.method(klass, name) is not None:
        return []
    if not _is_known(code, klass):
        return []
    found = (code.method(heir, name) for heir in joining(code, klass))
    return list(dict.fromkeys(method for method in found if method is not None))


@question("called beside", [])
def calls(code: Code, method: Function) -> list[CallSite]:
    """Where methods of classes beside its own call a method of the object that they are both of."""
    klass, name = method.cls, method.name
    if klass is None or name.startswith("__") or not code.calling(name):
        return []
    return [
        CallSite(one, call)
        for other in _beside(code, klass)
        for one in other.methods.values()
        for call in one.flow.calls_named(name)
        if method in run_by(code, one, call)
    ]


def _beside(code: Code, klass: Class) -> dict[Class, None]:
    """The classes that others are made of together with a class."""
    made_of = {*code.ancestry(klass)}
    joined = (one for heir in joining(code, klass) for one in code.ancestry(heir) if one is not heir)
    return dict.fromkeys(one for one in joined if one not in made_of)


@question("joining", [])
def joining(code: Code, klass: Class) -> list[Class]:
    """The classes with several bases, of which a class is one; none where it has too many heirs."""
    heirs = code.heirs(klass.name)
    found: dict[Class, None] = {}
    for path, name in heirs if len(heirs) <= MOST else ():
        module = code.module(path)
        for heir in module.classes if module is not None else ():
            if heir.name == name and len(heir.bases) > 1 and klass in code.bases(heir):
                found[heir] = None
    return list(found)


def _is_known(code: Code, klass: Class) -> bool:
    """Whether all that a class is made of is in the project."""
    return all(
        len(code.bases(one)) == sum(names.last(base) not in BASES_OF_PYTHON for base in one.bases)
        for one in code.ancestry(klass)
    )
