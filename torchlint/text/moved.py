"""Findings of a part of a file that has come to lie elsewhere in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .finding import Edit, Finding


def moved(finding: Finding, lines: int, offset: int) -> Finding:
    """A finding so many lines and bytes further down; its related places stay."""
    fix = finding.fix
    if fix is not None:
        edits = (Edit(edit.start + offset, edit.end + offset, edit.text) for edit in fix.edits)
        fix = replace(fix, edits=tuple(edits))
    first, last = finding.statement
    return replace(
        finding,
        line=finding.line + lines,
        end_line=finding.end_line + lines,
        statement=(first + lines, last + lines),
        fix=fix,
    )


def outside(findings: Iterable[Finding], path: str, lines: tuple[int, int], span: tuple[int, int]) -> set[str]:
    """The files of findings that tell more than some lines of a file (both included), which lie from one offset to another."""
    (first, last), (start, end) = lines, span
    return {
        finding.path
        for finding in findings
        if finding.path != path
        or not first <= finding.line <= finding.end_line <= last
        or not first <= finding.statement[0] <= finding.statement[1] <= last
        or (finding.fix is not None and any(edit.start < start or edit.end > end for edit in finding.fix.edits))
    }
