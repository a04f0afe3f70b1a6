"""Lines that fixes have made too long, broken inside of brackets, where a line may end without another meaning."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby, product

from ..system.regex import regex
from ..text.finding import Edit
from ..text.source import Source
from ..text.suppress import lets

_STEP = "    "
_SHORT = 4
"""What is so short is not worth a line: `[0]`, `(1)`."""
_PRAGMA = regex(r"#\s*(?:noqa|type:|(?:pylint|pyright|mypy|ruff|flake8|fmt|isort|nosec|pragma)\b).*", re.IGNORECASE)
"""What is said to a tool about the line that it stands on."""
_PYLINT = regex(r"#\s*pylint\s*:\s*disable\s*=[^#]*\b(?:line-too-long|C0301)\b", re.IGNORECASE)
"""What pylint lets be as long as it is."""
_OPEN, _CLOSE = "([{", ")]}"


def too_long(before: Source, after: Source, limit: int) -> list[int]:
    """The lines of `after` beyond the limit that take the place of shorter ones, and are not let be by a comment."""
    old, new = _lines(before), _lines(after)
    if not any(_is_long(line, limit) for line in set(new).difference(old)):
        return []
    found = []
    for kind, start, end, first, last in SequenceMatcher(None, old, new).get_opcodes():
        if kind != "equal" and not any(width(line) > limit for line in old[start:end]):
            found += [number + 1 for number in range(first, last) if _is_long(new[number], limit)]
    return found


def _is_long(line: str, limit: int) -> bool:
    return width(line) > limit and not (lets(line, "E501") or _PYLINT.search(line))


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
    """Brackets that are opened and closed on one line: the columns of both, and of what begins a part right inside."""

    start: int
    end: int
    parts: tuple[int, ...]
    depth: int
    is_comprehension: bool


def _as_written(source: Source) -> ast.Module:
    """The tree of a text before it comes to its normal form, where `a, b = x, y` has a tuple; what Python does not parse has that one."""
    try:
        return ast.parse(source.text)
    except (SyntaxError, ValueError):
        return source.parse()


class _Fold:
    def __init__(self, source: Source, limit: int) -> None:
        self._source = source
        self._limit = limit
        self._pairs, self._between = _pairs(source.text)
        self._values = _values(_as_written(source))

    def of_line(self, number: int) -> list[Edit]:
        """The edits that break a line in the first way that is short enough."""
        line = self._source.line_text(number)
        if _PRAGMA.search(line):
            return []  # it may mean any part of the line
        cuts = self._parts(line, self._between.get(number, [])) or self._tuple(number, line)
        if cuts and self._fits(line, cuts):
            return self._cuts(number, line, cuts)
        # The outermost brackets first, of these the last ones, as that keeps together what is called; an index stays short.
        pairs = sorted(
            self._pairs.get(number, ()), key=lambda pair: (pair.depth, pair.end - pair.start <= _SHORT, -pair.start)
        )
        for _, level in groupby(pairs, key=lambda pair: pair.depth):
            for way, pair in product((self._in_one, self._one_each), list(level)):
                cuts = way(line, pair)
                if self._fits(line, cuts):
                    return self._cuts(number, line, cuts)
        return self._parenthesised(number, line)

    def _parts(self, line: str, parts: list[int]) -> list[tuple[int, str]]:
        """What stands between brackets of other lines goes on a line each."""
        return [(part, f"\n{_margin(line)}") for part in parts if line[part:].lstrip()[:1] not in ("", "#")]

    def _in_one(self, line: str, pair: _Pair) -> list[tuple[int, str]]:
        """What is inside of brackets goes on one line of its own."""
        margin = _margin(line)
        return [(pair.start + 1, f"\n{margin}{_STEP}"), (pair.end, f"\n{margin}")]

    def _one_each(self, line: str, pair: _Pair) -> list[tuple[int, str]]:
        """Each part goes on a line of its own."""
        first, (end, closing) = self._in_one(line, pair)
        parts = [part for part in pair.parts if line[part : pair.end].strip()]
        comma = "," if parts == list(pair.parts) and parts and not pair.is_comprehension else ""
        return [first, *((part, first[1]) for part in parts), (end, comma + closing)]

    def _tuple(self, number: int, line: str) -> list[tuple[int, str]]:
        """Values that stand free get parentheses, and a line each."""
        value = self._values.get(number)
        if not isinstance(value, ast.Tuple):
            return []
        start, *parts, end = (_column(line, at) for at in _bounds(value))
        if any((start, end) == (pair.start, pair.end + 1) for pair in self._pairs.get(number, ())):
            return []
        margin = _margin(line)
        begin = f"\n{margin}{_STEP}"
        comma = "" if line[:end].endswith(",") else ","
        return [
            (start, f"({begin}"),
            *((line.index(",", part) + 1, begin) for part in parts),
            (end, f"{comma}\n{margin})"),
        ]

    def _parenthesised(self, number: int, line: str) -> list[Edit]:
        """A value that stands free gets parentheses."""
        value = self._values.get(number)
        if value is None or isinstance(value, ast.Tuple):
            return []
        start, end = (_column(line, at) for at in (value.col_offset, value.end_col_offset or 0))
        margin = _margin(line)
        cuts = [(start, f"(\n{margin}{_STEP}"), (end, f"\n{margin})")]
        return self._cuts(number, line, cuts) if self._fits(line, cuts) else []

    def _fits(self, line: str, cuts: list[tuple[int, str]]) -> bool:
        at, text = 0, ""
        for place, inserted in cuts:
            text += line[at:place].rstrip() + inserted
            at = _behind(line, place, inserted)
        return all(width(part) <= self._limit for part in (text + line[at:]).split("\n"))

    def _cuts(self, number: int, line: str, cuts: list[tuple[int, str]]) -> list[Edit]:
        return [self._cut(number, line, at, text) for at, text in cuts]

    def _cut(self, number: int, line: str, at: int, text: str) -> Edit:
        """Put a line's end at a column, in place of the blanks there."""
        start = len(line[:at].rstrip()) if text.startswith(("\n", ",")) else at
        end = _behind(line, at, text)
        begin = self._source.lines[number - 1]
        first, last = (begin + len(line[:column].encode()) for column in (start, end))
        return Edit(first, last, text.replace("\n", self._source.newline).encode())


def _behind(line: str, at: int, text: str) -> int:
    """Where a line goes on behind a text that is put in at a column: behind the blanks, or, after its end, before these."""
    return at if text.endswith(")") else at + len(line[at:]) - len(line[at:].lstrip())


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _column(line: str, offset: int) -> int:
    """The column of an offset in bytes."""
    return len(line.encode()[:offset].decode())


def _pairs(text: str) -> tuple[dict[int, list[_Pair]], dict[int, list[int]]]:
    """The brackets of each line that are opened and closed on it, but for those inside of f-strings; and of lines between
    brackets of other lines the columns where their parts begin.
    """
    found: dict[int, list[_Pair]] = {}
    between: dict[int, list[int]] = {}
    after: dict[int, bool] = {}  # lines that close brackets of other lines: whether a part behind these was met
    opened: list[_Opened] = []
    strings = 0
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = tokenize.tok_name[token.type]
            strings += (kind in ("FSTRING_START", "TSTRING_START")) - (kind in ("FSTRING_END", "TSTRING_END"))
            if strings or kind not in ("OP", "NAME"):
                continue
            (line, column), code = token.start, token.string
            if code in _OPEN:
                opened.append(_Opened(line, column))
            elif code in _CLOSE and opened:
                last = opened.pop()
                if last.line != line and line not in after:
                    between[line], after[line] = [], False
                elif last.line == line and column > last.column + 1:
                    pair = _Pair(last.column, column, tuple(last.parts), len(opened), last.is_comprehension)
                    found.setdefault(line, []).append(pair)
            elif opened:
                last = opened[-1]
                part = last.part(token)
                if part is not None and last.line == line:
                    last.parts.append(part)
                elif part is not None and not after.get(line):
                    between.setdefault(line, []).append(part)
                    after.update({line: True} if line in after else {})
    return found, between


@dataclass
class _Opened:
    """A bracket that is open, and what stands right inside of it."""

    line: int
    column: int
    parts: list[int] = field(default_factory=list)
    is_comprehension: bool = False
    lambdas: int = 0
    """Lambdas whose parameters are not at their end yet."""

    def part(self, token: tokenize.TokenInfo) -> int | None:
        """The column where a part begins because of a token: behind a comma, or at the `for` and `if` of a comprehension."""
        code, column = token.string, token.start[1]
        self.lambdas += (code == "lambda") - (code == ":" and self.lambdas > 0)
        if code == "for":
            self.is_comprehension = True
            before = token.line[:column].rstrip()
            return len(before) - len("async") if before.endswith("async") else column
        if code == "if" and self.is_comprehension:
            return column
        return column + 1 if code == "," and not self.is_comprehension and not self.lambdas else None


def _values(tree: ast.Module) -> dict[int, ast.expr]:
    """Of each line that is one assignment or one `return`, its value."""
    found = {}
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(value=value)
                | ast.AugAssign(value=value)
                | ast.AnnAssign(value=value)
                | ast.Return(value=value)
            ):
                plain = not isinstance(value, ast.Yield | ast.YieldFrom)
                if isinstance(value, ast.expr) and plain and node.lineno == node.end_lineno:
                    found[node.lineno] = value
    return found


def _bounds(value: ast.Tuple) -> list[int]:
    """Where a tuple begins, where each element but the last ends, and where the tuple ends, in bytes."""
    return [value.col_offset, *(element.end_col_offset or 0 for element in value.elts[:-1]), value.end_col_offset or 0]
