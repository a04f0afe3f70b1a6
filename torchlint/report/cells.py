"""Where a finding in a notebook is: for people in a cell, for code hosts in the JSON file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..fix import apply as fixes
from ..lint.run import Result
from ..text.finding import Edit, Finding, Fix, Related
from ..text.source import Notebook, Source, SourceError


def in_cells(result: Result) -> Result:
    """The result with lines that count from the start of their cell."""
    return replace(result, findings=tuple(in_cell(result, finding) for finding in result.findings))


def in_cell(result: Result, finding: Finding) -> Finding:
    source = result.source(finding.path)
    if finding.cell is None or source is None:
        return finding
    first, last = (source.row(line) if line else 0 for line in finding.statement)
    return replace(
        finding,
        line=source.row(finding.line),
        end_line=max(source.row(finding.end_line), source.row(finding.line)),
        statement=(first, last),
        related=tuple(_related(result, one) for one in finding.related),
    )


def _related(result: Result, related: Related) -> Related:
    source = result.source(related.path)
    if source is None or (cell := source.cell(related.line)) is None:
        return related
    return replace(related, line=source.row(related.line), message=f"{related.message} (cell {cell})")


def in_files(result: Result) -> Result:
    """The result as if notebooks were text: lines of their JSON, fixes that edit it, the cell named in the message.

    The findings stay in their order.
    """
    if all(finding.cell is None for finding in result.findings):
        return result
    books = {path: source for path, source in (result.sources or {}).items() if isinstance(source, Notebook)}
    plain = {path: Source(path, book.raw, book.raw, "utf-8", False) for path, book in books.items()}
    findings = tuple(_in_file(finding, books, plain) for finding in result.findings)
    return replace(result, findings=findings, sources={**(result.sources or {}), **plain})


def _in_file(finding: Finding, books: dict[str, Notebook], plain: dict[str, Source]) -> Finding:
    book = books.get(finding.path)
    if book is None or finding.cell is None:
        return finding
    (line, column), (end_line, end_column) = map(plain[finding.path].position, book.place(finding.line))
    return replace(
        finding,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        statement=(line, end_line),
        message=f"{finding.message} (cell {finding.cell}, line {book.row(finding.line)})",
        related=tuple(_related_in_file(one, books, plain) for one in finding.related),
        fix=finding.fix and _fix(finding.fix, book),
    )


def _related_in_file(related: Related, books: dict[str, Notebook], plain: dict[str, Source]) -> Related:
    book = books.get(related.path)
    if book is None:
        return related
    line, column = plain[related.path].position(book.place(related.line)[0])
    return replace(related, line=line, column=column)


def _fix(fix: Fix, book: Notebook) -> Fix | None:
    """The fix as one edit of the JSON; None where it can't be one."""
    try:
        new = book.encode(fixes.apply(book, [fix])[0])
    except SourceError:
        return None
    old = book.raw
    start = _alike(min(len(old), len(new)), lambda one, other: old[one:other] == new[one:other])
    start = old.rfind(b"\n", 0, start) + 1  # whole lines, so that no character is cut
    shared = min(len(old), len(new)) - start
    same = _alike(
        shared, lambda one, other: old[len(old) - other : len(old) - one] == new[len(new) - other : len(new) - one]
    )
    end = old.find(b"\n", len(old) - same) + 1 or len(old)
    return replace(fix, edits=(Edit(start, end, new[start : len(new) - (len(old) - end)]),))


def _alike(most: int, same: Callable[[int, int], bool]) -> int:
    """How far two texts are alike; `same` compares a part of them, as whole as it can be, since no byte is looked at in Python."""
    known = 0
    while known < most:
        middle = (known + most + 1) // 2
        if same(known, middle):
            known = middle
        else:
            most = middle - 1
    return known
