"""A file's bytes, decoded once, and the way back."""

from __future__ import annotations

import ast
import codecs
import re
import sys
import warnings
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from ..system.cached import cached_property
from ..system.regex import regex
from .normal_form import bring_to_normal_form

if TYPE_CHECKING:
    from .notebook import Book

BOM = b"\xef\xbb\xbf"
NOTEBOOK = ".ipynb"
_LONG = regex(r"0[xob][\da-f_]{2000}", re.IGNORECASE)
_LARGEST = 1 << 2000
"""What stands for larger numbers: Python writes no number of more than 4300 digits, though it reads them in hexadecimal."""
ASYNC = regex(r"([(,](?:\s|#[^\n]*\n)*)async(?=\s*=[^=])")
"""An argument named `async`, behind comments perhaps."""
_ASYNC_AS_LONG = "a5ync"
"""A name as long as `async`, so that all lines and columns stay."""
TOOK_ASYNC = ("copy_", "cuda", "type")
"""The methods of tensors that took it."""
NON_BLOCKING = "non_blocking"
"""What torch calls that argument since 0.4."""
_COUNTED = regex(r" \((?:detected at|on) line \d+\)| on line \d+")
_COOKIE = regex(rb"[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)")
_BLANK = regex(rb"[ \t\f]*(?:#[^\r\n]*)?(?:\r\n?|\n)")
_MAGIC = regex(rb"(?m)^[ \t]*#(?:[ \t]+!|[ \t]*(?:MAGIC[ \t]+)?%)")
"""A magic, a shell line or the border of a cell, as Jupytext and Databricks write them."""
_OF_A_LINE = regex(rb"""(?:\(\?<[!=]|[\w |?*+=:"'()-]|\\[.()\[\]bwdt]|\[(?:[\w .|,"'=:]|\\["'tw\[\]])+\])+""")
"""A pattern of words, dots, brackets, alternatives and some of a few characters, none of which ends a line."""
_DEFINES = regex(rb"def "), regex(rb"class ")
_MARGINS = frozenset(f"{margin}{word}".encode() for margin in ("", "    ", "\t") for word in ("", "async "))
"""What stands before `def` or `class` on the line that a part of a text begins with."""
_NO_PROGRAMS = ("idna", "punycode", "undefined")
"""Encodings that no program is written in; to decode some takes time beyond all measure."""
_OF_NEWER_SYNTAX = frozenset({"future-annotations", "future-fstrings", "future-typing"})
"""Codecs that packages on PyPI register to let an older Python read newer syntax: their files are UTF-8."""
_FEW = 16
"""So many names are looked for in all of a text before its words are gathered."""
_APART = bytes(byte if byte >= 128 or chr(byte).isalnum() or byte == ord("_") else ord(" ") for byte in range(256))
"""Turns what is between names into blanks."""
_SHORT = 0.6
"""The part of the memory that a process may have from which on a MemoryError is one; else the parser's own stack is full."""
_PYTHON_2 = {
    "Missing parentheses in call to 'print'": "Python 2 print statement",
    "Missing parentheses in call to 'exec'": "Python 2 exec statement",
    "multiple exception types must be parenthesized": "Python 2 except clause",
    "leading zeros in decimal integer literals": "Python 2 octal number",
}


T = TypeVar("T")
_Memory = dict[Hashable, dict[bytes, Any]]


class SourceError(Exception):
    """A file that can't be read as Python. Line and column count from 1, the column in characters."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message, line, column)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return self.message


class Searches(Protocol):
    """Looks for something in bytes: a compiled pattern, or a `Words`."""

    def search(self, data: bytes, /) -> object | None:
        """What was found, None where there is nothing."""


class Words:
    """Words of which one is in whatever a pattern matches; to look for them first is many times quicker.

    `sure` are words that the pattern matches wherever they stand.
    """

    def __init__(self, *words: bytes, pattern: re.Pattern[bytes] | None = None, sure: tuple[bytes, ...] = ()) -> None:
        self.words = words
        self.pattern = pattern
        self.sure = sure

    def search(self, data: bytes, /) -> object | None:
        """What the pattern finds, or the first of the words where there is none."""
        for word in self.sure:
            if word in data:
                return word
        for word in self.words:
            if word in data:
                return word if self.pattern is None else self.pattern.search(data)
        return None


@dataclass(frozen=True, eq=False)
class Source:
    """One file: `raw` as on disk, `data` as UTF-8 without BOM and with the newlines as they are.

    All offsets of torchlint are byte offsets in `data`.
    """

    path: str
    raw: bytes
    data: bytes
    encoding: str
    bom: bool

    @classmethod
    def of(cls, path: str, raw: bytes) -> Source:
        """Decode a file by its BOM and coding cookie; a notebook by its name.

        Raises SourceError for bytes that are no text in that encoding, and for what is no notebook.
        """
        if path.endswith(NOTEBOOK):
            return Notebook.read(path, raw)
        bom = raw.startswith(BOM)
        body = raw[len(BOM) :] if bom else raw
        encoding = _declared(body, bom)
        if encoding == "utf-8":
            data = body
            if not data.isascii():
                _decode(data, encoding)
        else:
            data = _encoded(_decode(body, encoding), encoding)
        if (null := data.find(b"\0")) >= 0:
            raise SourceError("null byte", *_position(data, null))
        return cls(path.replace("\\", "/") if sys.platform == "win32" else path, raw, data, encoding, bom)

    @cached_property
    def text(self) -> str:
        """`data` as a string."""
        return self.data.decode()

    @cached_property
    def newline(self) -> str:
        """The newline most lines end with; `\\n` if none has one."""
        windows = self.data.count(b"\r\n")
        counts = {"\n": self.data.count(b"\n") - windows, "\r\n": windows, "\r": self.data.count(b"\r") - windows}
        return max(counts, key=counts.__getitem__)

    @cached_property
    def lines(self) -> list[int]:
        """Where each line starts. As in an editor, a newline at the end starts one more, empty line."""
        pieces = self.data.splitlines(keepends=True)  # of bytes: at \n, \r and \r\n only
        starts = [0, *accumulate(map(len, pieces))]
        if pieces and not pieces[-1].endswith((b"\n", b"\r")):
            del starts[-1]
        return starts

    def holds(self, wanted: Searches | bytes) -> bool:
        """Whether a pattern or a text is anywhere in `data`; each is looked for once."""
        known: dict[Searches | bytes, bool] = self.__dict__.setdefault("_held", {})
        if wanted not in known:
            if isinstance(wanted, bytes):
                known[wanted] = wanted in self.data
            elif "_memory" in self.__dict__ and (pattern := _of_a_line(wanted)) is not None:
                parts = self.in_parts(pattern, lambda data: pattern.search(data) is not None)
                known[wanted] = any(found for _, found in parts)
            else:
                known[wanted] = wanted.search(self.data) is not None
        return known[wanted]

    def mentions(self, name: bytes) -> bool:
        """Whether a name, or a longer one that it is part of, is anywhere in `data`."""
        known = self.__dict__
        words: bytes | None = known.get("words")
        if words is not None:
            return name in words
        asked = known["_asked"] = known.get("_asked", 0) + 1
        return name in (self.words if asked > _FEW else self.data)

    @cached_property
    def words(self) -> bytes:
        """Each word of `data` once: a tenth of it, to look for many names in."""
        return b"\n".join(set(self.data.translate(_APART).split()))

    def fact(self, name: str, find: Callable[[Source], T]) -> T:
        """What the text says, by that name; worked out once."""
        known: dict[str, T] = self.__dict__.setdefault("_facts", {})
        if name not in known:
            known[name] = find(self)
        return known[name]

    def told_lines(self, name: str, find: Callable[[Source], list[int]]) -> list[int]:
        """The lines of which the text says something, by that name."""
        return self.fact(name, find)

    def in_parts(self, name: Hashable, find: Callable[[bytes], T]) -> Iterable[tuple[int, T]]:
        """What the parts of the text say, by that name, each with its offset; the whole text is one, but in an editor.

        `find` looks for what never reaches into the line of a `def` or `class` from above, nor from there upwards.
        """
        memory: _Memory | None = self.__dict__.get("_memory")
        if memory is None:
            return ((0, find(self.data)),)
        before, after = memory.get(name, {}), dict[bytes, Any]()
        found: list[tuple[int, T]] = []
        for start, part in self._parts:
            if part not in after:
                after[part] = before[part] if part in before else find(part)
            found.append((start, after[part]))
        memory[name] = after
        return found

    @property
    def is_remembered(self) -> bool:
        """Whether what the parts of the text say is kept from one text to the next, as in an editor."""
        return "_memory" in self.__dict__

    def remember(self, before: Source | None = None) -> None:
        """Keep what the parts of the text say, and what is known of them by the text before this one."""
        self.__dict__["_memory"] = before.__dict__.get("_memory", {}) if before is not None else {}

    @cached_property
    def _parts(self) -> list[tuple[int, bytes]]:
        data = self.data
        found = {0, len(data)}
        for word in _DEFINES:
            for match in word.finditer(data):
                at = match.start()
                start = data.rfind(b"\n", 0, at) + 1
                # Behind an open bracket there is no definition: it is a text in a text.
                if data[start:at] in _MARGINS and not data.endswith((b"(\n", b"(\r\n"), 0, start):
                    found.add(start)
        return [(start, data[start:end]) for start, end in pairwise(sorted(found))]

    def offset(self, line: int, column: int) -> int:
        """The offset of a position as `ast` gives it: line from 1, column from 0 in bytes."""
        return self.lines[line - 1] + column

    def start_of(self, node: ast.AST) -> int:
        """The offset at which a node of the file's `ast` begins that has a position."""
        return self.lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined, no-any-return]

    def end_of(self, node: ast.AST) -> int:
        """The offset behind a node of the file's `ast` that has a position."""
        return self.lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined, no-any-return]

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of an offset, both from 1, the column in characters."""
        line = bisect_right(self.lines, offset)
        start = self.lines[line - 1]
        if self._ascii:
            return line, offset - start + 1
        return line, len(self.data[start:offset].decode(errors="replace")) + 1

    @cached_property
    def _ascii(self) -> bool:
        return self.data.isascii()

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Where some lines (from 1, both included) begin and end in `data`."""
        return self.lines[first - 1], self.lines[last] if last < len(self.lines) else len(self.data)

    def line_text(self, line: int) -> str:
        """One line (from 1) without its newline."""
        start, end = self.span(line, line)
        return self.data[start:end].decode().rstrip("\r\n")

    def cell(self, line: int) -> int | None:
        """The cell of a notebook (from 1) that a line is in; None in any other file."""
        return None

    def row(self, line: int) -> int:
        """The number of a line for people: in a notebook it counts from the start of its cell."""
        return line

    def around(self, line: int) -> tuple[int, int]:
        """The first and the last line that can be shown together with a line: those of its cell, else of the file."""
        return 1, len(self.lines)

    def plain(self, text: str) -> str:
        """A part of `data` for people: as it is in the file, where a notebook's magics are masked."""
        return text

    @property
    def unread(self) -> str:
        """What a notebook says to IPython alone: its magics and shell lines, which may name anything.

        In a notebook that is kept as a script (`# %%`) they are comments, as may be what a magic of a cell takes: all are told.
        """
        if not self.holds(_MAGIC):
            return ""
        return "\n".join(line for line in self.data.decode().splitlines() if line.lstrip().startswith("#"))

    def encode(self, data: bytes) -> bytes:
        """New `data` as bytes for the disk: in the file's own encoding, with its BOM.

        Raises SourceError for a character that encoding lacks, and if the encoding would change other bytes too.
        """
        if self.encoding == "utf-8":
            return BOM + data if self.bom else data
        try:
            if self.text.encode(self.encoding) != self.raw:
                raise SourceError(f"{self.encoding} does not give the same bytes back", 1, 1)
            return data.decode().encode(self.encoding)
        except UnicodeEncodeError as error:
            place = _position(data, len(error.object[: error.start].encode()))
            raise SourceError(f"{error.object[error.start]!r} is not in {self.encoding}", *place) from error

    def parse(self) -> ast.Module:
        """The file as `ast`, whose lines and columns are those of `data`. Raises SourceError if it can't be parsed."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # invalid escapes and the like are the business of other linters
                return _parsed_as_ever(self.data.decode())  # a string: for bytes a coding cookie would be obeyed again
        except SyntaxError as error:
            message = f"{error.msg} (Python {sys.version_info[0]}.{sys.version_info[1]})"
            for start, old in _PYTHON_2.items():
                if error.msg.startswith(start):
                    message = old
            raise SourceError(message, error.lineno or 1, max(error.offset or 1, 1)) from error
        except ValueError as error:
            raise SourceError(str(error), 1, 1) from error
        except (RecursionError, MemoryError) as error:
            if isinstance(error, MemoryError) and _is_memory_short():
                raise
            raise SourceError("nested too deeply to be parsed", 1, 1) from error

    def check(self) -> None:
        """Raise what `parse` would; where that is nothing, in two thirds of its time, as no tree is made.

        Python finds that this import can't be only when all of the text is parsed.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(f"from __future__ import braces\n{self.text}", self.path, "exec", dont_inherit=True)
        except SyntaxError as error:
            if error.msg == "not a chance":
                return
        except (ValueError, RecursionError, MemoryError):
            pass
        self.parse()


def _parsed_as_ever(text: str) -> ast.Module:
    """The tree of a text, of one that calls torch as before 0.4 too: `x.cuda(async=True)`. Raises what `parsed` does."""
    try:
        return parsed(text)
    except SyntaxError:
        tree = _of_old_torch(text)
        if tree is None:
            raise
        return tree


def _of_old_torch(text: str) -> ast.Module | None:
    """The tree of a text with an argument `async` of torch, under today's name of that; None of others.

    Python has `async` as a keyword since 3.7, so such a text does not parse.
    """
    if ASYNC.search(text) is None or _ASYNC_AS_LONG in text:
        return None
    try:
        tree = parsed(ASYNC.sub(rf"\g<1>{_ASYNC_AS_LONG}", text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for call in ast.walk(tree):
        given = [keyword.arg for keyword in call.keywords] if isinstance(call, ast.Call) else []
        if not isinstance(call, ast.Call) or _ASYNC_AS_LONG not in given:
            continue
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in TOOK_ASYNC or NON_BLOCKING in given:
            return None
        call.keywords[given.index(_ASYNC_AS_LONG)].arg = NON_BLOCKING
    return tree


def parsed(text: str) -> ast.Module:
    """The tree of a text in normal form, where no number has more digits than Python agrees to write out. Raises what `ast.parse` does."""
    tree = ast.parse(text)
    bring_to_normal_form(tree, text)
    if _LONG.search(text) is not None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                node.value = min(node.value, _LARGEST)
    return tree


@dataclass(frozen=True, eq=False)
class Notebook(Source):
    """A notebook; `data` holds its code cells, and comments at their borders."""

    book: Book

    @classmethod
    def read(cls, path: str, raw: bytes) -> Notebook:
        """Raises SourceError for what is no notebook of a known version, with its place in the file."""
        from .notebook import Book, NotebookError

        bom = raw.startswith(BOM)
        try:
            book = Book.read(raw[len(BOM) if bom else 0 :].decode())
            return cls(path, raw, book.code, "utf-8", bom, book)
        except UnicodeDecodeError as error:
            raise SourceError(f"not a notebook: not UTF-8 ({error.reason})", 1, 1) from error
        except NotebookError as error:
            raise SourceError(str(error), error.line, error.column) from error

    def cell(self, line: int) -> int | None:
        return self.book.cell(line)

    def row(self, line: int) -> int:
        return self.book.row(line)

    def around(self, line: int) -> tuple[int, int]:
        return self.book.around(line)

    def plain(self, text: str) -> str:
        return self.book.plain(text)

    @property
    def unread(self) -> str:
        return self.book.unread

    def line_text(self, line: int) -> str:
        text = super().line_text(line)
        return self.plain(f"{text}\n").rstrip("\n") if self.book.key in text else text

    def place(self, line: int) -> tuple[int, int]:
        """Where the JSON string of a line stands in `raw`, without quotes: start and end."""
        start, end = self.book.place(line)
        shift = len(BOM) if self.bom else 0
        return start + shift, end + shift

    def encode(self, data: bytes) -> bytes:
        from .notebook import NotebookError

        try:
            changed = self.book.written(data.decode()).encode()
        except NotebookError as error:
            raise SourceError(str(error), 1, 1) from error
        return BOM + changed if self.bom else changed

    def parse(self) -> ast.Module:
        try:
            return super().parse()
        except SourceError as error:  # Python counts through all cells
            raise SourceError(_COUNTED.sub("", error.message), error.line, error.column) from error


def _of_a_line(wanted: Searches) -> re.Pattern[bytes] | None:
    """A pattern that for certain looks at no more than one line for each match; None for what else there is."""
    written = getattr(wanted, "pattern", None)
    is_one = isinstance(written, bytes) and _OF_A_LINE.fullmatch(written) is not None
    return cast("re.Pattern[bytes]", wanted) if is_one else None


def _declared(body: bytes, bom: bool) -> str:
    """The encoding by PEP 263: a cookie in the first line, or in the second after a blank or comment line."""
    cookie = _COOKIE.match(body)
    if cookie is None and (first := _BLANK.match(body)):
        cookie = _COOKIE.match(body, first.end())
    if cookie is None:
        return "utf-8"
    name = cookie[1].decode()
    known = name.lower().replace("_", "-")
    if known == "utf8" or (known + "-").startswith("utf-8-") or known in _OF_NEWER_SYNTAX:
        return "utf-8"
    if bom:
        raise SourceError(
            f"the coding cookie says {name}, the byte order mark UTF-8", *_position(body, cookie.start(1))
        )
    try:
        if codecs.lookup(name).name in _NO_PROGRAMS:
            raise LookupError
        "".encode(name)
    except (LookupError, ValueError) as error:
        raise SourceError(f"unknown encoding: {name}", *_position(body, cookie.start(1))) from error
    return name


def _decode(body: bytes, encoding: str) -> str:
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as error:
        byte = f"byte 0x{body[error.start]:02x}"
        raise SourceError(f"not {encoding.upper()}: {byte} ({error.reason})", *_position(body, error.start)) from error
    except Exception as error:
        raise SourceError(f"not {encoding.upper()}: {error}", 1, 1) from error


def _encoded(text: str, encoding: str) -> bytes:
    """The text as UTF-8, which has no halves of characters as UTF-7 may have."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        before = text[: error.start].encode()
        raise SourceError(
            f"not {encoding.upper()}: half of a surrogate pair", *_position(before, len(before))
        ) from error


def _is_memory_short() -> bool:
    """Whether this process has come near to a limit of its own; where it has none, the system ends it without a word."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return False
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            peak = next((line.split()[1] for line in file if line.startswith("VmPeak:")), "0")
    except (ImportError, OSError):
        return False
    return int(peak) * 1024 > limit * _SHORT


def _position(body: bytes, offset: int) -> tuple[int, int]:
    """Line and column of an offset in bytes that need not be decodable."""
    lines = (body[:offset] + b".").splitlines()
    return len(lines), len(lines[-1].decode(errors="replace"))
