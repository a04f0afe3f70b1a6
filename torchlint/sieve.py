"""Which files and functions can hold a finding at all: the words of the selected rules, searched for in the bytes.

The plain engine (`--no-sieve`) looks everywhere; both must find the same, which a test holds them to.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator

from .facts.module import Function, Module

_ALIAS = rb"\b(?:%s)[ \t]+as[ \t]+(\w+)"


class Sieve:
    """The search for the last words of what rules are shown: `.item()`, `torch.nn.DataParallel`, `.grad`."""

    def __init__(self, wanted: Iterable[str]) -> None:
        methods, attributes, names, homes = set(), set(), set(), set()
        for trigger in wanted:
            word = trigger.removesuffix("()").rpartition(".")[2]
            if trigger.startswith(".") and trigger.endswith("()"):
                methods.add(word)
            elif trigger.startswith("."):
                attributes.add(word)
            elif word == "*":
                homes.add(trigger.split(".")[-2])
            elif trigger:
                names.add(word)
        parts = []
        if methods:
            parts.append(rf"\.[ \t\\\r\n]*({_trie(methods)})[ \t\\\r\n]*\(")
        if attributes:
            parts.append(rf"\.[ \t\\\r\n]*({_trie(attributes)})\b")
        self._homes = [home.encode() for home in homes]
        """Names of modules any member of which is wanted: where one is mentioned, it may be used on any line."""
        self._names = names
        self._parts = parts
        self._regexes = [re.compile(part.encode()) for part in parts]
        self._aliases: set[str] = set()
        self._words = _words(names)
        self._alias = re.compile(_ALIAS % "|".join(map(re.escape, sorted(names))).encode()) if names else None

    def learn(self, data: bytes) -> None:
        """Note the other names that a file's imports give to what is wanted (`DataLoader as DL`)."""
        if self._alias is not None and b" as " in data:
            for match in self._alias.finditer(data):
                alias = match.group(1).decode()
                if alias not in self._names | self._aliases:
                    self._aliases.add(alias)
                    self._words = _words(self._names | self._aliases)

    def hit(self, data: bytes) -> bool:
        """Whether the file holds any of the words."""
        return any(regex.search(data) for regex in (*self._regexes, *self._words)) or self._at_home(data)

    def _at_home(self, data: bytes) -> bool:
        return any(home in data for home in self._homes)

    def offsets(self, data: bytes) -> Iterator[int]:
        """Where the words stand."""
        for regex in self._regexes:
            for match in regex.finditer(data):
                yield match.start(1)
        for regex in self._words:
            for match in regex.finditer(data):
                yield match.start()

    def places(self, module: Module) -> Iterator[tuple[Function, Collection[int] | None]]:
        """The functions whose lines hold a word, in source order, with those lines; None for all lines."""
        if self._at_home(module.source.data):
            yield from ((function, None) for function in module.functions)
            return
        starts = module.source.lines
        found: dict[Function, set[int]] = {}
        for line in sorted({bisect_right(starts, offset) for offset in self.offsets(module.source.data)}):
            found.setdefault(module.function_at(line), set()).add(line)
        for function in list(found):
            # A decorator, default or base of a nested definition belongs to the function around it.
            outer = function.parent
            if outer is not None:
                found.setdefault(outer, set()).update(found[function])
        yield from found.items()


def _words(names: set[str]) -> list[re.Pattern[bytes]]:
    # A word boundary in front of a trie makes it slow; behind the first letters it costs nothing.
    return [re.compile(rf"{_trie(names)}\b".encode())] if names else []


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
