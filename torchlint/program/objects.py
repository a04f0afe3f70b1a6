"""What the objects of a class are called where they are made, and where they are called themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from ..facts.common_names import MODEL_NAME
from ..facts.module import Class, Function, Module
from ..facts.values import UNKNOWN, Tensor, Tuple, Value
from ..query.question import Asking, question
from ..system.stamp import as_bytes
from ..text.declared import made_in
from ..text.source import Source
from .calling import CallSite
from .texts import MAX_SITES

T = TypeVar("T")


class Code(Asking, Protocol):
    """What is asked of the project."""

    def named_by(self, module: Module, name: str) -> list[str]: ...
    def renamed(self, name: str) -> list[str]: ...
    def fact(self, path: str, name: str, find: Callable[[Source], T]) -> T | None: ...
    def holders(self, pattern: bytes, *, word: bytes = b"") -> frozenset[str]: ...
    def module_for_calls(self, path: str, name: str) -> Module | None: ...
    def sites_named(self, module: Module, name: str) -> dict[Function, list[CallSite]]: ...


@question("object calls", [])
def calls(code: Code, method: Function) -> list[CallSite]:
    """Where objects are called that run a `forward` or `__call__`, `net(x)` behind `net = Net()`; nothing where these are many."""
    found = list(_calls(code, method, method.cls)) if method.cls is not None else []
    return found if len(found) <= MAX_SITES else []


def calls_where_made(code: Code, method: Function) -> list[CallSite]:
    """The same in the files alone that make such objects, for a name that too many files use."""
    found = list(_calls(code, method, method.cls, anywhere=False)) if method.cls is not None else []
    return found if len(found) <= MAX_SITES else []


def _calls(code: Code, method: Function, klass: Class, *, anywhere: bool = True) -> Iterator[CallSite]:
    makers = _makers(code, klass)
    for name in made_as(code, klass):
        # What is named like a model is handed on to other files; a layer is called where it is made.
        paths = files_calling(code, name) if anywhere and MODEL_NAME.search(name) else frozenset(makers)
        for path in sorted(paths) if len(paths) <= MAX_SITES or not anywhere else ():
            module = code.module_for_calls(path, name)
            if module is not None:
                yield from code.sites_named(module, name).get(method, ())


def received(value: Value) -> Value:
    """What a model is given, as it takes it: a tensor that is no loader's any more, a number, a word.

    What is in other collections than tuples may be changed on the way; the parameters of a model stay that.
    """
    if value.kind == "tuple" and value.items is not None:
        return Tuple(value.certainty, items=tuple(map(received, value.items)), other_kinds=value.other_kinds)
    if value.kind == "tensor":
        return Tensor(
            value.certainty,
            device="" if value.from_loader else value.device,
            scalar=value.scalar,
            boolean=value.boolean,
            integer=value.integer,
            other_kinds=value.other_kinds,
        )
    parameters = value.kind == "list" and value.element is not None and value.element.parameter
    return value if parameters or value.kind in ("number", "str") else UNKNOWN


def files_calling(code: Code, name: str) -> frozenset[str]:
    """The files that call something of a name."""
    word = as_bytes(name)
    return code.holders(rb"%s\((?<!\w%s\()" % (word, word), word=word + b"(")


@question("made as", [])
def made_as(code: Code, klass: Class) -> list[str]:
    """What objects of a class are called where they are made: scaler of `scaler = LossScaler()`, `scaler=LossScaler()`, `{"scaler": LossScaler()}`."""
    made: set[str] = set()
    for path in _makers(code, klass):
        by_class = _made_in(code, path)
        for name in (klass.name, *(other for other in code.renamed(klass.name) if other in by_class)):
            made.update(by_class.get(name, ()))
    return sorted(made)


def _makers(code: Code, klass: Class) -> list[str]:
    """The files that may make objects of a class: its own, and those that import it."""
    return [klass.module.path, *code.named_by(klass.module, klass.name)]


@question("made in", {})
def _made_in(code: Code, path: str) -> dict[str, list[str]]:
    """What a file calls the objects that it makes, by the names of their classes."""
    made: dict[str, list[str]] = {}
    for name, klass in map(str.split, code.fact(path, "made", made_in) or ()):
        made.setdefault(klass, []).append(name)
    return made
