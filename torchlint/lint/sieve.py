"""Which files and functions can hold a finding at all: the words of the selected rules, searched for in the bytes.

The plain engine (`--no-sieve`) looks everywhere; both must find the same, which a test holds them to.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from ..facts.module import Function, Module
from ..system.regex import regex
from ..text.source import Source

_IDENTIFIER = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_" + bytes(range(128, 256))
_BLANK = b" \t\r\n\\"
# A comment reaches to the end of its line: one that could end at any of its `#` would take exponential time.
_SPACE = r"[ \t\f\\\r\n]*(?:#[^\r\n]{0,500}(?![^\r\n])[ \t\f\\\r\n]*){0,50}"
_OPENS = regex(rf"{_SPACE}\(".encode())
_LONE_RETURN = regex(rb"\r(?!\n)")

ImportWords = Callable[[str], frozenset[bytes]]
"""The words of a file's import statements, by its path."""


class Sieve:
    """The search for the last words of what rules are shown: `.item()`, `torch.nn.DataParallel`, `.grad`.

    A name counts where it is an attribute of something imported (`nn.DataParallel`), or where the file imports it;
    so the methods of the same name that everything has (`x.max()` for `torch.max()`) cost nothing.
    """

    def __init__(self, wanted: Iterable[str], imported: ImportWords, renames: Mapping[str, AbstractSet[str]]) -> None:
        """`renames` are the other names that imports give to things, with what they stand for."""
        self._imported = imported
        methods: set[bytes] = set()
        attributes: set[bytes] = set()
        calls: set[bytes] = set()
        uses: set[bytes] = set()
        for trigger in wanted:
            word = trigger.removesuffix("()").rpartition(".")[2]
            if trigger.startswith("."):
                (methods if trigger.endswith("()") else attributes).add(word.encode())
            else:
                (calls if trigger.endswith("()") else uses).add(word.encode())
        self._methods = methods
        self._attributes = attributes
        aliases = {
            alias.encode()
            for alias, names in renames.items()
            if not (calls | uses).isdisjoint(n.encode() for n in names)
        }
        self._names = calls | uses | aliases
        self._called = methods | calls | aliases
        self._read = attributes | uses | aliases
        self._dotted = _after_dot(frozenset(self._called | self._read))

    def offsets(self, path: str, data: bytes) -> Iterator[int]:
        """Where the words stand."""
        imported = self._imported(path)
        return self._offsets(data, imported, self._names if b"import *" in data else self._names & imported)

    def _offsets(self, data: bytes, imported: frozenset[bytes], names: AbstractSet[bytes]) -> Iterator[int]:
        for match in self._dotted.finditer(data) if self._dotted is not None else ():
            word = match[1]
            is_called = word in self._called and _OPENS.match(data, match.end()) is not None
            if not is_called and word not in self._read:
                continue
            is_free = (is_called and word in self._methods) or word in self._attributes
            if (is_free or _root(data, match.start()) in imported) and not _imports(data, match.start()):
                yield match.start(1)
        for word in names:
            position = data.find(word)
            while position >= 0:
                end = position + len(word)
                if (position == 0 or data[position - 1] not in _IDENTIFIER) and (
                    end == len(data) or data[end] not in _IDENTIFIER
                ):
                    yield position
                position = data.find(word, end)

    def found(self, source: Source) -> list[int] | None:
        """Where the words stand; None where each line may hold one."""
        if _is_old_mac(source.data):
            return None
        imported = self._imported(source.path)
        names = frozenset(self._names if b"import *" in source.data else self._names & imported)
        found = source.in_parts((self, imported, names), lambda part: list(self._offsets(part, imported, names)))
        return [start + at for start, offsets in found for at in offsets]


def places(module: Module, offsets: Iterable[int] | None) -> Iterable[tuple[Function, Collection[int] | None]]:
    """The functions on whose lines the words stand that a sieve has found, in source order, with those lines; None for all."""
    if offsets is None:
        return [(function, None) for function in module.functions]
    starts = module.source.lines
    found: dict[Function, set[int]] = {}
    for line in sorted({bisect_right(starts, offset) for offset in offsets}):
        function: Function | None = module.function_at(line)
        # A decorator, default or base of a nested definition belongs to the function around it.
        while function is not None:
            found.setdefault(function, set()).add(line)
            function = function.parent if line <= function.header_line else None
    return found.items()


def _is_old_mac(data: bytes) -> bool:
    """Whether lines end in a carriage return alone: they are not looked at one by one, since nobody writes them today."""
    return b"\r" in data and _LONE_RETURN.search(data) is not None


@functools.lru_cache(maxsize=16)  # an editor's server looks for the same at each keystroke
def _after_dot(words: frozenset[bytes]) -> re.Pattern[bytes] | None:
    # The literal dot in front lets the engine skip to it; a word boundary there would try each letter.
    return re.compile(rf"\.{_SPACE}({_trie(word.decode() for word in words)})\b".encode()) if words else None


def _imports(data: bytes, offset: int) -> bool:
    """Whether the line is an import: `from timm.data import x` reads no attribute."""
    line = data[data.rfind(b"\n", 0, offset) + 1 : offset].lstrip()
    return line.startswith((b"from ", b"import ")) and b";" not in line


def _root(data: bytes, dot: int) -> bytes:
    """The name that an attribute chain begins with, read backwards from one of its dots; b"" for other expressions."""
    while True:
        end = _back(data, dot, _BLANK)
        start = _back(data, end, _IDENTIFIER)
        dot = _back(data, start, _BLANK) - 1
        if start == end or dot < 0 or data[dot] != 46 or _ends_comment(data, dot, start):
            return data[start:end]


def _ends_comment(data: bytes, dot: int, start: int) -> bool:
    """Whether a dot belongs to a comment above the line of a place, as the one of a sentence does."""
    end = data.find(b"\n", dot, start)
    return end >= 0 and b"#" in data[data.rfind(b"\n", 0, dot) + 1 : dot]


def _back(data: bytes, offset: int, over: bytes) -> int:
    """The place before `offset` in front of which something else stands."""
    while offset > 0 and data[offset - 1] in over:
        offset -= 1
    return offset


def _trie(words: Iterable[str]) -> str:
    """One expression for many words, shared beginnings written once."""
    by_letter: dict[str, list[str]] = {}
    end = False
    for word in words:
        if word:
            by_letter.setdefault(word[0], []).append(word[1:])
        else:
            end = True
    if not by_letter:
        return ""
    branches = [re.escape(letter) + _trie(rest) for letter, rest in sorted(by_letter.items())]
    text = branches[0] if len(branches) == 1 and not end else f"(?:{'|'.join(branches)})"
    return f"{text}?" if end else text
