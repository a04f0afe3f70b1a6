"""Fixes into files: applied whole or not at all, until nothing is left, and never at the price of a broken file."""

from __future__ import annotations

import ast
import os
import re
import warnings
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Literal, Protocol, TypeVar

from ..system import atomic
from ..text.finding import Edit, Finding, Fix
from ..text.source import Source, SourceError

Level = Literal["safe", "unsafe"]

_ESCAPES = {'"': b'\\"', "\\": b"\\\\", "\t": b"\\t", "\n": b"\\n", "\r": b"\\r"}
"""How a name in a diff holds them."""
PASSES = 20
"""How often a file is linted anew before its fixes count as undoing each other."""


class ChangedOnDisk(Exception):
    """The file is not what it was when it was read; nothing was written."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} has changed since it was read; nothing was written"


class View(Protocol):
    """What a look at the project tells (a Result of `lint`, which lies above)."""

    @property
    def findings(self) -> Sequence[Finding]: ...

    def source(self, path: str) -> Source | None: ...


V = TypeVar("V", bound=View)


@dataclass(frozen=True)
class Fixed(Generic[V]):
    """Files after fixing; they would be written as `after[path].raw`."""

    view: V
    """The last look: what is left."""
    before: Mapping[str, Source]
    after: Mapping[str, Source]
    applied: tuple[Finding, ...]
    failed: tuple[Finding, ...]
    """For each file and rule whose fixes broke the file, could not be encoded or never came to rest, its first finding:
    none of these fixes is in `after`."""


def applicable(fix: Fix, level: Level) -> bool:
    """Are fixes of this kind applied? A suggestion never is."""
    return fix.applicability == "safe" or (fix.applicability == "unsafe" and level == "unsafe")


def apply(source: Source, fixes: Sequence[Fix]) -> tuple[bytes, list[Fix]]:
    """The new `data`, and the fixes that are in it.

    Each fix is applied whole or not at all; in order of place, one that overlaps an earlier one waits for the next pass.
    Inserting the same line at the same place twice (an import) is one insertion.
    """
    data = source.data
    edits: list[Edit] = []  # sorted, as no two of them overlap
    done: list[Fix] = []
    for fix in sorted(fixes, key=lambda fix: min(fix.edits, default=Edit(0, 0, b""))):
        known = [edit for edit in fix.edits if _in(edit, edits)]
        shared = known if len(known) == len(fix.edits) else [edit for edit in known if _is_line(data, edit)]
        new = [edit for edit in fix.edits if edit not in shared]
        if not any(_clash(edit, old) for edit in new for old in _neighbours(edit, edits)):
            for edit in new:
                insort(edits, edit)
            done.append(fix)
    return _edited(data, edits), done


def _in(edit: Edit, edits: list[Edit]) -> bool:
    at = bisect_left(edits, edit)
    return at < len(edits) and edits[at] == edit


def _neighbours(edit: Edit, edits: list[Edit]) -> list[Edit]:
    """The edits before and after the place of an edit; if it overlaps any, then one of these."""
    at = bisect_left(edits, edit)
    return edits[max(at - 1, 0) : at + 1]


def _clash(one: Edit, other: Edit) -> bool:
    """Do two edits overlap, or insert at one place? Next to each other they may stand."""
    if one.start == one.end and other.start == other.end:
        return one.start == other.start
    return one.start < other.end and other.start < one.end


def _is_line(data: bytes, edit: Edit) -> bool:
    """Does an edit insert whole lines?"""
    if edit.start != edit.end or not edit.text:
        return False
    at_start = edit.start == 0 or data[edit.start - 1 : edit.start] in (b"\n", b"\r")
    return edit.text[-1:] in (b"\n", b"\r") if at_start else edit.text[:1] in (b"\n", b"\r")


def _edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    pieces = []
    at = 0
    for edit in edits:
        pieces += [data[at : edit.start], edit.text]
        at = edit.end
    return b"".join((*pieces, data[at:]))


Neat = Callable[[Source, Source], Source | None]
"""Makes a file neat that some fixes have changed, given what it was before; None if these fixes must not be."""


def fix_all(
    look: Callable[[Mapping[str, Source]], V],
    wanted: Callable[[Finding], bool],
    neat: Neat = lambda before, after: after,
) -> Fixed[V]:
    """Apply the fixes of the findings that are `wanted`, in all files at once, until none is left.

    `look` lints the project with the files it is given in place of those on disk. After each pass every changed file is
    parsed; a rule whose fixes break it is left out of that file from then on. So is one whose fixes never come to rest.
    A fix after which the file can't be made `neat` is not applied.
    """
    failed: dict[tuple[str, str], Finding] = {}
    while True:
        fixed, restless = _until_quiet(look, wanted, neat, failed)
        if not restless:
            return fixed
        failed.update(restless)


def _until_quiet(
    look: Callable[[Mapping[str, Source]], V],
    wanted: Callable[[Finding], bool],
    neat: Neat,
    failed: dict[tuple[str, str], Finding],
) -> tuple[Fixed[V], dict[tuple[str, str], Finding]]:
    """Fix and look by turns. Adds to `failed` what breaks a file; the second result is what never comes to rest."""
    before: dict[str, Source] = {}
    after: dict[str, Source] = {}
    applied: list[Finding] = []
    done: list[Finding] = []
    seen: set[frozenset[tuple[str, bytes]]] = {frozenset()}
    view = look(after)
    for _ in range(PASSES):
        done = []
        for path, findings in _by_path(view.findings, wanted).items():
            source = view.source(path)
            assert source is not None, "a finding with a fix has a source"
            fixed, more = _step(source, findings, neat, failed)
            if more:
                before.setdefault(path, source)
                after[path] = fixed
                done += more
        if not done:
            return Fixed(view, before, after, tuple(applied), tuple(failed.values())), {}
        applied += done
        view = look(after)
        state = frozenset((path, source.data) for path, source in after.items() if source.data != before[path].data)
        if state in seen:
            break
        seen.add(state)
    keys = {(finding.path, finding.code) for finding in done}
    restless = {key: next(one for one in applied if key == (one.path, one.code)) for key in keys}
    return Fixed(view, before, after, tuple(applied), tuple(failed.values())), restless


def _by_path(findings: Iterable[Finding], wanted: Callable[[Finding], bool]) -> dict[str, list[Finding]]:
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.fix is not None and wanted(finding):
            grouped.setdefault(finding.path, []).append(finding)
    return grouped


def _step(
    source: Source, findings: Sequence[Finding], neat: Neat, failed: dict[tuple[str, str], Finding]
) -> tuple[Source, list[Finding]]:
    """One pass over a file: what it becomes, and the findings whose fix is in that. Adds to `failed` what can't take part."""
    while True:
        fixable = [(one.fix, one) for one in findings if one.fix and (one.path, one.code) not in failed]
        if not fixable:
            return source, []
        data, fixes = apply(source, [fix for fix, _ in fixable])
        inside = {id(fix) for fix in fixes}
        done = [finding for fix, finding in fixable if id(fix) in inside]
        if after := _sound(source, data):
            if neater := neat(source, after):
                return neater, done
            findings = _neat_ones(source, findings, done, neat)
            continue
        together: list[Fix] = []
        for code in sorted({finding.code for finding in done}):
            more = [*together, *(fix for fix, finding in fixable if finding.code == code)]
            if _sound(source, apply(source, more)[0]):
                together = more
            else:
                first = next(finding for finding in done if finding.code == code)
                failed[first.path, code] = first


def _neat_ones(source: Source, findings: Sequence[Finding], done: Sequence[Finding], neat: Neat) -> list[Finding]:
    """The findings without those whose fixes, or else the last of whose fixes, leave what can't be made neat."""
    alone = [(one, edited(source, one.fix.edits)) for one in done if one.fix is not None]
    bad = [one for one, after in alone if after is not None and neat(source, after) is None] or [done[-1]]
    return [one for one in findings if one not in bad]


def edited(source: Source, edits: Iterable[Edit]) -> Source | None:
    """The file with some edits, which don't overlap; None if that is no Python, or can't be written in its encoding."""
    return _sound(source, _edited(source.data, sorted(edits)))


def _sound(source: Source, data: bytes) -> Source | None:
    """The file with new `data`; None if that can't be written in its encoding or is no Python."""
    try:
        after = Source.of(source.path, source.encode(data))
        tree = after.parse()
    except SourceError:
        return None
    if not _compiles(tree) and _compiles(source.parse()):
        return None
    return after if after.data == data else None


def _compiles(tree: ast.Module) -> bool:
    """Whether what can be parsed can be run, too: `f(a=1, a=2)` can't. Cells of a notebook may wait."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(tree, "file", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def write(path: str, original_raw: bytes, new_raw: bytes) -> None:
    """Replace a file's bytes; its owner, mode, attributes and other names stay, and a symbolic link keeps pointing to it.

    Raises ChangedOnDisk if it does not hold `original_raw` any more, OSError if it can't be written; both leave it alone.
    """
    with open(path, "r+b") as file:  # fails for a file that its owner has made read-only
        now = file.read()
        seen = os.fstat(file.fileno())
    if now == new_raw:
        return  # another name of the file was fixed just now
    if now != original_raw:
        raise ChangedOnDisk(path)

    def unchanged() -> None:
        found = os.stat(path)
        if (found.st_ino, found.st_size, found.st_mtime_ns) != (seen.st_ino, seen.st_size, seen.st_mtime_ns):
            raise ChangedOnDisk(path)

    atomic.write(path, new_raw, ready=unchanged)


def diff(source: Source, new_data: bytes) -> bytes:
    """The change as a unified diff, in the bytes of the file, so that `patch` and `git apply` take it.

    What came without a name on standard input (`-`) gets no lines that name a file.
    """
    from difflib import diff_bytes, unified_diff

    before, after = _lines(source.raw), _lines(source.encode(new_data))
    name = _quoted(source.path)
    lines = diff_bytes(unified_diff, before, after, name, name)
    return b"".join(_ended(islice(lines, 2 if source.path == "-" else 0, None)))


def _lines(data: bytes) -> list[bytes]:
    """The lines as diff sees them: a lone carriage return or a form feed ends none."""
    return [piece for piece in re.split(rb"(?<=\n)", data) if piece]


def _ended(lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _quoted(path: str) -> bytes:
    """A path as git writes it into the head of a diff: like a string of C where a line can't hold it as it is."""
    name = os.fsencode(path)
    if path.isprintable() and not path.startswith(" ") and _ESCAPES.keys().isdisjoint(path):
        return name + b"\t" if " " in path else name  # a tab tells where such a name ends
    return b'"%s"' % b"".join(map(_escaped, path))


def _escaped(sign: str) -> bytes:
    raw = os.fsencode(sign)
    if sign.isprintable() or sign in _ESCAPES:
        return _ESCAPES.get(sign, raw)
    return b"".join(b"\\%03o" % byte for byte in raw)
