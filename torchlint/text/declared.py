"""What a file imports and defines, as far as its text tells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from sys import intern

from ..system.regex import regex
from ..system.stamp import as_bytes
from .source import Source

# Up to the end of the line, beyond it behind a backslash and in parentheses.
_IMPORT = regex(
    rb"(?:^|[:;])[ \t]*(?:from|import)[ \t\\](?:[^\n(\\]|\\\r?\n)*(?:\((?:[^)#]|#[^\n]*)*\)?)?", re.MULTILINE
)
_IMPORT_HEAD = regex(rb"(?:^|[:;])[ \t]*(?:from|import)[ \t\\]", re.MULTILINE)
_DEF = regex(rb"def[ \t]+(\w+)")
_CLASS = regex(rb"class[ \t]+(\w+)[ \t]*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_CLASS_NAME = regex(rb"\bclass[ \t]+(\w+)")
_BEHIND = regex(rb"\.([\w\x80-\xff]+)\(")
_GIVEN = rb"(?:[\"']|[ \t]*:[ \t]*[\w.|\[\], ]+?)?[ \t]*[=:][ \t]*(?:\w+\.)*(\w+)\("
_MADE = regex(rb"\b(\w+)" + _GIVEN)
_TOGETHER = regex(rb"[ \t]*[\w.]+(?:[ \t]*,[ \t]*[\w.]+)+[ \t]+=[ \t]+(?:\w+\.)*\w+\(")
"""A line that gives several names something at once: `net, ema = Model(), Average()`; not the rest of a call, `x, net=Model(), y)`."""
_STRINGS = regex(rb"\"[^\"\n]*\"|'[^'\n]*'")
_BETWEEN = regex(rb"[][(){},]")
_CALL = regex(rb"[ \t]*(?:\w+\.)*(\w+)\(")
_TO_CALL = regex(rb"[=:][ \t]*(?:\w+\.)*\w+\(.*")
_AS = regex(rb"as(?<=[\s\\]as)[\s\\]")
_RENAME = regex(rb"\b(\w+)[\s\\]+as[\s\\]+(\w+)")
WORD = regex(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")


def import_spans(data: bytes) -> list[tuple[int, int]]:
    """Where the import statements of a text begin and end."""
    return [found.span() for found in _IMPORT.finditer(data)]


def import_text(source: Source) -> bytes:
    """The text of a file's import statements, on one line."""
    data = source.data
    found = []
    place, end = data.find(b"import"), 0
    while place >= 0:
        # The statement begins on the line of the word, or above where that is a continued one.
        start = data.rfind(b"\n", 0, place) + 1
        continued = data.endswith((b"\\\n", b"\\\r\n"), 0, start)
        before = data[start:place].lstrip(b" \t")
        is_statement = before.startswith(b"from ") or (not before and data.startswith(b"import ", place))
        if is_statement and start >= end and not continued:
            stop = data.find(b"\n", place)
            line = data[start:stop] if stop >= 0 else data[start:]
            if b"(" not in line and b"\\" not in line:  # all of a statement, as most are
                found.append(line)
                end = start + len(line)
                place = data.find(b"import", end)
                continue
        while continued:
            start = data.rfind(b"\n", 0, start - 1) + 1
            continued = data.endswith((b"\\\n", b"\\\r\n"), 0, start)
        # A word in prose or in a name has no such head in front.
        head = _IMPORT_HEAD.search(data, max(start, end), place + len(b"import "))
        end = place + 1
        statement = _IMPORT.match(data, head.start()) if head is not None else None
        if statement is not None:
            end = max(end, statement.end())
            found.append(statement[0])
        place = data.find(b"import", end)
    return b" ".join(b" ".join(found).split())


def packages_of(imports: bytes, word: bytes) -> set[str]:
    """What the import statements of a file take a name from, as their text has it: `parts` of `from parts import used`."""
    taken = re.finditer(rb"\bfrom ([\w.]+) import (?:(?!\bfrom\b|\bimport\b).)*?\b%s\b" % re.escape(word), imports)
    return {found[1].decode("latin-1").lstrip(".") for found in taken}


def renamed_in(source: Source) -> list[tuple[str, str]]:
    """What the imports of a file give another name, with that name."""
    text = source.fact("imports", import_text)
    pairs = _RENAME.findall(text) if _AS.search(text) is not None else ()
    return [(name.decode(), alias.decode()) for name, alias in pairs if name != alias]


def classes_in(source: Source) -> list[tuple[str, list[str]]]:
    """The classes of a file that have bases, with the words of these."""
    data = source.data
    found = []
    place = data.find(b"class")
    while place >= 0:
        start, end = place, place + 1
        while start and data[start - 1] in b" \t":
            start -= 1
        if (start == 0 or data[start - 1 : start] == b"\n") and (head := _CLASS.match(data, place)):
            found.append((head[1].decode(), sorted({word.decode(errors="replace") for word in WORD.findall(head[2])})))
            end = head.end()
        place = data.find(b"class", end)
    return found


def class_names(source: Source) -> list[str]:
    """The names of the classes of a file."""
    return [name.decode(errors="replace") for name in _CLASS_NAME.findall(source.data)]


def functions_in(source: Source) -> list[str]:
    """The names of the functions that a file defines."""
    return sorted({name.decode(errors="replace") for name in source.fact("defined", defined_in)})


def defined_in(source: Source) -> frozenset[bytes]:
    return frozenset(_DEF.findall(source.data))


def called_in(source: Source) -> list[str]:
    """The names that a file calls behind a dot: `model.fit(...)`."""
    # Most names are called in many files.
    return sorted(intern(name.decode(errors="replace")) for name in set(_BEHIND.findall(source.data)))


def made_as_pattern(called: bytes) -> bytes:
    """Where a name may be given what a call gives: `net = Model()`, `net: Model = Model()`, `run(net=Model())`, `{"net": Model()}`, `net, ema = Model(), Average()`.

    It begins with the name, which is many times quicker to look for.
    """
    return rb"%s(?<!\w%s)(?:[ \t]*,[ \t]*[\w.]+)*" % (called, called) + _GIVEN


def made_for(source: Source, called: str) -> list[str]:
    """What a file calls for what it gives a name: `Model` of `net = models.Model()`; looked for in the lines that give it something."""
    data, word = source.data, as_bytes(called)
    lines = {_line_of(data, one) for one in re.finditer(made_as_pattern(word), data)}
    pairs = map(bytes.split, _made(b"\n".join(sorted(lines))))
    return sorted(made.decode(errors="replace") for name, made in pairs if name == word)


def made_in(source: Source) -> list[str]:
    """The names that are given what a call gives, each with what is called: `net Model` for `net = models.Model()`."""
    return _texts(source.in_parts("made", _made))


def _made(data: bytes) -> frozenset[bytes]:
    """`net Model` for each `net = models.Model()`; looked for in the lines with such a sign alone, which are few."""
    lines = [data[data.rfind(b"\n", 0, one.start()) + 1 : one.end()] for one in _TO_CALL.finditer(data)]
    together = {line: pairs for line in lines if _TOGETHER.match(line) and (pairs := _one_by_one(line))}
    plain = b"\n".join(line for line in lines if line not in together)
    return frozenset(map(b" ".join, _MADE.findall(plain))).union(*together.values())


def _line_of(data: bytes, found: re.Match[bytes]) -> bytes:
    """The line of what was found, which is not longer than that."""
    end = data.find(b"\n", found.end())
    return data[data.rfind(b"\n", 0, found.start()) + 1 : end if end >= 0 else len(data)]


def _one_by_one(line: bytes) -> list[bytes]:
    """`net Model` and `ema Average` for `net, ema = Model(), Average()`; nothing where the line is not one value for each name."""
    targets, _, given = _STRINGS.sub(b"", line).partition(b"=")
    named, values = targets.split(b","), list(_apart(given.partition(b"#")[0]))
    pairs = zip(named, values, strict=True) if len(named) == len(values) else ()
    return [
        b" ".join((name.strip().rpartition(b".")[2], made[1])) for name, value in pairs if (made := _CALL.match(value))
    ]


def _apart(values: bytes) -> Iterator[bytes]:
    """What commas keep apart that stand in no brackets."""
    start = depth = 0
    for found in _BETWEEN.finditer(values):
        sign = found[0]
        depth += (sign in b"([{") - (sign in b")]}")
        if sign == b"," and not depth:
            yield values[start : found.start()]
            start = found.end()
    if not depth:
        yield values[start:]


def _texts(parts: Iterable[tuple[int, frozenset[bytes]]]) -> list[str]:
    return sorted(text.decode(errors="replace") for text in frozenset[bytes]().union(*(found for _, found in parts)))
