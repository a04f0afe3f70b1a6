"""Classes that tell who looks at them, and at how much: at a method, at who stores an attribute, or at all of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from ..facts.module import Class, Function, Module
from ..facts.units import top_of
from .watcher import Watcher

Stores = Mapping[str, list[tuple[Function, ast.AST]]]


class Told(Protocol):
    """A file that knows who is told of its classes."""

    @property
    def watcher_of_classes(self) -> Watcher | None: ...


class WatchedClass(Class):
    """A class that tells who looks at more of it than at its name."""

    module: Module

    @property
    def told(self) -> Watcher | None:
        """Who is told, where what is looked at counts."""
        module: Told = self.module  # type: ignore[assignment]
        return module.watcher_of_classes

    @property
    def start(self) -> tuple[int, int]:
        node: ast.ClassDef = _node.__get__(self)
        return self.module.label(node.lineno), node.col_offset

    @property
    def bases(self) -> list[ast.expr]:
        return self._written().bases

    @property
    def keywords(self) -> list[ast.keyword]:
        return self._written().keywords

    @property
    def decorators(self) -> list[ast.expr]:
        return self._written().decorator_list

    def is_stated_by(self, statement: ast.AST) -> bool:
        return _node.__get__(self) is statement

    def _written(self) -> ast.ClassDef:
        """The statement, for who looks at its head."""
        if (watcher := self.told) is not None:
            watcher.note_head(self)
        node: ast.ClassDef = _node.__get__(self)
        return node


class _Part(Mapping[str, Any]):
    """A table of a class, by name."""

    def __init__(self, klass: WatchedClass, watcher: Watcher, table: Mapping[str, Any]) -> None:
        self._class = klass
        self._watcher = watcher
        self._table = table

    def __iter__(self) -> Iterator[str]:
        self._look()
        return iter(self._table)

    def __len__(self) -> int:
        self._look()
        return len(self._table)

    def _look(self) -> None:
        """Told that somebody looks at the names of the table."""
        raise NotImplementedError


class _Methods(_Part):
    """Methods by name: the head of a class has the names, and what somebody takes out is noted as a function."""

    def __getitem__(self, name: str) -> Function:
        self._look()
        method: Function = self._table[name]
        self._watcher.note_function(method)
        return method

    def __contains__(self, name: object) -> bool:
        self._look()
        return name in self._table

    def _look(self) -> None:
        self._watcher.note_head(self._class)


class _Stores(_Part):
    """Where methods give their objects attributes, by the names of these."""

    def __getitem__(self, name: str) -> list[tuple[Function, ast.AST]]:
        self._watcher.note_stores(self._class, name)
        found: list[tuple[Function, ast.AST]] = self._table[name]
        for method, _ in found:
            self._watcher.note_function(method)
        return found

    def __contains__(self, name: object) -> bool:
        self._watcher.note_stores(self._class, str(name))
        return name in self._table

    def _look(self) -> None:
        self._watcher.note_top(self._class.module, top_of(self._class))


class _Uses(_Stores):
    """Where methods read attributes of their objects, by the names of these: in functions that hold the name."""

    def __getitem__(self, name: str) -> list[tuple[Function, ast.AST]]:
        self._look_for(name)
        found: list[tuple[Function, ast.AST]] = self._table[name]
        return found

    def __contains__(self, name: object) -> bool:
        self._look_for(str(name))
        return name in self._table

    def _look_for(self, name: str) -> None:
        self._watcher.note_head(self._class)
        self._watcher.note_functions("holding", self._class.module, name)


class _Assigned(_Part):
    """What the statements of a class assign: these are among the file's own."""

    def __getitem__(self, name: str) -> ast.Assign | ast.AnnAssign:
        self._watcher.note_stores(self._class, name)
        found: ast.Assign | ast.AnnAssign = self._table[name]
        return found

    def __contains__(self, name: object) -> bool:
        self._watcher.note_stores(self._class, str(name))
        return name in self._table

    def _look(self) -> None:
        self._watcher.note_head(self._class)
        self._watcher.note_statements(self._class.module)


_node: Any = vars(Class)["node"]
_methods: Any = vars(Class)["methods"]


def _all(klass: WatchedClass, watcher: Watcher, table: Any) -> Any:
    watcher.note_top(klass.module, top_of(klass))
    return table


def _slot(slot: Any, shown: Callable[[WatchedClass, Watcher, Any], Any]) -> property:
    """What a class is made with."""

    def read(self: WatchedClass) -> Any:
        found = slot.__get__(self)
        watcher = self.told
        return shown(self, watcher, found) if watcher is not None else found

    return property(read, slot.__set__)


def _table(name: str, shown: Callable[[WatchedClass, Watcher, Any], Any]) -> property:
    """What is worked out of a class once, without a note of what that looks at."""
    kept = vars(Class)[name]
    find = getattr(kept, "_answer", None) or kept.func

    def read(self: WatchedClass) -> Any:
        known, watcher = self.__dict__, self.told
        if name not in known:
            known[name] = watcher.quietly(lambda: find(self)) if watcher is not None else find(self)
        return shown(self, watcher, known[name]) if watcher is not None else known[name]

    return property(read)


WatchedClass.node = _slot(_node, _all)  # type: ignore[assignment]
WatchedClass.methods = _slot(_methods, _Methods)  # type: ignore[assignment]
for _name, _shown in (
    ("getters", _Methods),
    ("stores", _Stores),
    ("registered", _Stores),
    ("assigned", _Assigned),
    ("setters", _all),
    ("uses", _Uses),
):
    setattr(WatchedClass, _name, _table(_name, _shown))
