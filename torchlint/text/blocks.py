"""Which places of a text stand in loops, as its indentation tells: most files need not be parsed to know that none does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..system.regex import regex

_HEAD = regex(
    rb"^([ \t]*)(?:async[ \t]+)?(for|while|def|class|if|elif|else|with|try|except|finally|match|case)\b", re.MULTILINE
)
_LOOPS = (b"for", b"while")


def in_loops(data: bytes, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    """What a pattern finds in loops of the function around it, and in their heads; a statement's first line tells where it stands."""
    heads = _HEAD.finditer(data)
    head = next(heads, None)
    around: list[tuple[int, bytes]] = []
    """The statements around a place: how far each is indented, and its first word."""
    last = -1
    for found in pattern.finditer(data):
        line = data.rfind(b"\n", 0, found.start()) + 1
        while head is not None and head.start() <= line:
            last = head.start()
            _leave(around, len(head[1]))
            around.append((len(head[1]), head[2]))
            head = next(heads, None)
        if last != line:
            text = data[line : found.end()]
            _leave(around, len(text) - len(text.lstrip(b" \t")))
        if _is_in_loop(around):
            yield found


def _leave(around: list[tuple[int, bytes]], margin: int) -> None:
    while around and around[-1][0] >= margin:
        around.pop()


def _is_in_loop(around: list[tuple[int, bytes]]) -> bool:
    for _, word in reversed(around):
        if word in _LOOPS:
            return True
        if word == b"def":
            return False
    return False
