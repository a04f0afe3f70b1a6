"""Pylint's parseable line: `path:line: [CODE] message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import Look, one_line

if TYPE_CHECKING:
    from torchlint.lint.run import Result


def render(result: Result, look: Look) -> str:
    return "".join(f"{look.path(f.path)}:{f.line}: [{f.code}] {one_line(f.message)}\n" for f in result.findings)
