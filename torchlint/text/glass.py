"""A text as those see it who depend on it: on all of it, or on whether it holds something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from .source import Searches, Source

T = TypeVar("T")


class Told(Protocol):
    """A file that is told what of its text is looked at."""

    path: str

    @property
    def text(self) -> Source: ...
    def look(self) -> None: ...
    def holds(self, wanted: Searches | bytes) -> bool: ...
    def fact(self, name: str, find: Callable[[Source], T]) -> T: ...
    def told_lines(self, name: str, find: Callable[[Source], list[int]]) -> list[int]: ...


class Glass(Source):
    """The text of such a file."""

    def __init__(self, module: Told) -> None:
        object.__getattribute__(self, "__dict__")["_module"] = module

    def holds(self, wanted: Searches | bytes) -> bool:
        module: Told = object.__getattribute__(self, "__dict__")["_module"]
        return module.holds(wanted)

    def fact(self, name: str, find: Callable[[Source], T]) -> T:
        module: Told = object.__getattribute__(self, "__dict__")["_module"]
        return module.fact(name, find)

    def told_lines(self, name: str, find: Callable[[Source], list[int]]) -> list[int]:
        module: Told = object.__getattribute__(self, "__dict__")["_module"]
        return module.told_lines(name, find)

    def __getattribute__(self, name: str) -> Any:
        if name in ("holds", "fact", "told_lines", "__class__"):
            return object.__getattribute__(self, name)
        module: Told = object.__getattribute__(self, "__dict__")["_module"]
        if name == "path":
            return module.path
        module.look()
        return getattr(module.text, name)
