"""Workflow commands of GitHub Actions: annotations in the pull request.

GitHub shows ten a level and step, so the worst come first. It rejects columns when the range spans lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.system.printable import printable
from torchlint.text.finding import Finding

from . import Look, worst_first

if TYPE_CHECKING:
    from torchlint.lint.run import Result

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def render(result: Result, look: Look) -> str:
    return "".join(_command(finding, look) for finding in worst_first(result.findings))


def _command(finding: Finding, look: Look) -> str:
    path = look.uri(finding.path)
    properties = {"title": f"torchlint ({finding.code})", "file": path, "line": finding.line}
    if finding.line == finding.end_line:
        properties |= {"col": finding.column, "endLine": finding.end_line, "endColumn": finding.end_column}
    else:
        properties["endLine"] = finding.end_line
    text = f"{path}:{finding.line}:{finding.column}: {finding.code} {finding.message}"
    if finding.fix is not None:
        text += f"\n  help: {finding.fix.title}"
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{_LEVELS[finding.severity]} {listed}::{_message(text)}\n"


def _message(text: str) -> str:
    return printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
