"""Classes that tell who looks at them, and at how much: at a method, at who stores an attribute, or at all of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..facts.module import Class, Function
from ..facts.units import top_of
from .watcher import Watcher, finder, found_quietly


class WatchedClass(Class):
    """A class that tells who looks at more of it than at its name."""

    @property
    def told(self) -> Watcher | None:
        """Who is told, where what is looked at counts."""
        watcher: Watcher | None = self.module.watcher_of_classes  # type: ignore[attr-defined]
        return watcher

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

    def __getitem__(self, name: str) -> Any:
        self._look_up(name)
        return self._table[name]

    def __contains__(self, name: object) -> bool:
        self._look_up(str(name))
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        self._look()
        return iter(self._table)

    def __len__(self) -> int:
        self._look()
        return len(self._table)

    def _look_up(self, name: str) -> None:
        """Told that somebody looks up a name of the table."""
        self._watcher.note_stores(self._class, name)

    def _look(self) -> None:
        """Told that somebody looks at all names of the table."""
        self._watcher.note_top(self._class.module, top_of(self._class))


class _Methods(_Part):
    """Methods by name: the head of a class has the names, and what somebody takes out is noted as a function."""

    def __getitem__(self, name: str) -> Function:
        method: Function = super().__getitem__(name)
        self._watcher.note_place(method)
        return method

    def _look_up(self, name: str) -> None:
        self._look()

    def _look(self) -> None:
        self._watcher.note_head(self._class)


class _Stores(_Part):
    """Where methods give their objects attributes, by the names of these."""

    def __getitem__(self, name: str) -> list[tuple[Function, ast.AST]]:
        found: list[tuple[Function, ast.AST]] = super().__getitem__(name)
        for method, _ in found:
            self._watcher.note_place(method)
        return found


class _Uses(_Part):
    """Where methods read attributes of their objects, by the names of these: in functions that hold the name."""

    def _look_up(self, name: str) -> None:
        self._watcher.note_head(self._class)
        self._watcher.note_functions("holding", self._class.module, name)


class _Assigned(_Part):
    """What the statements of a class assign: these are among the file's own."""

    def _look(self) -> None:
        self._watcher.note_head(self._class)
        self._watcher.note_statements(self._class.module)


_node: Any = vars(Class)["node"]


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
    find = finder(Class, name)

    def read(self: WatchedClass) -> Any:
        watcher = self.told
        found = found_quietly(self, name, find, watcher)
        return shown(self, watcher, found) if watcher is not None else found

    return property(read)


WatchedClass.node = _slot(_node, _all)  # type: ignore[assignment]
WatchedClass.methods = _slot(vars(Class)["methods"], _Methods)  # type: ignore[assignment]
for _name, _shown in (
    ("getters", _Methods),
    ("cached_getters", _Methods),
    ("stores", _Stores),
    ("registered", _Stores),
    ("assigned", _Assigned),
    ("setters", _all),
    ("uses", _Uses),
):
    setattr(WatchedClass, _name, _table(_name, _shown))
