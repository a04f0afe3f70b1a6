"""One line a finding: `path:line:column: CODE [*] message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import Look, one_line
from .paint import Paint

if TYPE_CHECKING:
    from torchlint.lint.run import Result


def render(result: Result, look: Look) -> str:
    paint = Paint(look)
    lines = []
    for finding in result.findings:
        place = paint(look.place(finding), "bold") + paint(":", "cyan")
        mark = paint(look.mark(finding), "cyan")
        lines.append(f"{place} {paint.code(finding)} {mark}{one_line(finding.message)}\n")
    return "".join(lines)
