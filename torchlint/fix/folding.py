"""Lines that fixes have made too long, broken inside of brackets, where a line may end without another meaning."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher

from ..system.regex import regex
from ..text.finding import Edit
from ..text.source import Source

_STEP = "    "
_SHORT = 4
"""What is so short is not worth a line: `[0]`, `(1)`."""
_PRAGMA = regex(r"#\s*(?:noqa|type:|(?:pylint|pyright|mypy|ruff|flake8|fmt|isort|nosec|pragma)\b).*", re.IGNORECASE)
"""What is said to a tool about the line that it stands on."""
_OPEN, _CLOSE = "([{", ")]}"


def too_long(before: Source, after: Source, limit: int) -> list[int]:
    """The lines of `after` beyond the limit that take the place of shorter ones."""
    old, new = _lines(before), _lines(after)
    if not any(width(line) > limit for line in set(new).difference(old)):
        return []
    found = []
    for kind, start, end, first, last in SequenceMatcher(None, old, new).get_opcodes():
        if kind != "equal" and not any(width(line) > limit for line in old[start:end]):
            found += [number + 1 for number in range(first, last) if width(new[number]) > limit]
    return found


def _lines(source: Source) -> list[str]:
    return [source.line_text(number + 1) for number in range(len(source.lines))]


def width(line: str) -> int:
    """How many columns a line takes, without what it says to other tools: their limits leave that out, too."""
    pragma = _PRAGMA.search(line)
    return len((line[: pragma.start()].rstrip() if pragma else line).expandtabs(4))


def folded(after: Source, lines: list[int], limit: int) -> list[Edit]:
    """The edits that break lines of a file; none for a line that can't be broken short enough."""
    fold = _Fold(after, limit)
    return [edit for number in lines for edit in fold.of_line(number)]


@dataclass(frozen=True)
class _Pair:
    """Brackets that are opened and closed on one line: the columns of both, and of the commas right inside."""

    start: int
    end: int
    commas: tuple[int, ...]
    depth: int


class _Fold:
    def __init__(self, source: Source, limit: int) -> None:
        self._source = source
        self._limit = limit
        self._pairs, self._commas = _pairs(source.text)
        self._values = _values(source.parse())

    def of_line(self, number: int) -> list[Edit]:
        """The edits that break a line in the first way that is short enough."""
        line = self._source.line_text(number)
        if _PRAGMA.search(line):
            return []  # it may mean any part of the line
        parts = self._parts(line, self._commas.get(number, []))
        if parts and self._fits(line, parts):
            return [self._cut(number, line, at, text) for at, text in parts]
        # The outermost brackets first, of these the last ones, as that keeps together what is called; an index stays short.
        pairs = sorted(
            self._pairs.get(number, ()), key=lambda pair: (pair.depth, pair.end - pair.start <= _SHORT, -pair.start)
        )
        for way in (self._in_one, self._one_each):
            for pair in pairs:
                cuts = way(line, pair)
                if cuts and self._fits(line, cuts):
                    return [self._cut(number, line, at, text) for at, text in cuts]
        return self._parenthesised(number, line)

    def _parts(self, line: str, commas: list[int]) -> list[tuple[int, str]]:
        """What stands between brackets of other lines goes on a line each."""
        return [
            (comma + 1, f"\n{_margin(line)}") for comma in commas if line[comma + 1 :].lstrip()[:1] not in ("", "#")
        ]

    def _in_one(self, line: str, pair: _Pair) -> list[tuple[int, str]]:
        """What is inside of brackets goes on one line of its own."""
        margin = _margin(line)
        return [(pair.start + 1, f"\n{margin}{_STEP}"), (pair.end, f"\n{margin}")]

    def _one_each(self, line: str, pair: _Pair) -> list[tuple[int, str]]:
        """Each part goes on a line of its own."""
        first, last = self._in_one(line, pair)
        commas = [comma for comma in pair.commas if line[comma + 1 : pair.end].strip()]
        return [first, *((comma + 1, first[1]) for comma in commas), last]

    def _parenthesised(self, number: int, line: str) -> list[Edit]:
        """A value that stands free gets parentheses."""
        span = self._values.get(number)
        if span is None:
            return []
        start, end = (len(line.encode()[:at].decode()) for at in span)
        margin = _margin(line)
        cuts = [(start, f"(\n{margin}{_STEP}"), (end, f"\n{margin})")]
        return [self._cut(number, line, *cut) for cut in cuts] if self._fits(line, cuts) else []

    def _fits(self, line: str, cuts: list[tuple[int, str]]) -> bool:
        at, text = 0, ""
        for place, inserted in cuts:
            text += line[at:place].rstrip() + inserted
            at = place + len(line[place:]) - len(line[place:].lstrip())
        return all(width(part) <= self._limit for part in (text + line[at:]).split("\n"))

    def _cut(self, number: int, line: str, at: int, text: str) -> Edit:
        """Put a line's end at a column, in place of the blanks there."""
        start = len(line[:at].rstrip()) if text.startswith("\n") else at
        end = at + len(line[at:]) - len(line[at:].lstrip())
        begin = self._source.lines[number - 1]
        first, last = (begin + len(line[:column].encode()) for column in (start, end))
        return Edit(first, last, text.replace("\n", self._source.newline).encode())


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _pairs(text: str) -> tuple[dict[int, list[_Pair]], dict[int, list[int]]]:
    """The brackets of each line that are opened and closed on it, but for those inside of f-strings; and of lines between
    brackets of other lines the columns of their commas.
    """
    found: dict[int, list[_Pair]] = {}
    between: dict[int, list[int]] = {}
    closing: set[int] = set()
    opened: list[tuple[int, int, list[int]]] = []
    strings = 0
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = tokenize.tok_name[token.type]
            strings += (kind in ("FSTRING_START", "TSTRING_START")) - (kind in ("FSTRING_END", "TSTRING_END"))
            if kind == "OP" and not strings:
                (line, column), code = token.start, token.string
                if code in _OPEN:
                    opened.append((line, column, []))
                elif code == "," and opened:
                    commas = opened[-1][2] if opened[-1][0] == line else between.setdefault(line, [])
                    commas.append(column)
                elif code in _CLOSE and opened:
                    begun, start, commas = opened.pop()
                    if begun != line:
                        closing.add(line)
                    elif column > start + 1:
                        found.setdefault(line, []).append(_Pair(start, column, tuple(commas), len(opened)))
    return found, {line: commas for line, commas in between.items() if line not in closing}


def _values(tree: ast.Module) -> dict[int, tuple[int, int]]:
    """Of each line that is one assignment or one `return`, where its value begins and ends, in bytes."""
    found = {}
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(value=value)
                | ast.AugAssign(value=value)
                | ast.AnnAssign(value=value)
                | ast.Return(value=value)
            ):
                plain = not isinstance(value, ast.Tuple | ast.Yield | ast.YieldFrom)
                if isinstance(value, ast.expr) and plain and node.lineno == node.end_lineno:
                    found[node.lineno] = (value.col_offset, value.end_col_offset or 0)
    return found
