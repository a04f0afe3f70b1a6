"""What a change adds: the findings on its lines, and those it causes elsewhere, with suggestions where a fix fits.

Base and head are read from git's objects, so neither has to be checked out.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..lint import baseline
from ..lint.run import Result, lint
from ..report import fixed_lines, merged, page_url, worst_first
from ..report.cells import in_files
from ..settings import discover
from ..settings.config import Settings
from ..system.cached import kept
from ..system.git import Change, Hunk, Repository, rows
from ..text.finding import Finding, Fix
from ..text.source import Source

_APART = 20
"""A suggestion is one run of lines: a fix farther from its finding makes none."""

Lines = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The lines that a fix makes of `lines`."""

    lines: Lines
    text: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """One finding of a review. `lines` are where it hangs on `hunk`; without one it belongs into the summary."""

    finding: Finding
    path: str
    mark: str
    page: str | None
    """Where the rule's page can be read."""
    caused: bool
    """Not on a changed line: it is there because of what changed elsewhere."""
    change: Change | None = None
    hunk: Hunk | None = None
    lines: Lines = (0, 0)
    suggestion: Suggestion | None = None


@dataclass(frozen=True)
class Review:
    """The remarks on what `head` changes since `base`, both hashes of commits, the worst first."""

    base: str
    head: str
    remarks: tuple[Remark, ...]
    result: Result
    """Only the findings of the remarks."""

    def without(self, marks: Iterable[str]) -> Review:
        """The review less what was posted before."""
        known = frozenset(marks)
        return replace(self, remarks=tuple(one for one in self.remarks if one.mark not in known))

    def folding(self, marks: Iterable[str]) -> Review:
        """The review with these remarks in the summary in place of on their lines."""
        folded = frozenset(marks)
        moved = (replace(one, hunk=None, suggestion=None) if one.mark in folded else one for one in self.remarks)
        return replace(self, remarks=tuple(moved))


def review(
    settings: Settings, base: str, head: str = "HEAD", directory: Path | None = None, lint: Callable[..., Result] = lint
) -> Review:
    """Lint both ends of a change with these settings and compare. What lies outside of the working directory is left out.

    `lint` does as `lint.lint` does.
    Raises Failure for what git can't tell: no repository, an unknown revision, a clone too shallow to hold the base.
    """
    repository = Repository.around(directory or Path.cwd())
    start, end = repository.merge_base(base, head), repository.commit(head)
    changes = repository.changes(start, end, discover.SUFFIXES)
    if not changes:
        return Review(start, end, (), Result())
    after = lint(_files(repository, end, settings), settings)
    before = lint(_files(repository, start, settings), settings)
    renamed = {change.old_path: change.path for change in changes.values()}
    known = [
        replace(one, path=renamed.get(one.path, one.path)) for one in baseline.fingerprints(before, repository.top)
    ]
    prints = baseline.fingerprints(after, repository.top)
    new = frozenset(baseline.compare(prints, known).new)
    seen: Counter[str] = Counter()
    remarks, chosen = [], []
    located = in_files(after)
    for place, (finding, one) in enumerate(zip(located.findings, prints, strict=True)):
        change, source = changes.get(one.path), located.source(finding.path)
        first, last = _rows(source, finding.line, finding.end_line)
        on_change = change is not None and change.touches(first, last)
        seen[one.digest] += 1
        mark = one.digest if seen[one.digest] == 1 else f"{one.digest}-{seen[one.digest]}"
        if on_change or place in new:
            page = page_url(finding.name, finding.code, settings.rule_url)
            remark = Remark(finding, one.path, mark, page, caused=not on_change, change=change)
            remarks.append(_placed(remark, source, settings))
            chosen.append(after.findings[place])
    order = {id(finding): at for at, finding in enumerate(worst_first(one.finding for one in remarks))}
    remarks.sort(key=lambda one: order[id(one.finding)])
    errors = tuple(dict.fromkeys((*after.errors, *before.errors)))
    return Review(start, end, tuple(remarks), replace(after, findings=tuple(chosen), errors=errors))


def _files(repository: Repository, commit: str, settings: Settings) -> Mapping[str, bytes]:
    """The Python files of a commit below the working directory, by their paths relative to it."""
    names = {}
    here = os.path.realpath(Path.cwd())
    for path, name in repository.files(commit).items():
        if path.endswith(discover.SUFFIXES):
            relative = os.path.relpath(repository.top / path, here)
            if not relative.startswith(os.pardir) and not discover.excluded(relative, settings):
                names[relative] = name
    return dict(zip(names, repository.read(names.values()), strict=True))


def _placed(remark: Remark, source: Source | None, settings: Settings) -> Remark:
    """The remark on the lines it can hang on: those of its suggestion, else as many of its own as one hunk holds."""
    finding, change = remark.finding, remark.change
    if change is None or source is None:
        return remark
    start, end = _rows(source, finding.line, finding.end_line)
    suggestion = _suggestion(finding, source, settings) if (start, end) == (finding.line, finding.end_line) else None
    if suggestion is not None and (hunk := change.hunk(*suggestion.lines)):
        return replace(remark, hunk=hunk, lines=suggestion.lines, suggestion=suggestion)
    for hunk in change.hunks:
        first, last = max(start, hunk.first), min(end, hunk.last)
        if first <= last:
            return replace(remark, hunk=hunk, lines=(first, last))
    return remark


def _rows(source: Source | None, *lines: int) -> tuple[int, ...]:
    """The numbers that git knows some lines by."""
    if source is None or source.data.count(b"\r") == source.data.count(b"\r\n"):
        return lines
    known = kept(source, "rows", lambda: list(rows(source.data.splitlines(keepends=True))))
    return tuple(known[min(line, len(known)) - 1] for line in lines)


def _suggestion(finding: Finding, source: Source, settings: Settings) -> Suggestion | None:
    fix = finding.fix
    if fix is None or not fix.edits or not settings.may_fix(finding) or not _offered(fix, settings):
        return None
    first, last = fixed_lines(source, fix)
    if first < finding.line - _APART or last > finding.end_line + _APART:
        return None
    first, last = min(first, finding.line), max(last, finding.end_line)
    if last > len(source.lines):
        return None
    note = fix.note or "It may change what the program does." if fix.applicability == "unsafe" else ""
    return Suggestion((first, last), tuple(merged(source, fix, first, last)), note)


def _offered(fix: Fix, settings: Settings) -> bool:
    return fix.applicability == "safe" or (fix.applicability == "unsafe" and settings.unsafe_fixes)
