"""Findings on lines that differ from a commit, and no others."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from ..lint.run import Result
from ..system import streams
from ..system.failure import Failure
from ..system.git import Change, Repository, rows
from ..text.finding import Finding
from .cells import in_files


class ChangedLines:
    """Keeps the findings on lines that the work tree has and the commit where HEAD left `base` has not.

    Lines that fixes change later count by what they were before, and new ones as changed.
    """

    def __init__(self, base: str, directory: Path) -> None:
        self._repository = Repository.around(directory)
        self._changes: dict[str, Change] = {}
        self._new: set[str] = set()
        """Files of which every line is new."""
        self._before: dict[str, list[bytes]] = {}
        self._compare(self._repository, self._repository.merge_base(base, "HEAD"), "")

    def _compare(self, repository: Repository, commit: str, place: str) -> None:
        """Note what differs from a commit of a repository, and in its submodules from what that commit has recorded of them."""
        self._changes |= {place + path: change for path, change in repository.changes(commit).items()}
        self._new |= {place + path for path in repository.untracked()}
        here = repository.submodules()
        before = repository.submodules(commit) if here else {}
        for path in here:
            inner, folder = repository.within(path), f"{place}{path}/"
            if inner is None:
                continue
            if path not in before:
                self._new |= {folder + name for name in inner.present()}
                continue
            try:
                self._compare(inner, inner.commit(before[path]), folder)
            except Failure as failure:
                streams.say(f"warning: {place}{path}: {failure}; nothing in this submodule counts as changed")

    def __call__(self, result: Result) -> Result:
        located = in_files(result)
        lines = {path: self._lines(path, located) for path in {finding.path for finding in result.findings}}
        pairs = zip(result.findings, located.findings, strict=True)
        return replace(result, findings=tuple(one for one, place in pairs if _on(place, lines[one.path])))

    def _lines(self, path: str, result: Result) -> Collection[int]:
        """The changed lines of a file."""
        name, source = self._repository.name(path), result.source(path)
        now = source.data.splitlines(keepends=True) if source is not None else []
        if source is None:
            # What can't be read still has the places of what is said of it.
            last = max(place.end_line for place in result.findings if place.path == path)
            now = [b"\n"] * last
        if name in self._new:
            return range(1, len(now) + 2)
        if name not in self._changes:
            return ()
        before = self._before.setdefault(path, now)
        changed = {line for line, row in enumerate(rows(before), 1) if self._changes[name].touches(row, row)}
        return changed if before == now else _carried(before, now, changed)


def _on(finding: Finding, lines: Collection[int]) -> bool:
    return any(line in lines for line in range(finding.line, finding.end_line + 1))


def _carried(before: Sequence[bytes], now: Sequence[bytes], changed: Collection[int]) -> set[int]:
    """Changed lines of a text, by the numbers of what an edit made of it."""
    carried = set()
    for tag, old, _, first, last in difflib.SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        for at in range(first, last):
            if tag != "equal" or old + at - first + 1 in changed:
                carried.add(at + 1)
    return carried
