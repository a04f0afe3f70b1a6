"""Jupyter notebooks (nbformat 4) as one program: the code cells in order, and the way back into the same JSON.

What Python can't read (magics, shell lines) is masked; a comment marks the border of two cells. Both are restored when
edited `data` goes back, and all bytes outside of changed cells stay as they were.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, count
from json import JSONDecodeError

from ..system.cached import cached_property
from ..system.regex import regex

_SPACE = regex(r"[ \t\r\n]*")
_PYTHON_MAGICS = frozenset(("capture", "debug", "prun", "pypy", "python", "python3", "time", "timeit"))
"""Cell magics whose cell is Python."""
# No two parts of a pattern that can be repeated may match the same, or lines of blanks and brackets take years.
_LIKE_MAGIC = regex(
    r"^[^\S\n]*(?:[%!?]|(?:pip3?|conda|mamba|uv|cd|ls|cat|mkdir|rm|cp|mv) )|=[^\S\n]*[%!]|\?[^\S\n]*$", re.MULTILINE
)
_MAGIC = regex(
    r"""\s*(?:
        [%!] | \?{1,2}\S                                                      # %matplotlib inline, !ls, ?print
      | (?:pip3?|conda|mamba|uv|cd|ls|cat|mkdir|rm|cp|mv)\ +(?!(?:in|is|and|or|if|not|for)\b)[\w./~\"'$-]*\w  # without a sign
      | [%\w][\w.*]*(?:\[[^\s\[\]]+\])*\?{1,2}\s*$                            # torch.nn?
    )""",
    re.VERBOSE,
)
_SHELL_WORD_IS_CODE = regex(r"\s*\w+\s*(?:[-+*/%&|^<>=!]=?|//|\*\*|<<|>>)\s*\w")
_ASSIGNED = regex(r"(?P<target>\s*[\w.,\[\]*'\"][\w.,\s\[\]*'\"]*?=\s*)[%!]")
_SIGNS = regex(
    r"""\#.*|[rbfuRBFU]{0,2}(?P<quote>\"\"\"|'''|"|')|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<joined>\\\s*$)"""
)

Span = tuple[int, int]
_DIGITS = 12
"""No notebook holds so many comments that a number needs more."""
_BLOCK = 4096
_BLOCK_OPENS = "if True:"


@dataclass(frozen=True, slots=True)
class _Cell:
    """One code cell: its number among all cells (from 1), where its source stands in the text of the file, and the lines."""

    number: int
    span: Span
    literals: tuple[Span, ...]
    """The JSON strings in `span`; one if the source is no list."""
    code: str
    masked: str
    masks: tuple[tuple[str, str], ...]
    """What stands in `masked`, and what it stands for."""
    fixed_start: str
    """A cell magic, which must stay in the first line."""

    @property
    def indented(self) -> bool:
        """Whether the cell begins indented, which IPython takes away from each of its lines."""
        lines = [line for line in _lines(self.masked) if line.strip()]
        first = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
        code = next((line for line in lines if not line.lstrip().startswith("#")), "")
        return bool(first) and code.startswith(first)


class NotebookError(Exception):
    """What is no notebook, or an edit that can't go into one. Line and column of the file, from 1."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True, eq=False)
class Book:
    """The text of a notebook's file, and its code cells."""

    text: str
    cells: tuple[_Cell, ...]
    key: str

    @classmethod
    def read(cls, text: str) -> Book:
        """Raises NotebookError for what is no notebook of a known version, with its place in the file."""
        found = [*_code_cells(text)]
        sources = [code for _, _, _, code in found]
        key = _unused(sources)
        cells: list[_Cell] = []
        for number, span, literals, code in found:
            masked, masks, start = _masked(code, f"{key}:{number}")
            if masked is not None:
                cells.append(_Cell(number, span, literals, code, masked, tuple(masks), start))
        return cls(text, tuple(cells), key)

    @cached_property
    def code(self) -> bytes:
        """The code cells as one program. Raises NotebookError where they are no text."""
        parts = (f"{self._openings[at]}{_ended(cell.masked)}" for at, cell in enumerate(self.cells))
        try:
            return "".join(parts).encode()
        except UnicodeEncodeError as error:
            raise NotebookError("not a notebook: half of a surrogate pair in a code cell") from error

    @cached_property
    def unread(self) -> str:
        """The magics and shell lines, which are no part of `code`."""
        lines = [line for cell in self.cells for line in (cell.fixed_start, *(original for _, original in cell.masks))]
        return "\n".join(lines)

    @cached_property
    def _openings(self) -> list[str]:
        """The lines in front of the cells: borders, which open a block where the cell is indented."""
        borders = (_border(self.key, cell.number) for cell in self.cells)
        return [
            f"{_BLOCK_OPENS}{border}" if cell.indented else border if at else ""
            for at, (cell, border) in enumerate(zip(self.cells, borders, strict=True))
        ]

    @cached_property
    def _first_lines(self) -> list[int]:
        """The first line of each cell in `code`."""
        lines, line = [], 1
        for at, cell in enumerate(self.cells):
            line += bool(self._openings[at])
            lines.append(line)
            line += len(_rows(_ended(cell.masked)))
        return lines

    def _index(self, line: int) -> int:
        return max(bisect_right(self._first_lines, line) - 1, 0)

    def cell(self, line: int) -> int:
        """The number of the cell that a line of `code` is in; 1 where there is none."""
        return self.cells[self._index(line)].number if self.cells else 1

    def row(self, line: int) -> int:
        """The number of a line in its cell."""
        return line - self._first_lines[self._index(line)] + 1 if self.cells else line

    def around(self, line: int) -> Span:
        """The first and the last line of the cell that a line is in."""
        if not self.cells:
            return 1, 1
        first = self._first_lines[self._index(line)]
        return first, first + max(len(_rows(self.cells[self._index(line)].masked)), 1) - 1

    def plain(self, text: str) -> str:
        """A part of `code` without masks and borders."""
        if self.key not in text:
            return text
        text = re.sub(rf"(?:{_BLOCK_OPENS})?{self.key}:\d+\n", "\n", text)
        return self._unmasked(text, lambda mark: self._masks.get(mark))[0]

    @cached_property
    def _masks(self) -> dict[str, tuple[str, str]]:
        """Masks and what they stand for, by the mark that each ends with."""
        return {_mark(self.key, mask): (mask, original) for cell in self.cells for mask, original in cell.masks}

    def _unmasked(self, code: str, known: Callable[[str], tuple[str, str] | None]) -> tuple[str, list[str]]:
        """The code with what its masks stand for, and the marks of the masks that were in it."""
        pieces, marks, at = [], [], 0
        for found in re.finditer(rf"{self.key}:\d+!\d+;", code):
            mask, original = known(found[0]) or ("", "")
            start = found.end() - len(mask)
            if mask and start >= at and code.startswith(mask, start):
                pieces += [code[at:start], original]
                marks.append(found[0])
                at = found.end()
        return "".join((*pieces, code[at:])), marks

    def place(self, line: int) -> Span:
        """Where the JSON string of a line stands in the file, without quotes: start and end, in bytes."""
        at = self._index(line)
        spans, lasts = self._strings(at)
        start, end = spans[min(bisect_left(lasts, self.row(line)), len(spans) - 1)]
        return self._bytes(start) + 1, self._bytes(end) - 1

    def _strings(self, index: int) -> tuple[tuple[Span, ...], list[int]]:
        """The JSON strings of a cell, and the last row that each has a part of: no string need end with a line."""
        known: dict[int, tuple[tuple[Span, ...], list[int]]] = self.__dict__.setdefault("_known_strings", {})
        if index not in known:
            cell = self.cells[index]
            rows = list(accumulate(map(len, _rows(cell.code))))
            ends = accumulate(len(_string(self.text, literal)) for literal in cell.literals)
            known[index] = cell.literals or (cell.span,), [end and bisect_left(rows, end) + 1 for end in ends]
        return known[index]

    def _bytes(self, place: int) -> int:
        """Where a place in the text lies in the file."""
        if self.text.isascii():
            return place
        block, rest = divmod(place, _BLOCK)
        return self._blocks[block] + len(self.text[place - rest : place].encode())

    @cached_property
    def _blocks(self) -> list[int]:
        """The bytes before each block of the text."""
        blocks = (self.text[start : start + _BLOCK] for start in range(0, len(self.text), _BLOCK))
        return [0, *accumulate(len(block.encode()) for block in blocks)]

    def written(self, code: str) -> str:
        """The text of the file with that as its code. Raises NotebookError for an edit that is not within cells, or
        in front of a cell magic."""
        first = self._openings[0] if self.cells else ""
        if not code.startswith(first):
            raise NotebookError("an edit stands in front of the first cell")
        start = len(first)
        pieces: list[str] = []
        for at in range(1, len(self.cells)):
            border = self._openings[at]
            end = code.find(border, start)
            if end < 0:
                raise NotebookError("an edit goes over the border of two cells")
            pieces.append(code[start:end])
            start = end + len(border)
        text, at = [], 0
        for cell, piece in zip(self.cells, [*pieces, code[start:]], strict=False):
            if piece != _ended(cell.masked):
                text += [self.text[at : cell.span[0]], self._literal(cell, piece)]
                at = cell.span[1]
        return "".join((*text, self.text[at:]))

    def _literal(self, cell: _Cell, piece: str) -> str:
        """The JSON of a changed cell, as the notebook writes it: unchanged lines as they are, new ones alike."""
        code = piece if cell.masked.endswith("\n") else piece.removesuffix("\n")
        masks = {_mark(self.key, mask): (mask, original) for mask, original in cell.masks}
        code, marks = self._unmasked(code, masks.get)
        if sorted(marks) != sorted(masks):
            raise NotebookError("an edit changes a magic")
        if not code.startswith(cell.fixed_start):
            raise NotebookError("an edit stands in front of a cell magic")
        file, (start, end) = self.text, cell.span
        if file[start] != "[":
            return _dumped(code, file[start:end])
        known = {_string(file, one): file[slice(*one)] for one in cell.literals}
        lines = [known.get(line) or _dumped(line, file[start:end]) for line in _lines(code)]
        if not cell.literals:
            return f"[{', '.join(lines)}]"
        opening = file[start : cell.literals[0][0]]
        closing = file[cell.literals[-1][1] : end]
        between = (
            file[cell.literals[0][1] : cell.literals[1][0]] if len(cell.literals) > 1 else f",{opening[1:] or ' '}"
        )
        return f"{opening}{between.join(lines)}{closing}" if lines else "[]"


def _unused(sources: Iterable[str]) -> str:
    """The start of a comment that stands in none of the texts."""
    runs = {run for code in sources for run in re.findall(r"#%%(\d+)", code)}
    taken = {run[:size] for run in runs for size in range(1, min(len(run), _DIGITS) + 1)}
    return f"#%%{next(number for number in count() if str(number) not in taken)}"


def _mark(key: str, mask: str) -> str:
    """What a mask ends with, and no other one has."""
    return mask[mask.index(key) :]


def _border(key: str, number: int) -> str:
    return f"{key}:{number}\n"


def _ended(code: str) -> str:
    return code if code.endswith("\n") else f"{code}\n"


def _lines(code: str) -> list[str]:
    """The lines as Jupyter stores them, each with its newline."""
    return re.findall(r"[^\n]*\n|[^\n]+", code)


def _rows(code: str) -> list[str]:
    """The lines as Python and an editor count them: a lone carriage return ends one, too."""
    return re.findall(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", code)


def _string(text: str, span: Span) -> str:
    string: str = _decode(text, span[0])[0]
    return string


def _dumped(code: str, like: str) -> str:
    """A JSON string; characters that are not ASCII are escaped if those of the cell are."""
    return json.dumps(code, ensure_ascii=like.isascii() and "\\u" in like)


# The JSON, with places


def _code_cells(text: str) -> Iterator[tuple[int, Span, tuple[Span, ...], str]]:
    """Each code cell of a Python notebook: its number, the place of its source and of the strings there, and the code."""
    try:
        top = _top(text)
        version = _decode(text, top["nbformat"][0])[0] if "nbformat" in top else None
        _check(version, has_cells="cells" in top)
        metadata = _decode(text, top["metadata"][0])[0] if "metadata" in top else {}
        if not _is_python(metadata):
            return
        for number, (start, _) in enumerate(_elements(text, top["cells"][0]), 1):
            cell = _members(text, start)
            if "source" in cell and _decode(text, cell["cell_type"][0])[0] == "code":
                span = cell["source"]
                literals = tuple(_elements(text, span[0])) if text[span[0]] == "[" else (span,)
                yield number, span, literals, "".join(_string(text, one) for one in literals)
    except JSONDecodeError as error:
        raise NotebookError(f"not a notebook: {error.msg}", error.lineno, error.colno) from error
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotebookError("not a notebook: its cells are not as nbformat 4 has them") from error


def _check(version: object, *, has_cells: bool) -> None:
    if version == 4 and has_cells:
        return
    if isinstance(version, float) and version != 4:
        hint = "; `jupyter nbconvert --to notebook --nbformat 4` converts it" if version < 4 else ""
        raise NotebookError(f"a notebook of format {version:g}; only format 4 is known{hint}")
    raise NotebookError(
        "not a notebook: it has no `nbformat`" if version is None else "not a notebook: it has no `cells`"
    )


def _is_python(metadata: dict[str, dict[str, str]]) -> bool:
    """What says nothing is taken for Python."""
    kernel, info = metadata.get("kernelspec") or {}, metadata.get("language_info") or {}
    return (info.get("name") or kernel.get("language") or "python").lower() in ("python", "ipython", "python3")


_decode = json.JSONDecoder(parse_int=float).raw_decode
"""Numbers are of no interest, and integers of many digits an error or slow."""


def _top(text: str) -> dict[str, Span]:
    """Where the values of the one object stand that the text is."""
    start = _past_space(text, 0)
    found = _members(text, start)
    end = _past_space(text, max((end for _, end in found.values()), default=start + 1))
    rest = _past_space(text, end + 1)
    if rest != len(text):
        raise JSONDecodeError("Extra data", text, rest)
    return found


def _members(text: str, at: int) -> dict[str, Span]:
    """Where the values of an object stand."""
    found: dict[str, Span] = {}
    at = _expect(text, at, "{")
    if text[at : at + 1] != "}":
        while True:
            if text[at : at + 1] != '"':
                raise JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
            key, at = _decode(text, at)
            start = _expect(text, _past_space(text, at), ":")
            _, end = _decode(text, start)
            found[key] = (start, end)
            at = _past_space(text, end)
            if text[at : at + 1] == "}":
                break
            at = _expect(text, at, ",")
    return found


def _elements(text: str, at: int) -> Iterator[Span]:
    """Where the elements of an array stand."""
    at = _expect(text, at, "[")
    if text[at : at + 1] == "]":
        return
    while True:
        _, end = _decode(text, at)
        yield at, end
        at = _past_space(text, end)
        if text[at : at + 1] == "]":
            return
        at = _expect(text, at, ",")


def _expect(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise JSONDecodeError(f"Expecting '{sign}'", text, at)
    return _past_space(text, at + 1)


def _past_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None, "it matches nothing too"
    return match.end()


# What is no Python


def _masked(code: str, key: str) -> tuple[str | None, list[tuple[str, str]], str]:
    """The code with masks for what only IPython reads, what they stand for, and a cell magic that must stay first.

    None for a cell in another language.
    """
    if not _LIKE_MAGIC.search(code):
        return code, [], ""
    lines, masks, start = _rows(code), [], ""
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        words = lines[first][2:].split()
        if not words or words[0] not in _PYTHON_MAGICS:
            return None, [], ""
        start = "".join(lines[: first + 1])
    state = _State()
    continued = False
    for at, line in enumerate(lines):
        body = line.rstrip("\r\n")
        stub = "" if continued else _stub(body) if state.at_start else None
        if stub is None:
            state.read(body)
            continue
        # IPython takes away what the first line is indented by.
        indent = "" if at == first else body[: len(body) - len(body.lstrip())]
        mask = f"{stub}{key}!{at};"
        masks.append((mask, body[len(indent) :]))
        lines[at] = f"{indent}{mask}{line[len(body) :]}"
        continued = body.endswith("\\")
    return "".join(lines), masks, start


def _stub(line: str) -> str | None:
    """Python to stand for a line of IPython; None for a line of Python."""
    if (match := _ASSIGNED.match(line)) is not None:
        return f"{match['target'].strip()} None  "
    is_path = line.rstrip().endswith("/")  # `ls /content/`, which is no division
    if _MAGIC.match(line) is None or (_SHELL_WORD_IS_CODE.match(line) and not is_path):
        return None
    return "pass  "


class _State:
    """Whether the next line starts a statement: not inside of a string or of brackets, nor behind a backslash."""

    def __init__(self) -> None:
        self._quote = ""
        self._depth = 0
        self._joined = False

    @property
    def at_start(self) -> bool:
        return not (self._quote or self._depth or self._joined)

    def read(self, line: str) -> None:
        self._joined = False
        at = 0
        while True:
            if self._quote:
                end = re.compile(rf"\\.|{self._quote}").search(line, at)
                while end is not None and end[0] != self._quote:
                    end = re.compile(rf"\\.|{self._quote}").search(line, end.end())
                if end is None:
                    if len(self._quote) == 1 and not line.endswith("\\"):
                        self._quote = ""
                    return
                at, self._quote = end.end(), ""
            sign = _SIGNS.search(line, at)
            if sign is None or line[sign.start()] == "#":
                return
            self._quote = sign["quote"] or ""
            self._depth = max(self._depth + bool(sign["open"]) - bool(sign["close"]), 0)
            self._joined = bool(sign["joined"])
            at = sign.end()
