"""Reviewdog's diagnostic format: columns in UTF-8 bytes, and one suggestion that covers the lines of its diagnostic."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any

from torchlint.system.printable import in_json
from torchlint.text.finding import Finding
from torchlint.text.source import Source

from . import Look, fixed_lines, home, merged

if TYPE_CHECKING:
    from torchlint.lint.run import Result

_SEVERITY = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}
_APART = 20
"""A suggestion is one run of lines: a fix whose edits are farther apart from the finding makes none."""


def render(result: Result, look: Look) -> str:
    url = home()
    report = {
        "source": {"name": "torchlint"} | ({"url": url} if url else {}),
        "severity": "WARNING",
        "diagnostics": [diagnostic(result, finding, look) for finding in result.findings],
    }
    return in_json(dumps(report, indent=2, ensure_ascii=False)) + "\n"


def diagnostic(result: Result, finding: Finding, look: Look) -> dict[str, Any]:
    """One finding; with a suggestion where `--fix` would repair it as things are."""
    url = look.page(finding)
    lines, suggestions = _suggestions(result.source(finding.path), finding, look)
    widened = lines != (finding.line, finding.end_line)
    item: dict[str, Any] = {
        "message": finding.message,
        "location": {"path": look.uri(finding.path), "range": _lines(*lines) if widened else _range(result, finding)},
        "severity": _SEVERITY[finding.severity],
        "code": {"value": finding.code} | ({"url": url} if url else {}),
    }
    if suggestions:
        item["suggestions"] = suggestions
    if finding.related:
        item["related_locations"] = [
            {
                "message": related.message,
                "location": {
                    "path": look.uri(related.path),
                    "range": {"start": _at(result, related.path, related.line, related.column)},
                },
            }
            for related in finding.related
        ]
    return item


def _suggestions(source: Source | None, finding: Finding, look: Look) -> tuple[tuple[int, int], list[dict[str, Any]]]:
    """The lines the diagnostic has to cover, and the suggestion for just these lines."""
    lines = finding.line, finding.end_line
    if source is None or finding.fix is None or look.level(finding) != "applicable":
        return lines, []
    first, last = fixed_lines(source, finding.fix)
    if first < finding.line - _APART or last > finding.end_line + _APART:
        return lines, []
    first, last = min(first, finding.line), max(last, finding.end_line)
    text = "\n".join(merged(source, finding.fix, first, last))
    return (first, last), [{"range": _lines(first, last), "text": text}]


def _lines(first: int, last: int) -> dict[str, Any]:
    """Whole lines: without columns the last one counts too."""
    return {"start": {"line": first}, "end": {"line": last}}


def _range(result: Result, finding: Finding) -> dict[str, Any]:
    return {
        "start": _at(result, finding.path, finding.line, finding.column),
        "end": _at(result, finding.path, finding.end_line, finding.end_column),
    }


def _at(result: Result, path: str, line: int, column: int) -> dict[str, int]:
    before = result.line(path, line)[: column - 1]
    return {"line": line, "column": len(before.encode()) + 1 if len(before) == column - 1 else column}
