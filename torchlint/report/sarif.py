"""SARIF 2.1.0, as GitHub code scanning and other viewers read it."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from torchlint.rule import load
from torchlint.system.printable import in_json
from torchlint.text.finding import Edit, Finding
from torchlint.text.source import Source

from . import Look, home

if TYPE_CHECKING:
    from torchlint.lint.run import Result

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {"error": "error", "warning": "warning", "info": "note"}
_PROBLEM = {"error": "error", "warning": "warning", "info": "recommendation"}
_BASE = "%SRCROOT%"
_LONGEST = 1024
"""What GitHub takes of a description."""


def render(result: Result, look: Look) -> str:
    by_code = {finding.code: finding for finding in result.findings}
    codes = sorted(by_code)
    hashes: dict[str, list[str]] = {}
    run: dict[str, Any] = {
        "tool": {"driver": _driver([by_code[code] for code in codes], look)},
        "automationDetails": {"id": "torchlint/"},
        "originalUriBaseIds": {_BASE: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(result, finding, codes, look, hashes) for finding in result.findings],
    }
    return in_json(dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)) + "\n"


def _driver(examples: list[Finding], look: Look) -> dict[str, Any]:
    from importlib.metadata import version

    url = home()
    return {
        "name": "torchlint",
        "version": version("torchlint"),
        "semanticVersion": version("torchlint"),
        **({"informationUri": url} if url else {}),
        "rules": [_rule(finding, look) for finding in examples],
    }


def _rule(finding: Finding, look: Look) -> dict[str, Any]:
    """A rule's descriptor; without its page for a code that has none (an event no finding foresaw)."""
    page = load().get(finding.code)
    summary = page.summary if page else finding.name.replace("-", " ")
    url = look.page(finding)
    return {
        "id": finding.code,
        "name": finding.name,
        "shortDescription": {"text": _short(summary)},
        "fullDescription": {"text": _short(_first_paragraphs(page.doc) if page else summary)},
        "help": {"text": page.doc if page else summary, "markdown": page.doc if page else summary},
        **({"helpUri": url} if url else {}),
        "defaultConfiguration": {"level": _LEVEL[finding.severity]},
        "properties": {
            "tags": sorted({"performance", "pytorch", *([page.category] if page else [])}),
            "precision": "high",
            "problem.severity": _PROBLEM[finding.severity],
        },
    }


def _first_paragraphs(doc: str) -> str:
    """The page up to its first heading."""
    return doc.partition("\n#")[0].strip()


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _result(
    result: Result, finding: Finding, codes: list[str], look: Look, hashes: dict[str, list[str]]
) -> dict[str, Any]:
    source = result.source(finding.path)
    if source is not None and finding.path not in hashes:
        hashes[finding.path] = line_hashes(source.raw.decode(errors="replace"))  # as node reads it
    lines = hashes.get(finding.path, [])
    item: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVEL[finding.severity],
        "message": {"text": finding.message},
        "locations": [
            {"physicalLocation": {"artifactLocation": _artifact(finding.path, look), "region": _at(finding)}}
        ],
    }
    if finding.evidence is not None and finding.evidence.saves is not None:
        item["rank"] = round(100 * finding.evidence.saves[1], 1)
    elif finding.evidence is not None and finding.evidence.measured is not None:
        item["rank"] = round(100 * finding.evidence.measured.share, 1)
    if look.only_new:
        item["baselineState"] = "new"
    if finding.line <= len(lines):
        item["partialFingerprints"] = {"primaryLocationLineHash": lines[finding.line - 1]}
    if finding.related:
        item["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": {
                    "artifactLocation": _artifact(related.path, look),
                    "region": {"startLine": related.line, "startColumn": related.column},
                },
                "message": {"text": related.message},
            }
            for number, related in enumerate(finding.related, 1)
        ]
    if finding.fix is not None and finding.fix.edits and source is not None:
        change = {
            "artifactLocation": _artifact(finding.path, look),
            "replacements": [_replacement(source, edit) for edit in sorted(finding.fix.edits)],
        }
        item["fixes"] = [{"description": {"text": finding.fix.title}, "artifactChanges": [change]}]
    properties = _properties(finding)
    if properties:
        item["properties"] = properties
    return item


def _properties(finding: Finding) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    if finding.fix is not None:
        properties["applicability"] = finding.fix.applicability
    if finding.cell is not None:
        properties["cell"] = finding.cell
    if finding.evidence is not None:
        properties["verdict"] = finding.evidence.verdict
        properties["evidence"] = finding.evidence.detail
        properties["eventsPerStep"] = finding.evidence.count
        if finding.evidence.measured is not None:
            properties["measuredMilliseconds"] = round(1000 * finding.evidence.measured.seconds, 6)
    return properties


def _artifact(path: str, look: Look) -> dict[str, str]:
    uri = look.uri(path)
    if uri.startswith("/"):
        return {"uri": f"file://{quote(uri, errors='surrogateescape')}"}
    return {"uri": quote(uri, errors="surrogateescape"), "uriBaseId": _BASE}


def _at(finding: Finding) -> dict[str, int]:
    return {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }


def _replacement(source: Source, edit: Edit) -> dict[str, Any]:
    (line, column), (end_line, end_column) = source.position(edit.start), source.position(edit.end)
    region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
    return {"deletedRegion": region, "insertedContent": {"text": edit.text.decode()}}


def line_hashes(text: str) -> list[str]:
    """GitHub's `primaryLocationLineHash` of each line, as codeql-action's src/fingerprints.ts computes it.

    A rolling hash over the 100 UTF-16 units from the line's start on, spaces and tabs left out, every newline read as \\n;
    behind the colon stands how many lines of that hash there were so far, this one included.
    """
    window, factor, mask = 100, 37, (1 << 64) - 1
    leaving = pow(factor, window, 1 << 64)
    raw = text.encode("utf-16-le", "surrogatepass")
    units = [raw[i] | raw[i + 1] << 8 for i in range(0, len(raw), 2)]
    kept = [0] * window
    starts = [-1] * window
    counts: dict[str, int] = {}
    hashes: dict[int, str] = {}
    value = index = line = 0
    at_line_start, after_return = True, False

    def emit() -> None:
        digits = format(value, "x")
        counts[digits] = counts.get(digits, 0) + 1
        hashes[starts[index]] = f"{digits}:{counts[digits]}"
        starts[index] = -1

    def push(unit: int) -> None:
        nonlocal value, index
        value = (factor * value + unit - leaving * kept[index]) & mask
        kept[index] = unit
        index = (index + 1) % window

    for unit in [*units, 0xFFFF]:
        if unit in (32, 9) or (after_return and unit == 10):
            after_return = False
            continue
        after_return = unit == 13
        if after_return:
            unit = 10
        if starts[index] != -1:
            emit()
        if at_line_start:
            at_line_start = False
            line += 1
            starts[index] = line
        if unit == 10:
            at_line_start = True
        push(unit)
    for _ in range(window):
        if starts[index] != -1:
            emit()
        push(0)
    return [hashes[number] for number in sorted(hashes)]
