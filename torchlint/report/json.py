"""A JSON array with ruff's keys, and ours beside them: related, evidence, impact, statement_rows, the note of a fix."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any

from torchlint.system.printable import in_json
from torchlint.text.finding import Finding
from torchlint.text.source import Source

from . import Look, impact

if TYPE_CHECKING:
    from torchlint.lint.run import Result


def render(result: Result, look: Look) -> str:
    items = [item(result, finding, look) for finding in result.findings]
    return in_json(dumps(items, indent=2, sort_keys=True, ensure_ascii=False)) + "\n"


def item(result: Result, finding: Finding, look: Look) -> dict[str, Any]:
    """One finding. Rows and columns count from 1, columns in characters, ends are exclusive."""
    first, last = finding.statement
    evidence = finding.evidence
    return {
        "cell": finding.cell,
        "code": finding.code,
        "end_location": _location(finding.end_line, finding.end_column),
        "evidence": evidence
        and {
            "verdict": evidence.verdict,
            "detail": evidence.detail,
            "count": evidence.count,
            **({"measured_seconds": evidence.measured.seconds} if evidence.measured else {}),
        },
        "filename": look.absolute(finding.path),
        "fix": _fix(result, finding),
        "impact": impact(finding.code),
        "location": _location(finding.line, finding.column),
        "message": finding.message,
        "name": finding.name,
        "noqa_row": finding.line,
        "related": [
            {
                "filename": look.absolute(related.path),
                "location": _location(related.line, related.column),
                "message": related.message,
            }
            for related in finding.related
        ],
        "severity": finding.severity,
        "statement_rows": [first or finding.line, last or finding.end_line],
        "url": look.page(finding),
    }


def _location(row: int, column: int) -> dict[str, int]:
    return {"column": column, "row": row}


def _at(source: Source, offset: int) -> dict[str, int]:
    line, column = source.position(offset)
    return _location(source.row(line), column)


def _fix(result: Result, finding: Finding) -> dict[str, Any] | None:
    fix, source = finding.fix, result.source(finding.path)
    if fix is None or source is None:
        return None
    return {
        "applicability": "display" if fix.applicability == "suggestion" else fix.applicability,
        "edits": [
            {"content": edit.text.decode(), "end_location": _at(source, edit.end), "location": _at(source, edit.start)}
            for edit in fix.edits
        ],
        "message": fix.title,
        "note": fix.note or None,
    }
