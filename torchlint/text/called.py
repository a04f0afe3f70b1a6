"""How a file calls something of a name, as far as can be told without a tree: most that mention a method define one of their own."""

from __future__ import annotations

from typing import Literal

from .spoken import is_spoken

How = Literal["", "base", "own", "any"]
"""Nothing calls it; only `super().name(...)` does; only `self.name(...)` and `cls.name(...)`; or it may be called on anything."""
_NAME = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") | frozenset(range(128, 256))
_OWN = (b"self.", b"cls.")
_BASE = (b"super().",)
_DEFINED = (b"def ",)


def how_called(data: bytes, name: bytes) -> How:
    """How a text calls a name; what is said of it besides `def` and calls counts as "any" of them."""
    found: set[How] = set()
    spoken = mentioned = False
    at = data.find(name)
    line_end = -1
    while at >= 0:
        if at > line_end:
            start, line_end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
            line_end = line_end if line_end >= 0 else len(data)
            spoken = is_spoken(data, start, at)
        end = at + len(name)
        if not spoken and _stands_alone(data, at, end):
            before = data[max(at - 9, 0) : at]
            if not data.startswith(b"(", end):
                mentioned = True
            elif _is_behind(before, _OWN):
                found.add("own")
            elif _is_behind(before, _BASE):
                found.add("base")
            elif not _is_behind(before, _DEFINED):
                return "any"
        at = data.find(name, end)
    return "any" if found and (mentioned or len(found) > 1) else next(iter(found), "")


def is_taken(data: bytes, name: bytes) -> bool:
    """Whether a text names something, beside imports, without calling it, defining it, or giving it that name."""
    at = data.find(name)
    while at >= 0:
        end = at + len(name)
        if _stands_alone(data, at, end) and not data[end : end + 2].lstrip().startswith((b"(", b"=", b":")):
            line = data[data.rfind(b"\n", 0, at) + 1 : at].lstrip()
            if not line.startswith((b"from ", b"import ", b"#", b"def ")):
                return True
        at = data.find(name, end)
    return False


def _stands_alone(data: bytes, start: int, end: int) -> bool:
    return (start == 0 or data[start - 1] not in _NAME) and (end == len(data) or data[end] not in _NAME)


def _is_behind(before: bytes, words: tuple[bytes, ...]) -> bool:
    """Whether a text ends with one of the words, where that is no part of a longer one, nor of an object."""
    word = next(filter(before.endswith, words), None)
    rest = before[: -len(word)] if word is not None else b"."
    return not rest or (rest[-1] not in _NAME and rest[-1:] != b".")
