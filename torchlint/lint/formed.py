"""Whether what a rule or a fixer gives is what everybody behind it takes it for: nobody checks the types of plugins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from ..rule import Rule
from ..text.finding import SEVERITIES, Applicability, Edit, Finding, Fix, Related
from ..text.source import Source

_APPLICABILITIES = get_args(Applicability)


def assure(finding: Finding, rule: Rule, source: Source) -> None:
    """Raise ValueError where a finding of a rule in a file is badly formed."""
    _refuse(_flaws(finding, rule, source))


def assure_fix(fix: Fix, source: Source) -> None:
    """Raise ValueError where a fix of a file is badly formed."""
    _refuse(_flaws_of_fix(fix, source))


def _refuse(flaws: Iterator[str]) -> None:
    for flaw in flaws:
        raise ValueError(flaw)


def _flaws(finding: Finding, rule: Rule, source: Source) -> Iterator[str]:
    if not isinstance(finding, Finding):
        yield f"a finding that is a {type(finding).__name__}"
    if finding.path != source.path:
        yield f"a finding in another file, {finding.path}: its comments and settings are not those"
    if (finding.code, finding.name) != (rule.code, rule.name):
        yield f"a finding of another rule, {finding.code}, {finding.name}"
    if not isinstance(finding.message, str):
        yield f"a message that is no string: {finding.message!r}"
    if finding.severity not in SEVERITIES:
        yield f"a severity that is none of {', '.join(SEVERITIES)}: {finding.severity!r}"
    lines = (finding.line, finding.end_line, *_pair(finding.statement))
    if not _are_numbers((*lines, finding.column, finding.end_column)):
        yield "a line or a column that is no number"
    if (
        not 1 <= finding.line <= finding.end_line <= len(source.lines) + 1
        or min(finding.column, finding.end_column) < 1
    ):
        yield f"a place that the file does not have: line {finding.line} to {finding.end_line}"
    if finding.cell is not None or finding.evidence is not None:
        yield "a cell or evidence, which are not the rule's to tell"
    if not isinstance(finding.related, tuple) or not all(map(_is_related, finding.related)):
        yield "related places that are no tuple of `Related`"
    if finding.fix is not None:
        yield from _flaws_of_fix(finding.fix, source)


def _flaws_of_fix(fix: Fix, source: Source) -> Iterator[str]:
    if not isinstance(fix, Fix):
        yield f"a fix that is a {type(fix).__name__}"
    if not isinstance(fix.title, str) or not isinstance(fix.note, str):
        yield "a fix whose title or note is no string"
    if fix.applicability not in _APPLICABILITIES:
        yield f"a fix that is none of {', '.join(_APPLICABILITIES)}: {fix.applicability!r}"
    if not isinstance(fix.edits, tuple) or not all(isinstance(edit, Edit) for edit in fix.edits):
        yield "a fix whose edits are no tuple of `Edit`"
    for edit in fix.edits:
        if not isinstance(edit.text, bytes) or not _is_text(edit.text):
            yield f"an edit whose text is not UTF-8 in bytes: {edit.text!r}"
        if not _are_numbers((edit.start, edit.end)) or not 0 <= edit.start <= edit.end <= len(source.data):
            yield f"an edit of bytes that the file does not have: {edit.start!r} to {edit.end!r}"


def _pair(statement: object) -> Sequence[object]:
    return statement if isinstance(statement, tuple) and len(statement) == 2 else (None,)


def _are_numbers(values: Sequence[object]) -> bool:
    return all(type(value) is int for value in values)


def _is_related(place: object) -> bool:
    if not isinstance(place, Related):
        return False
    return all(isinstance(text, str) for text in (place.path, place.message)) and _are_numbers(
        (place.line, place.column)
    )


def _is_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
