"""Shell patterns as regular expressions that take no longer the more stars they hold.

Between two stars stand pieces of which each character matches one character. The first place where such a piece matches is
as good as any later one, so it is never looked for again; a naive translation tries all places of all pieces together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

Star = Literal["*", "**/"]
STAR: Final[Star] = "*"
"""Any characters."""
FOLDERS: Final[Star] = "**/"
"""Any folders: nothing, or characters up to a slash."""
_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": r"\x21-\x7e", "lower": "a-z", "print": r"\x20-\x7e", "punct": r"!-/:-@\[-`{-~", "space": r"\t-\r ",
    "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


def compiled(pieces: Sequence[tuple[Star, Sequence[str]]]) -> re.Pattern[str]:
    """The pattern of pieces, each a list of regular expressions for one character, behind a star; the first behind none."""
    (_, first), *others = pieces
    text = "".join(first)
    for number, (star, piece) in enumerate(others, 1):
        if number == len(others):
            text += f"{'.*' if star == STAR else '(?:.*/)?'}{''.join(piece)}"
        else:
            gap = ".*?" if star == STAR else "(?:.*?/)??"
            text += f"(?=({gap}{''.join(piece)}))\\{number}"
    return re.compile(text, re.DOTALL)


def split(tokens: Sequence[str | tuple[Star]]) -> list[tuple[Star, list[str]]]:
    """Characters and stars (in tuples) as pieces behind stars; stars side by side are one."""
    pieces: list[tuple[Star, list[str]]] = [(STAR, [])]
    starred = False
    for token in tokens:
        if isinstance(token, str):
            pieces[-1][1].append(token)
            starred = False
        elif starred:
            if token == (STAR,):
                pieces[-1] = (STAR, [])
        else:
            pieces.append((token[0], []))
            starred = True
    return pieces


def char_class(pattern: str, start: int) -> tuple[str, int] | None:
    """The regular expression for the `[...]` at a place, and where it ends; None where it has no end.

    As in git: a backslash hides a character, a range that ends before it starts holds its start alone.
    """
    at = start + 1
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    parts: list[str] = []
    first = at
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        end = pattern.find("]", at)
        if pattern.startswith("[:", at) and end >= 0 and pattern[end - 1] == ":" and end > at + 2:
            name = pattern[at + 2 : end - 1]
            if name not in _CLASSES:
                return None
            parts.append(_CLASSES[name])
            at = end + 1
            continue
        sign, at = _member(pattern, at)
        if pattern[at : at + 1] == "-" and at + 1 < len(pattern) and pattern[at + 1] != "]":
            last, at = _member(pattern, at + 1)
            if sign <= last:
                parts.append(f"{re.escape(sign)}-{re.escape(last)}")
                continue
        parts.append(re.escape(sign))
    if at >= len(pattern):
        return None
    return f"[{'^' if negated else ''}{''.join(parts)}]", at + 1


def _member(pattern: str, at: int) -> tuple[str, int]:
    """The character at a place of a class, which a backslash may hide, and what is behind."""
    at += pattern[at] == "\\" and at + 1 < len(pattern)
    return pattern[at], at + 1
