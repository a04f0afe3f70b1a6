r"""Patterns that look for written-out words, searched for as such, which is many times quicker: `\b(?:a|b)\b`, `\b(?:a|b)\(`, `\.name\(`."""

from __future__ import annotations

import re

from ..system.regex import regex
from ..system.stamp import as_bytes
from .source import Searches, Words

_ALONE = regex(rb"\\b(?:(\w+)|\(\?:(\w+(?:\|\w+)*)\))\\b")
_CALLED = regex(rb"\\b\(\?:(\w+(?:\|\w+)*)\)\\\(")
_WRITTEN = regex(rb"(?:\\b)?((?:\w|\\[.(])+)(?:\\b)?")
_NAME = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class WholeWords:
    """Looks for words beside which no letter, digit or underscore stands; `sure` are words that count wherever they stand."""

    def __init__(self, *words: bytes, sure: tuple[bytes, ...] = ()) -> None:
        self.words = words
        self.sure = sure

    def search(self, data: bytes, /) -> bytes | None:
        """One of the words that is there, None where none is."""
        for word in self.sure:
            if word in data:
                return word
        return next((word for word in self.words if _stands_alone(word, data)), None)


def as_pattern(wanted: Searches | bytes) -> tuple[int, bytes] | None:
    """The flags and the text of a pattern that finds something wherever a search does, and nowhere else; None where there is none."""
    if isinstance(wanted, bytes):
        return 0, re.escape(wanted)
    if isinstance(wanted, Words | WholeWords):
        found = list(map(re.escape, wanted.sure))
        words = b"|".join(map(re.escape, wanted.words))
        if isinstance(wanted, WholeWords):
            found += [rb"\b(?:%s)\b" % words]
        elif wanted.pattern is None:
            found += [words]
        elif wanted.pattern.flags:
            return None
        else:
            found += [b"(?:%s)" % wanted.pattern.pattern]
        return 0, b"|".join(found)
    pattern, flags = getattr(wanted, "pattern", None), getattr(wanted, "flags", None)
    return (int(flags), pattern) if isinstance(pattern, bytes) and isinstance(flags, int) else None


def whole_word(name: str) -> re.Pattern[bytes]:
    """Finds a name wherever it stands as a word."""
    return re.compile(rb"\b%s\b" % as_bytes(name))


def quoted(word: bytes) -> bytes:
    """A pattern for a word as a whole text; it begins with the word, which is many times quicker to look for than a quote."""
    word = re.escape(word)
    return rb"%s[\"'](?<=[\"']%s[\"'])" % (word, word)


def set_or_quoted(word: bytes) -> bytes:
    """A pattern for a word as an attribute that is set, or as a whole text; it begins with the word, likewise."""
    word = re.escape(word)
    return rb"%s(?:(?<=\.%s)[ \t]*=(?!=)|[\"'](?<=[\"']%s[\"']))" % (word, word, word)


def quickest(pattern: re.Pattern[bytes]) -> Searches:
    """What finds something wherever a pattern does, and nowhere else, in the least time."""
    if pattern.flags:
        return pattern
    words = _ALONE.fullmatch(pattern.pattern)
    if words is not None:
        return WholeWords(*(words[1] or words[2]).split(b"|"))
    called = _CALLED.fullmatch(pattern.pattern)
    if called is not None:
        return Words(*(name + b"(" for name in called[1].split(b"|")), pattern=pattern)
    written = _WRITTEN.fullmatch(pattern.pattern)
    return Words(written[1].replace(b"\\", b""), pattern=pattern) if written is not None else pattern


def _stands_alone(word: bytes, data: bytes) -> bool:
    place = data.find(word)
    while place >= 0:
        end = place + len(word)
        if (place == 0 or data[place - 1] not in _NAME) and (end == len(data) or data[end] not in _NAME):
            return True
        place = data.find(word, place + 1)
    return False
