"""Files that tell who looks at them, and at how much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ..facts.module import Module
from ..text.glass import Glass
from ..text.source import Searches, Source

T = TypeVar("T")


class Watcher(Protocol):
    """Who is told."""

    @property
    def is_asked(self) -> bool: ...
    def look_at(self, path: str) -> None: ...
    def note_fact(self, path: str, name: str, find: Callable[[Source], Any]) -> None: ...
    def note_functions(self, kind: str, module: Module, text: str) -> None: ...
    def note_held(self, path: str, wanted: Searches | bytes, found: bool) -> None: ...
    def quietly(self, answer: Callable[[], T]) -> T: ...


class Watched(Module):
    """A file that tells who looks at more of it than at a function, or at what stands at its top under a name."""

    def __init__(self, source: Source, name: str, is_package: bool, watcher: Watcher) -> None:
        self._told_of: Watcher | None = None
        super().__init__(source, name, is_package)
        self._told_of = watcher

    @property
    def _watcher(self) -> Watcher | None:
        """Who is told, where what is looked at counts."""
        return self._told_of if self._told_of is not None and self._told_of.is_asked else None

    def look(self) -> None:
        """Told that somebody looks at all of it."""
        if (watcher := self._watcher) is not None:
            watcher.look_at(self.path)

    @property
    def text(self) -> Source:
        source: Source = self.__dict__["source"]
        return source

    def holds(self, wanted: Searches | bytes) -> bool:
        """Whether the text holds something."""
        found = self.text.holds(wanted)
        if (watcher := self._watcher) is not None:
            watcher.note_held(self.path, wanted, found)
        return found

    def fact(self, name: str, find: Callable[[Source], T]) -> T:
        """What the text says, by that name."""
        if (watcher := self._watcher) is not None:
            watcher.note_fact(self.path, name, find)
        return self.text.fact(name, find)

    def told_lines(self, name: str, find: Callable[[Source], list[int]]) -> list[int]:
        """The lines of which the text says something, by that name."""
        self.look()
        return self.text.told_lines(name, find)

    def lines_calling(self, name: str) -> list[int]:
        return self._told("calls", name, super().lines_calling)

    def lines_holding(self, text: str) -> list[int]:
        return self._told("holding", text, super().lines_holding)

    def _told(self, kind: str, text: str, ask: Callable[[str], list[int]]) -> list[int]:
        """Some lines, for who looks at the functions around them."""
        watcher = self._watcher
        if watcher is None:
            return ask(text)
        watcher.note_functions(kind, self, text)
        return watcher.quietly(lambda: ask(text))


def _source(module: Watched) -> Source:
    return Glass(module) if module._watcher is not None else module.text


def _watched(name: str) -> property:
    """An attribute of a file that leads to all of it."""
    kept = vars(Module).get(name)
    find = getattr(kept, "_answer", None) or getattr(kept, "func", None)

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
for _name in ("tree", "functions", "classes", "top_functions", "top_classes", "loads"):
    setattr(Watched, _name, _watched(_name))
