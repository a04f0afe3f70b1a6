"""Files that tell who looks at them, and at how much."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ..facts.module import Function, Module
from ..text.glass import Glass
from ..text.source import Searches, Source
from .watched_class import WatchedClass
from .watcher import Watcher, finder, found_quietly

T = TypeVar("T")


class Watched(Module):
    """A file that tells who looks at more of it than at a function, or at what stands at its top under a name."""

    of_class = WatchedClass

    def __init__(self, source: Source, name: str, is_package: bool, watcher: Watcher) -> None:
        self._told_of: Watcher | None = None
        super().__init__(source, name, is_package)
        self._told_of = watcher

    @property
    def watcher(self) -> Watcher | None:
        """Who is told, where what is looked at counts."""
        return self._told_of if self._told_of is not None and self._told_of.is_asked else None

    @property
    def watcher_of_classes(self) -> Watcher | None:
        """Who is told of what is looked at of classes, by the project's own questions too: they don't note what methods have to do with each other."""
        return self._told_of if self._told_of is not None and self._told_of.is_noting else None

    def look(self) -> None:
        """Told that somebody looks at all of it."""
        if (watcher := self.watcher) is not None:
            watcher.look_at(self.path)

    @property
    def text(self) -> Source:
        source: Source = self.__dict__["source"]
        return source

    def holds(self, wanted: Searches | bytes) -> bool:
        """Whether the text holds something."""
        found = self.text.holds(wanted)
        if (watcher := self.watcher) is not None:
            watcher.note_held(self.path, wanted, found)
        return found

    def fact(self, name: str, find: Callable[[Source], T]) -> T:
        """What the text says, by that name."""
        if (watcher := self.watcher) is not None:
            watcher.note_fact(self.path, name, find)
        return self.text.fact(name, find)

    def told_lines(self, name: str, find: Callable[[Source], list[int]]) -> list[int]:
        """The lines of which the text says something, by that name."""
        self.look()
        return self.text.told_lines(name, find)

    @property
    def statements(self) -> list[ast.stmt]:
        watcher = self.watcher
        if watcher is None:
            return super().statements
        watcher.note_statements(self)
        return watcher.quietly(lambda: super(Watched, self).statements)

    def functions_named(self, name: str) -> Sequence[Function]:
        found = super().functions_named(name)
        if (watcher := self.watcher) is not None:
            watcher.note_named(self, name, found)
        return found

    def functions_calling(self, name: str) -> Sequence[Function]:
        return self._told("calls", name, super().functions_calling)

    def functions_holding(self, text: str) -> Sequence[Function]:
        return self._told("holding", text, super().functions_holding)

    def lines_calling(self, name: str) -> list[int]:
        return self._told("calls", name, super().lines_calling)

    def lines_holding(self, text: str) -> list[int]:
        return self._told("holding", text, super().lines_holding)

    def _told(self, kind: str, text: str, ask: Callable[[str], T]) -> T:
        """Some functions, or lines for who looks at the functions around them."""
        watcher = self.watcher
        if watcher is None:
            return ask(text)
        watcher.note_functions(kind, self, text)
        return watcher.quietly(lambda: ask(text))


def _source(module: Watched) -> Source:
    return Glass(module) if module.watcher is not None else module.text


def _watched(name: str) -> property:
    """An attribute of a file that leads to all of it."""
    find = finder(Module, name)

    def read(self: Watched) -> Any:
        self.look()
        known = self.__dict__
        if name not in known and find is not None:
            known[name] = find(self)
        return known[name]

    return property(read, _write(name))


def _write(name: str) -> Callable[[Watched, Any], None]:
    return lambda module, value: module.__dict__.update({name: value})


Watched.source = property(_source, _write("source"))  # type: ignore[assignment]


class _Tops(Mapping[str, Any]):
    """What stands at the top of a file, by name: who looks up one is noted as such."""

    def __init__(self, module: Watched, tops: Mapping[str, Any]) -> None:
        self._module = module
        self._tops = tops

    def __getitem__(self, name: str) -> Any:
        if (watcher := self._module.watcher) is not None:
            watcher.note_top(self._module, name)
        return self._tops[name]

    def __iter__(self) -> Iterator[str]:
        self._look_at_names()
        return iter(self._tops)

    def __len__(self) -> int:
        self._look_at_names()
        return len(self._tops)

    def _look_at_names(self) -> None:
        if (watcher := self._module.watcher) is not None:
            watcher.note_tops(self._module)


def _quietly(name: str) -> Callable[[Watched], Any]:
    """How a table of a file is read that is found without a note of it: what somebody takes out of it is noted, or told by what he has."""
    find = finder(Module, name)
    return lambda self: found_quietly(self, name, find, self.watcher)


def _tops(name: str) -> property:
    """A table of what stands at the top of a file."""
    read = _quietly(name)
    return property(lambda self: _Tops(self, read(self)) if self.watcher is not None else read(self))


for _name in ("tree", "functions", "classes", "loads"):
    setattr(Watched, _name, _watched(_name))
for _name in ("top_functions", "top_classes"):
    setattr(Watched, _name, _tops(_name))
for _name in ("import_names", "twice_imported", "nested", "_spans", "by_qualname", "_later", "_by_name"):
    setattr(Watched, _name, property(_quietly(_name)))
