"""Answers about values that lead from function to function: how far, and each worked out once.

Each answer is worked out for a level: what it asks of other functions is answered one level below, at level 0 not at all.
So circles end, and no answer depends on what was asked before. An answer that never met level 0 is the same for every
level that leaves it as much room, and is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K")
T = TypeVar("T")


def work_out(known: dict[K, T], key: K, meanwhile: T, answer: Callable[[], T]) -> None:
    """Keep an answer, once it is found; whoever asks for it while it is worked out is told `meanwhile`."""
    known[key] = meanwhile
    try:
        known[key] = answer()
    except BaseException:
        del known[key]
        raise


class Depth:
    """How far the question being answered may still lead."""

    __slots__ = ("level", "lowest")

    def __init__(self, level: int) -> None:
        self.level = level
        self.lowest = level
        """The lowest level that the answer being worked out has come to; -1 where it wanted to go below 0."""


class Answers:
    """What was answered, by key."""

    __slots__ = ("_cut", "_depth", "_whole")

    def __init__(self, depth: Depth) -> None:
        self._depth = depth
        self._whole: dict[object, tuple[int, Any]] = {}
        """Answers that met no limit, with the levels they need."""
        self._cut: dict[tuple[object, int], Any] = {}

    def of(self, key: K, work: Callable[[K], T]) -> T:
        """The answer of a key; `work` finds it at the first time."""
        depth = self._depth
        level = depth.level
        kept = self._whole.get(key)
        if kept is not None and kept[0] <= level:
            depth.lowest = min(depth.lowest, level - kept[0])
            return kept[1]  # type: ignore[no-any-return]
        if (key, level) in self._cut:
            depth.lowest = -1
            return self._cut[key, level]  # type: ignore[no-any-return]
        before, depth.lowest = depth.lowest, level
        answer = work(key)
        if depth.lowest < 0:
            self._cut[key, level] = answer
        else:
            self._whole[key] = (level - depth.lowest, answer)
        depth.lowest = min(before, depth.lowest)
        return answer

    def forget(self, is_stale: Callable[[object], bool]) -> None:
        """Work the answers of some keys out anew when they are next asked for."""
        for key in [key for key in self._whole if is_stale(key)]:
            del self._whole[key]
        for cut in [cut for cut in self._cut if is_stale(cut[0])]:
            del self._cut[cut]
