"""Colours and links of a terminal; plain text where they are off."""

from __future__ import annotations

from functools import cache
from typing import Literal

from torchlint.text.finding import Finding

from . import Look

Style = Literal["bold", "red", "green", "yellow", "blue", "cyan", "dim"]
_CODES: dict[Style, str] = {
    "bold": "1",
    "dim": "2",
    "red": "1;91",
    "green": "32",
    "yellow": "1;33",
    "blue": "1;94",
    "cyan": "1;96",
}
SEVERITY: dict[str, Style] = {"error": "red", "warning": "yellow", "info": "blue"}


class Paint:
    """Paints as the look says."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self.color = look.color
        self.links = look.links

    def __call__(self, text: str, style: Style) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.color and text else text

    def code(self, finding: Finding) -> str:
        """The rule's code, coloured by severity and linked to its page."""
        text = self(finding.code, SEVERITY[finding.severity])
        url = self._look.page(finding) if self.links else None
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if url else text

    def python(self, line: str) -> str:
        """One line of Python with its syntax highlighted."""
        return _highlighted(line) if self.color else line


@cache
def _highlighted(line: str) -> str:
    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import PythonLexer

    return str(highlight(line, PythonLexer(stripnl=False, ensurenl=False), TerminalFormatter()))
