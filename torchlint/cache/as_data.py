"""Findings as plain data, for entries of the cache: what is read there is taken for what it looks like only."""

from __future__ import annotations

from typing import Any, TypeVar, get_args

from ..text.finding import SEVERITIES, Applicability, Edit, Finding, Fix, Related

T = TypeVar("T")


def is_a(kind: type[T], value: Any) -> T:
    """The value, which must be of that type."""
    if type(value) is not kind:
        raise TypeError(value)
    return value


def _one_of(known: tuple[Any, ...], value: object) -> Any:
    if value not in known:
        raise ValueError(value)
    return value


def as_data(finding: Finding) -> Any:
    """A finding, for JSON; its path is told elsewhere."""
    return [
        [finding.line, finding.column, finding.end_line, finding.end_column, *finding.statement],
        [finding.code, finding.name, finding.message, finding.severity],
        finding.provable,
        finding.cell,
        [[related.path, related.line, related.column, related.message] for related in finding.related],
        None if finding.fix is None else _fix_as_data(finding.fix),
    ]


def _fix_as_data(fix: Fix) -> Any:
    edits = [[edit.start, edit.end, edit.text.decode("latin-1")] for edit in fix.edits]
    return [fix.title, edits, fix.applicability, fix.note]


def of_data(path: str, data: Any) -> Finding:
    """The finding in a file that some data tells of. Raises TypeError and ValueError where it is not well formed."""
    numbers, words, provable, cell, related, fix = data
    line, column, end_line, end_column, first, last = (is_a(int, number) for number in numbers)
    code, name, message, severity = (is_a(str, word) for word in words)
    return Finding(
        path,
        line,
        column,
        end_line,
        end_column,
        code,
        name,
        message,
        _one_of(SEVERITIES, severity),
        None if fix is None else _fix(*fix),
        tuple(Related(is_a(str, a), is_a(int, b), is_a(int, c), is_a(str, d)) for a, b, c, d in related),
        None if cell is None else is_a(int, cell),
        None,
        (first, last),
        is_a(bool, provable),
    )


def _fix(title: Any, edits: Any, applicability: Any, note: Any) -> Fix:
    return Fix(
        is_a(str, title),
        tuple(Edit(is_a(int, start), is_a(int, end), is_a(str, text).encode("latin-1")) for start, end, text in edits),
        _one_of(get_args(Applicability), applicability),
        is_a(str, note),
    )
