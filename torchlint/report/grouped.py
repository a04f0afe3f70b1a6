"""The findings of each file below its name, in columns."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from . import Look, one_line
from .paint import Paint

if TYPE_CHECKING:
    from torchlint.lint.run import Result


def render(result: Result, look: Look) -> str:
    paint = Paint(look)
    blocks = []
    for path, group in groupby(result.findings, key=lambda finding: finding.path):
        findings = list(group)
        rows = max(len(str(finding.line)) for finding in findings)
        columns = max(len(str(finding.column)) for finding in findings)
        lines = [f"{paint(look.path(path), 'bold')}:\n"]
        for finding in findings:
            cell = f"cell {finding.cell}:" if finding.cell is not None else ""
            place = f"{' ' * (rows - len(str(finding.line)))}{cell}{finding.line}:{finding.column:<{columns}}"
            mark = paint(look.mark(finding), "cyan")
            lines.append(f"  {place} {paint.code(finding)} {mark}{one_line(finding.message)}\n")
        blocks.append("".join(lines) + "\n")
    return "".join(blocks)
