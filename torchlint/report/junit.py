"""JUnit XML: a suite a file, a failed test a finding, one passed test when there is nothing to say."""

from __future__ import annotations

import os
import re
from itertools import groupby
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from torchlint.system.printable import printable
from torchlint.text.finding import Finding

from . import Look

if TYPE_CHECKING:
    from torchlint.lint.run import Result

_ILLEGAL = re.compile("[\ufffe\uffff]")


def render(result: Result, look: Look) -> str:
    total = len(result.findings)
    suites = [
        suite
        for path, group in groupby(result.findings, key=lambda finding: finding.path)
        for suite in _suite(look.absolute(path), list(group))
    ]
    if not suites:
        suites = [
            '    <testsuite name="torchlint" tests="1" skipped="0" errors="0" failures="0" package="torchlint">',
            '        <testcase name="No errors found" classname="torchlint"/>',
            "    </testsuite>",
        ]
    head = f'<testsuites name="torchlint" tests="{total or 1}" skipped="0" failures="{total}" errors="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>", ""])


def _suite(path: str, findings: list[Finding]) -> list[str]:
    count = len(findings)
    counts = f'tests="{count}" skipped="0" errors="0" failures="{count}"'
    cases = [line for finding in findings for line in _case(path, finding)]
    return [f'    <testsuite name={_quote(path)} {counts} package="torchlint">', *cases, "    </testsuite>"]


def _case(path: str, finding: Finding) -> list[str]:
    name = f"name={_quote(f'torchlint.{finding.code}')} classname={_quote(os.path.splitext(path)[0])}"
    text = f"line {finding.line}, col {finding.column}, {finding.message}"
    return [
        f'        <testcase {name} line="{finding.line}" column="{finding.column}">',
        "            <properties>",
        f'                <property name="severity" value="{finding.severity}"/>',
        "            </properties>",
        f"            <failure message={_quote(finding.message)}>{escape(_shown(text))}</failure>",
        "        </testcase>",
    ]


def _quote(text: str) -> str:
    return quoteattr(_shown(text))


def _shown(text: str) -> str:
    """One line without what XML can't hold."""
    return _ILLEGAL.sub("?", printable(text))
