"""The findings as one HTML page with their code, to sort and to search; for people who don't live in terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchlint.report.cells import in_cell
from torchlint.system.printable import printable
from torchlint.text.finding import SEVERITIES, Finding
from torchlint.text.source import Source

from . import Look, fixed_lines, impact, impact_rank, merged, plural
from .page import page, python

if TYPE_CHECKING:
    from torchlint.lint.run import Result

_CONTEXT = 2
_LONGEST = 40
"""Lines of one frame; what is longer is cut in the middle."""
_LINKED = ("https://", "http://", "file://")
"""How an address begins that may be followed: a project's own settings may name one that runs something."""

Line = tuple[object, str, str]
"""What stands at its left ("" where lines are left out), its code as HTML, and its class."""


def render(result: Result, look: Look) -> str:
    return page(
        "findings",
        count=plural(len(result.findings), "finding"),
        files=plural(result.files, "file"),
        rows=[_row(result, finding, look) for finding in result.findings],
    )


def _row(result: Result, finding: Finding, look: Look) -> dict[str, Any]:
    """What the template shows of a finding; keys are what the columns are sorted by."""
    source, shown = result.source(finding.path), in_cell(result, finding)
    changed = source is not None and finding.fix is not None and finding.fix.edits
    return {
        "finding": finding,
        "url": url if (url := look.page(finding)) and url.lower().startswith(_LINKED) else "",
        "place": look.place(shown),
        "place_key": f"{look.path(finding.path)}:{finding.line:>9}",
        "severity_key": SEVERITIES.index(finding.severity),
        "impact": impact(finding.code),
        "impact_key": impact_rank(finding.code),
        "frame": _frame(source, finding) if source is not None else [],
        "related": [(f"{look.path(one.path)}:{one.line}", one.message) for one in shown.related],
        "change": _change(source, finding) if source is not None and changed else [],
    }


def _frame(source: Source, finding: Finding) -> list[Line]:
    first = min(finding.line, len(source.lines))
    last = min(max(finding.end_line, first), len(source.lines))
    lowest, highest = source.around(first)
    shown = range(max(lowest, first - _CONTEXT), min(highest, last + _CONTEXT) + 1)
    numbers = [*shown] if len(shown) <= _LONGEST else [*shown[: _LONGEST // 2], 0, *shown[-_LONGEST // 2 :]]
    return [
        (source.row(n), _python(source.line_text(n)), "mark" if first <= n <= last else "") if n else ("", "", "")
        for n in numbers
    ]


def _change(source: Source, finding: Finding) -> list[Line]:
    assert finding.fix is not None, "asked of what has a fix"
    first, last = fixed_lines(source, finding.fix)
    last = min(last, len(source.lines))
    gone = (("-", _python(source.line_text(n)), "gone") for n in range(first, last + 1))
    come = (("+", _python(text), "come") for text in merged(source, finding.fix, first, last))
    return [*gone, *come]


def _python(line: str) -> str:
    return python(printable(line.replace("\t", "    ")))
