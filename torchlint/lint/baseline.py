"""Findings told apart by what they say of the code, not by where it stands: old ones from new ones.

A fingerprint is made of the syntax tree, so it stays when lines move and when black rewrites the file.
"""

from __future__ import annotations

import ast
import json
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ..settings.home import project_root
from ..system import atomic
from ..system.failure import Failure
from ..system.stamp import contents
from ..text.finding import Finding
from ..text.source import Source, SourceError
from .run import Result

FILE = ".torchlint-baseline.json"
VERSION = 1
_ANEW = "delete the file and run `torchlint baseline`"
UNREADABLE = frozenset(("TL001",))
"""What no baseline hides: a file that is not looked at has no findings to compare."""
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_LAYOUT = ("ctx", "kind", "type_comment", "type_ignores")
"""Fields of the tree that say nothing of the program."""
_LONGEST = 100

Point = tuple[int, int]
"""A line from 1 and a column from 0, in bytes."""


@dataclass(frozen=True, slots=True, order=True)
class Fingerprint:
    """Who a finding is. `statement` and `context` (what stands before, behind and around it) are hashes.

    `shown` is the line for people, as it was; it takes no part in comparing.
    """

    path: str
    code: str
    scope: str
    statement: str
    context: str
    shown: str = field(compare=False)

    @property
    def digest(self) -> str:
        """A short name for it that stays while the lines around it change."""
        return _hash(self.path, self.code, self.scope, self.statement)


@dataclass(frozen=True)
class Comparison:
    """Findings held against others: what is new, by place in the order they were given, and what is gone."""

    new: tuple[int, ...]
    gone: tuple[Fingerprint, ...]


Key = Callable[[Fingerprint], Hashable]
_ALIKE: tuple[Key, ...] = (
    lambda one: one,
    lambda one: (one.path, one.code, one.scope, one.statement),  # the code around it was edited
    lambda one: (one.code, one.statement, one.context),  # it was moved or its function renamed
)
"""Ways to be the same finding, the surest first."""


def compare(findings: Sequence[Fingerprint], known: Iterable[Fingerprint]) -> Comparison:
    """Pair findings with known ones, each with one: of three alike where two are known, one is new."""
    left = Counter(known)
    new = dict(enumerate(findings))
    for key in _ALIKE:
        pool: dict[Hashable, list[Fingerprint]] = {}
        for one in left.elements():
            pool.setdefault(key(one), []).append(one)
        for place, finding in list(new.items()):
            if alike := pool.get(key(finding)):
                left[alike.pop(0)] -= 1
                del new[place]
    return Comparison(tuple(new), tuple(sorted(left.elements())))


def fingerprints(result: Result, root: Path) -> list[Fingerprint]:
    """The fingerprint of each finding, in their order, paths relative to `root`."""
    trees: dict[str, _Tree] = {}
    found = []
    for finding in result.findings:
        if finding.path not in trees:
            trees[finding.path] = _Tree(result.source(finding.path))
        path = relative(finding.path, root)
        found.append(trees[finding.path].fingerprint(finding, path))
    return found


def relative(path: str | Path, root: Path) -> str:
    """A path as the file has it: below the directory the file is in, with forward slashes."""
    return os.path.relpath(os.path.realpath(path), os.path.realpath(root)).replace(os.sep, "/")


class _Tree:
    """The statements of a file, to be asked for those at a place."""

    def __init__(self, source: Source | None) -> None:
        self.source = source
        self.module = ast.Module([], [])
        self._texts: dict[ast.AST | None, str] = {}
        self._ranges: dict[ast.AST, dict[tuple[Point, Point], ast.AST]] = {}
        if source is not None:
            try:
                self.module = source.parse()
            except SourceError:
                self.source = None

    def fingerprint(self, finding: Finding, path: str) -> Fingerprint:
        source = self.source
        if source is None:
            return Fingerprint(path, finding.code, "", _hash(finding.message), "", "")
        start, end = self._point(finding.line, finding.column), self._point(finding.end_line, finding.end_column)
        shown = " ".join(source.line_text(finding.line).split())
        place = _find(self.module, start)
        if place.statement is None:
            text = source.data[source.offset(*start) : source.offset(*end)]
            statement = _hash(" ".join(text.decode(errors="replace").split()) or shown)
        else:
            found = self._at(place.statement, start, end)
            statement = _hash(self._canonical(place.statement), _canonical(found))
        context = _hash(*map(self._canonical, place.around))
        return Fingerprint(path, finding.code, ".".join(place.scope), statement, context, shown[:_LONGEST])

    def _canonical(self, statement: ast.AST | None) -> str:
        """The same for a statement, which many findings may be in."""
        if statement not in self._texts:
            self._texts[statement] = _canonical(statement)
        return self._texts[statement]

    def _at(self, statement: ast.AST, start: Point, end: Point) -> ast.AST | None:
        """The expression of a statement with just that range."""
        if statement not in self._ranges:
            ranges = self._ranges[statement] = {}
            for node in ast.walk(statement):
                if hasattr(node, "col_offset"):
                    ranges.setdefault((_start(node), _end(node)), node)
        return self._ranges[statement].get((start, end))

    def _point(self, line: int, column: int) -> Point:
        assert self.source is not None
        if line > len(self.source.lines):
            return line, 0
        return line, len(self.source.line_text(line)[: column - 1].encode())


@dataclass(frozen=True, slots=True)
class _Place:
    statement: ast.AST | None
    around: tuple[ast.AST | None, ...]
    scope: tuple[str, ...]


def _find(module: ast.Module, point: Point) -> _Place:
    """The innermost statement that holds a place, its neighbours and the head of the block they are in."""
    place = _Place(None, (), ())
    inside: ast.AST = module
    scope: tuple[str, ...] = ()
    while True:
        blocks = [block for name in _BLOCKS if isinstance(block := getattr(inside, name, None), list)]
        found = next(((block, at) for block in blocks if (at := _index(block, point)) is not None), None)
        if found is None:
            return place
        block, at = found
        node = block[at]
        around = (block[at - 1] if at else None, block[at + 1] if at + 1 < len(block) else None)
        place = _Place(node, (*around, None if inside is module else inside), scope)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope = (*scope, node.name)
        inside = node


def _index(block: list[ast.AST], point: Point) -> int | None:
    """Which part of a block, whose parts stand in their order, holds a place."""
    at = bisect_right(block, point, key=_start) - 1
    return at if at >= 0 and point < _end(block[at]) else None


def _start(node: Any) -> Point:
    if isinstance(node, ast.match_case):
        return _start(node.pattern)
    first = min(getattr(node, "decorator_list", ()), key=lambda one: one.lineno, default=None)
    return (first.lineno, first.col_offset - 1) if first is not None else (node.lineno, node.col_offset)


def _end(node: Any) -> Point:
    if isinstance(node, ast.match_case):
        return _end(node.body[-1])
    return node.end_lineno, node.end_col_offset


def _canonical(root: ast.AST | None) -> str:
    """A statement's program text in a form that no Python version and no formatter changes; of a block, its head."""
    parts: list[str] = []
    stack: list[object] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            parts.append(f"[{len(node)}")
            stack += reversed(node)
        elif not isinstance(node, ast.AST):
            parts.append(repr(node))
        else:
            parts.append(type(node).__name__)
            fields = [(name, value) for name, value in ast.iter_fields(node) if not _skipped(name, value)]
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                fields = [("text", " ".join(node.value.value.split()))]  # a docstring, which formatters indent
            for name, value in reversed(fields):
                stack += (value, f"{name}=")
    return "\n".join(parts)


def _skipped(name: str, value: object) -> bool:
    return value is None or value == [] or name in _LAYOUT or (name in _BLOCKS and isinstance(value, list))


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]


class Baseline:
    """A baseline at work: hides what it knows. `hidden` and `gone` are those of the last result it was shown.

    What it says of files that are not linted now or can't be, and of rules that are off, is left alone.
    """

    def __init__(self, path: Path, linted: Iterable[str | Path], codes: Callable[[Path], Container[str]]) -> None:
        """`codes` gives the rules that are on in a file."""
        self.root = path.parent
        self.hidden = 0
        self.path = path
        self._missing: tuple[Fingerprint, ...] = ()
        self._result = Result()
        asked = {relative(one, self.root) for one in linted}
        self._known = [
            one
            for one in read(path)
            if (one.path in asked or self._deleted(one)) and one.code in codes(self.root / one.path)
        ]

    def __call__(self, result: Result) -> Result:
        comparison = compare(fingerprints(result, self.root), self._known)
        new = [result.findings[place] for place in comparison.new]
        self.hidden = len(result.findings) - len(new)
        self._missing, self._result = comparison.gone, result
        return replace(result, findings=tuple(new))

    @property
    def gone(self) -> tuple[Fingerprint, ...]:
        """What the last result lacks, and would have if it were still there."""
        unseen = frozenset(_unseen(self._missing, self._result, self.root))
        return tuple(one for one in self._missing if one not in unseen)

    def _deleted(self, one: Fingerprint) -> bool:
        return not (self.root / one.path).exists()


class Update(NamedTuple):
    """How many findings were written into a baseline, and how many entries stayed though nothing like them was found."""

    found: int
    unseen: int
    """Of files that could not be read, parsed or looked into to the end."""
    off: int
    """Of rules that are off."""


def update(path: Path, result: Result, linted: Iterable[str | Path], codes: Callable[[Path], Container[str]]) -> Update:
    """Write the findings into a baseline, in place of what it had of the linted files and of deleted ones.

    `codes` gives the rules that are on in a file.
    """
    root = path.parent
    asked = {relative(one, root) for one in linted}
    found = [one for one in fingerprints(result, root) if one.code not in UNREADABLE]
    before = [one for one in read(path) if (root / one.path).exists()] if path.exists() else []
    others = [one for one in before if one.path not in asked]
    off = [one for one in before if one.path in asked and one.code not in codes(root / one.path)]
    missing = Counter(before) - Counter(others) - Counter(off) - Counter(found)
    unseen = _unseen(missing.elements(), result, root)
    write(path, [*others, *off, *unseen, *found])
    return Update(len(found), len(unseen), len(off))


def _unseen(entries: Iterable[Fingerprint], result: Result, root: Path) -> list[Fingerprint]:
    """Those whose files a run could not read, parse or look into to the end."""
    failed = {relative(error.path, root) for error in result.errors}
    readable = cache(_is_readable)
    return [one for one in entries if one.path in failed or not readable(root / one.path)]


def _is_readable(path: Path) -> bool:
    """Whether a file, if it is there, can be read and parsed."""
    try:
        Source.of(str(path), contents(str(path))).check()
    except FileNotFoundError:
        return True
    except (OSError, SourceError):
        return False
    return True


# The file


def write(path: Path, known: Iterable[Fingerprint]) -> None:
    """Save a baseline: sorted, a line an entry, so that two branches merge and a person can read what changes."""
    entries = sorted(Counter(known).items())
    lines = [json.dumps(_entry(one, count), ensure_ascii=False) for one, count in entries]
    body = "\n" + ",\n".join(f"    {line}" for line in lines) + "\n  " if lines else ""
    if path.is_symlink() and not path.exists():
        raise Failure(f"{path}: this link leads to no file; delete it, or write the baseline elsewhere")
    text = f'{{\n  "version": {VERSION},\n  "findings": [{body}]\n}}\n'
    try:
        atomic.write(str(path), text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror or error}") from None


def _entry(one: Fingerprint, count: int) -> dict[str, object]:
    entry: dict[str, object] = {"path": one.path, "code": one.code, "scope": one.scope, "line": one.shown}
    entry |= {"statement": one.statement, "context": one.context}
    return entry | {"count": count} if count > 1 else entry


def read(path: Path) -> list[Fingerprint]:
    """The entries of a baseline, each as often as it counts. Raises Failure for a file that is none, or of another version."""
    try:
        text = contents(str(path)).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        raise Failure(f"{path}: there is no baseline; `torchlint baseline` writes one") from None
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    try:
        data = json.loads(text)
    except RecursionError:
        raise Failure(f"{path}: not a baseline: nested too deeply") from None
    except ValueError as error:
        if "\n<<<<<<<" in f"\n{text}":
            line = f"\n{text}".partition("\n<<<<<<<")[0].count("\n") + 1
            raise Failure(f"{path}:{line}: a merge conflict; keep the lines of both sides, or {_ANEW}") from None
        raise Failure(f"{path}: not a baseline: {error}") from None
    version = data.get("version") if isinstance(data, dict) else None
    if not isinstance(version, int):
        raise Failure(f"{path}: not a baseline: it has no version")
    if version != VERSION:
        raise Failure(f"{path}: a baseline of version {version}; this torchlint reads version {VERSION}: {_ANEW}")
    entries = data.get("findings", [])
    if not isinstance(entries, list):
        raise Failure(f"{path}: `findings` is no list")
    return [one for number, entry in enumerate(entries, 1) for one in _entries(path, number, entry)]


def _entries(path: Path, number: int, entry: Mapping[str, Any]) -> list[Fingerprint]:
    try:
        words = [entry[key] for key in ("path", "code", "scope", "statement", "context", "line")]
        count = entry.get("count", 1)
    except (KeyError, TypeError, AttributeError):
        raise Failure(f"{path}: entry {number} of `findings` is incomplete") from None
    if not all(isinstance(word, str) for word in words) or not isinstance(count, int) or count < 1:
        raise Failure(f"{path}: entry {number} of `findings` can't be understood")
    return [Fingerprint(*words)] * count


def locate(name: str | None, start: Path) -> Path:
    """The file that was named, else the closest one at or above the directory, else where it would be in its project."""
    if name is not None:
        return Path(name).absolute()
    closest = (d / FILE for d in (start, *start.parents) if (d / FILE).is_file())
    return next(closest, (project_root(start) or start) / FILE)
