"""What files say by themselves, by path, as a cache keeps it: a line of text for each, which is read when somebody asks for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Told = Mapping[str, Mapping[str, str]]
"""What files say by themselves as it is kept, by what that is and by path."""
_LIST = "= "
"""What a list of words begins with; a blank follows on each."""
_OTHER = "["
"""What a list of anything else begins with."""
_FEW = 16
"""So many words are searched for in the lines of all files before these are read."""


Column = tuple[Sequence[int] | None, str]
"""What files say of one kind: the numbers of those of which that is known, None where it is of all, and a line for each."""


class Form(NamedTuple):
    """How one kind of what files say is written as a line of text, and read again."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]


class ByFile:
    """What files say by themselves of one kind."""

    __slots__ = ("_form", "_lines", "_new", "_searched", "_values")

    def __init__(self, form: Form, lines: Mapping[str, str] | None = None) -> None:
        self._form = form
        self._lines = dict(lines or {})
        self._values: dict[str, Any] = {}
        self._new = set[str]()
        """The files of which something was found out here since `news` was asked for."""
        self._searched = 0
        """How many words were searched for in all lines."""

    def __contains__(self, path: str) -> bool:
        return path in self._values or path in self._lines

    def __getitem__(self, path: str) -> Any:
        values = self._values
        if path not in values:
            values[path] = self._form.read(self._lines[path])
        return values[path]

    def __setitem__(self, path: str, value: Any) -> None:
        """Take what a file says of which nothing is known."""
        self._values[path] = value
        self._new.add(path)

    def news(self) -> dict[str, str]:
        """The lines of the files of which something was found out since this was asked last."""
        new, self._new = self._new, set()
        return {path: line for path in new if (line := self.line(path)) is not None}

    def hear(self, lines: Mapping[str, str]) -> None:
        """Take the lines that another process has found out; what is known stays."""
        self._lines.update((path, line) for path, line in lines.items() if path not in self)

    def pop(self, path: str) -> Any:
        """Forget what a file says; what that was, None where it is not known."""
        known = path in self
        value = self[path] if known else None
        self._values.pop(path, None)
        self._lines.pop(path, None)
        return value

    def holding(self, text: str, paths: Iterable[str]) -> list[str]:
        """The files whose lines hold a text, and those of which that can't be said."""
        lines = self._lines
        known = ((path, lines[path] if path in lines else self.line(path) or "") for path in paths)
        return [path for path, line in known if text in line or line.startswith(_OTHER)]

    def is_searched(self, among: int) -> bool:
        """Whether a word is quicker searched for in the lines of so many files than all lines are read."""
        self._searched += 1
        return self._searched <= _FEW and 2 * len(self._lines) > among

    def lines(self) -> dict[str, str]:
        """What files say as it is kept."""
        write, values = self._form.write, self._values
        return {**{path: write(values[path]) for path in values if path not in self._lines}, **self._lines}

    def line(self, path: str) -> str | None:
        """What a file says as it is kept; None where it is not known."""
        if path not in self._lines and path in self._values:
            self._lines[path] = self._form.write(self._values[path])
        return self._lines.get(path)


def columns_of(told: Told, paths: Sequence[str]) -> dict[str, Column]:
    """What some of these files say, in their order."""
    number_of = {path: n for n, path in enumerate(paths)}

    def column(lines: Mapping[str, str]) -> Column:
        known = sorted(number_of[path] for path in lines if path in number_of)
        return None if len(known) == len(paths) else known, "\n".join([lines[paths[n]] for n in known])

    return {name: column(lines) for name, lines in told.items()}


def lines_of(column: Column, paths: Sequence[str]) -> dict[str, str]:
    """The same by path. Raises ValueError and IndexError where the column is of other files."""
    numbers, text = column
    known = paths if numbers is None else [paths[n] for n in numbers]
    return dict(zip(known, text.split("\n") if known else (), strict=True))


def _write(value: Any) -> str:
    if value is True or value is False:
        return "1" if value else "0"
    if isinstance(value, list) and value and isinstance(value[0], str):
        text = " ".join(value)
        if text.count(" ") == len(value) - 1 and "\n" not in text:
            return f"{_LIST}{text} "
    text = _ENCODER.encode(value)
    return text if "'" in text else text.replace('"', "'")  # what holds it need not escape those


def _read(text: str) -> Any:
    if text in ("0", "1"):
        return text == "1"
    if text.startswith(_LIST):
        return text[len(_LIST) : -1].split(" ")
    return json.loads(text if '"' in text else text.replace("'", '"'))


_ENCODER = json.JSONEncoder(separators=(",", ":"))
FACT = Form(_write, _read)
"""Plain data: whether something is so, or lists of words."""
TEXT = Form(lambda text: text.decode("latin-1"), lambda line: line.encode("latin-1"))
"""Bytes of one line."""
WORDS = Form(
    lambda words: b" ".join(sorted(words)).decode("latin-1"), lambda line: frozenset(line.encode("latin-1").split())
)
"""A set of words."""
