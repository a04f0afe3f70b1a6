"""JUnit XML: a suite a file, a failed test a finding, one passed test when there is nothing to say."""

from __future__ import annotations

import os
import re
from itertools import groupby
from typing import TYPE_CHECKING

from torchlint.system.printable import printable

from . import Look

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from torchlint.lint.run import Result
    from torchlint.text.finding import Finding

_ILLEGAL = re.compile("[\ufffe\uffff]")


def render(result: Result, look: Look) -> str:
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    total = len(result.findings)
    root = Element("testsuites", name="torchlint", tests=str(total or 1), skipped="0", failures=str(total), errors="0")
    for path, group in groupby(result.findings, key=lambda finding: look.absolute(finding.path)):
        findings = list(group)
        suite = _suite(root, path, len(findings), len(findings))
        for finding in findings:
            _case(suite, path, finding)
    if not total:
        SubElement(_suite(root, "torchlint", 1, 0), "testcase", name="No errors found", classname="torchlint")
    indent(root, "    ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(root: Element, name: str, tests: int, failures: int) -> Element:
    from xml.etree.ElementTree import SubElement

    counts = {"tests": str(tests), "skipped": "0", "errors": "0", "failures": str(failures)}
    return SubElement(root, "testsuite", {"name": _shown(name), **counts, "package": "torchlint"})


def _case(suite: Element, path: str, finding: Finding) -> None:
    from xml.etree.ElementTree import SubElement

    case = SubElement(
        suite,
        "testcase",
        name=_shown(f"torchlint.{finding.code}"),
        classname=_shown(os.path.splitext(path)[0]),
        line=str(finding.line),
        column=str(finding.column),
    )
    SubElement(SubElement(case, "properties"), "property", name="severity", value=finding.severity)
    failure = SubElement(case, "failure", message=_shown(finding.message))
    failure.text = _shown(f"line {finding.line}, col {finding.column}, {finding.message}")


def _shown(text: str) -> str:
    """One line without what XML can't hold."""
    return _ILLEGAL.sub("?", printable(text))
