"""Logging commands of Azure Pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.system.printable import printable

from . import Look, one_line, worst_first

if TYPE_CHECKING:
    from torchlint.lint.run import Result

_ESCAPES = str.maketrans({"%": "%AZP25", ";": "%3B", "\r": "%0D", "\n": "%0A", "]": "%5D"})


def render(result: Result, look: Look) -> str:
    lines = []
    for finding in worst_first(result.findings):
        level = "error" if finding.severity == "error" else "warning"
        path = printable(look.absolute(finding.path).translate(_ESCAPES))
        place = f"sourcepath={path};linenumber={finding.line};columnnumber={finding.column}"
        message = one_line(finding.message).replace("%", "%AZP25")
        lines.append(f"##vso[task.logissue type={level};{place};code={finding.code};]{message}\n")
    return "".join(lines)
