"""What methods call of their own object that its class has from another base: `self.show()`, `super().show()` behind `class Trainer(Shows, Steps)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Protocol

from ..facts import names, syntax
from ..facts.module import BASES_OF_PYTHON, Class, Function
from ..query.question import Asking, question
from . import supers
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
    def classes_named(self, path: str, name: str) -> list[Class]: ...
    def subclasses(self, klass: Class) -> list[Class]: ...


def run_by(code: Code, function: Function, call: ast.Call) -> list[Function]:
    """The methods that `self.show()` may run of classes beside its own, also in place of its own, and those that `super().show()` may run."""
    klass, func = function.cls, call.func
    if klass is None or not isinstance(func, ast.Attribute) or not code.definers(func.attr):
        return []
    if syntax.own_attribute(function, func) is not None:
        is_open = code.method(klass, func.attr) is not None or _is_known(code, klass)
        return _of_joined(code, klass, func.attr) if is_open else []
    return _above(code, klass, func.attr) if supers.is_own(func.value, klass) and func.attr != "__init__" else []


@question("in joined classes", [])
def _of_joined(code: Code, klass: Class, name: str) -> list[Function]:
    """The methods of a name that objects have of classes made of a class and others."""
    return _first((_order(code, heir) for heir in joined(code, klass)), name)


@question("above in joined classes", [])
def _above(code: Code, klass: Class, name: str) -> list[Function]:
    """The methods of a name that `super()` finds in a class, in objects of classes made of it and others."""
    orders = (_order(code, heir) for heir in joined(code, klass))
    return _first((order[order.index(klass) + 1 :] for order in orders), name)


def _first(orders: Iterable[list[Class]], name: str) -> list[Function]:
    """The method of a name that comes first in each order of classes."""
    found = (next((one.methods[name] for one in order if name in one.methods), None) for order in orders)
    return list(dict.fromkeys(method for method in found if method is not None))


@question("order of classes", [])
def _order(code: Code, klass: Class) -> list[Class]:
    """The classes in which Python looks for a method of an object, one after the other: a base behind all that inherit from it."""
    found: dict[Class, None] = {}
    _put(code, klass, found, set())
    return list(reversed(found))


def _put(code: Code, klass: Class, found: dict[Class, None], seen: set[Class]) -> None:
    """Put a class behind all that it inherits from, the last bases first."""
    if klass not in seen:
        seen.add(klass)
        for base in reversed(code.bases(klass)):
            _put(code, base, found, seen)
        found[klass] = None


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
    others = (one for heir in joined(code, klass) for one in code.ancestry(heir) if one is not heir)
    return dict.fromkeys(one for one in others if one not in made_of)


@question("joining", [])
def joining(code: Code, klass: Class) -> list[Class]:
    """The classes with several bases, of which a class is one; none where it has too many heirs."""
    heirs = code.heirs(klass.name)
    found: dict[Class, None] = {}
    for path, name in heirs if len(heirs) <= MOST else ():
        for heir in code.classes_named(path, name):
            if len(heir.bases) > 1 and klass in code.bases(heir):
                found[heir] = None
    return list(found)


@question("joined", [])
def joined(code: Code, klass: Class) -> list[Class]:
    """The classes with several bases, of which a class or an heir of it is one; none where there are too many heirs."""
    if not 0 < len(code.heirs(klass.name)) <= MOST:
        return []
    return list(dict.fromkeys(heir for one in (klass, *code.subclasses(klass)) for heir in joining(code, one)))


def _is_known(code: Code, klass: Class) -> bool:
    """Whether all that a class is made of is in the project."""
    return all(
        len(code.bases(one)) == sum(names.last(base) not in BASES_OF_PYTHON for base in one.bases)
        for one in code.ancestry(klass)
    )
