"""A document as an editor has it: its text, edited in the editor's own units of position."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate

from lsprotocol import types

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")  # unlike str.splitlines, which also ends lines at form feeds


def units(text: str, encoding: str) -> int:
    """How long a text is in the units of a position encoding: code points for utf-32, 16-bit words, or bytes."""
    if text.isascii() or encoding == types.PositionEncodingKind.Utf32:
        return len(text)
    if encoding == types.PositionEncodingKind.Utf8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def index(text: str, count: int, encoding: str) -> int:
    """How many characters of a text make up so many units; at most all, and never half a character."""
    if text.isascii() or encoding == types.PositionEncodingKind.Utf32:
        return min(count, len(text))
    used = 0
    for at, character in enumerate(text):
        if used >= count:
            return at
        used += units(character, encoding)
    return len(text)


@dataclass(slots=True)
class Document:
    """An open document. `version` is the editor's number for `text`."""

    uri: str
    version: int
    text: str
    encoding: str
    _starts: list[int] = field(default_factory=list)

    def apply(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Take one change in. A position outside the text counts as the nearest one inside, as the protocol says."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            start, end = sorted((self._offset(change.range.start), self._offset(change.range.end)))
            self.text = self.text[:start] + change.text + self.text[end:]
        else:
            self.text = change.text
        self._starts = []

    def _offset(self, position: types.Position) -> int:
        if not self._starts:
            pieces = [match.end() - match.start() for match in _LINE.finditer(self.text)]
            self._starts = [0, *accumulate(pieces[:-1])]
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[position.line]
        end = self._starts[position.line + 1] if position.line + 1 < len(self._starts) else len(self.text)
        line = self.text[start:end].rstrip("\r\n")
        return start + index(line, position.character, self.encoding)

    @property
    def data(self) -> bytes:
        """The bytes that saving it would write."""
        data = self.text.encode("utf-8", "surrogatepass")
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            return data if encoding.startswith("utf-8") else self.text.encode(encoding)
        except (SyntaxError, LookupError, UnicodeError):
            return data  # what is wrong with it is for the linter to say


Place = Callable[[int, int], types.Position]
"""The editor's position of a line and a column that count from 1, the column in characters."""


def place(line_text: Callable[[int], str], row: Callable[[int], int], encoding: str) -> Place:
    """Positions in a file whose lines `line_text` gives, from 1; `row` is the number that the editor has for a line."""

    def position(line: int, column: int) -> types.Position:
        return types.Position(row(line) - 1, units(line_text(line)[: column - 1], encoding))

    return position
