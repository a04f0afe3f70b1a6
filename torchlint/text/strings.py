"""Where strings go over the ends of lines."""

from __future__ import annotations

import io
import tokenize
from contextlib import suppress


def ends_inside(text: str) -> set[int]:
    """The lines of a program whose end is inside of a string, counted from 1; as far as it can be read."""
    found: set[int] = set()
    opened: list[int] = []
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                found.update(range(token.start[0], token.end[0]))
            elif kind.endswith("STRING_START"):
                opened.append(token.start[0])
            elif kind.endswith("STRING_END"):
                found.update(range(opened.pop(), token.end[0]))
    return found
