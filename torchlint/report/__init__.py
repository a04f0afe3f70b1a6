"""One module a format; each is a function from a result to text.

`render(name, result, look)` is the way in. A text format ends with a newline or is empty; a machine format is one document.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from torchlint.system.printable import printable, shown_path
from torchlint.text.finding import Finding, Fix
from torchlint.text.source import Source

if TYPE_CHECKING:
    from torchlint.lint.run import Result

TEXT = ("full", "concise", "grouped")
"""The formats for people: a summary follows them."""

_BY_ITSELF = ("full", "html")
"""Formats that show code, and name its cell themselves."""
_BY_CELL = ("concise", "grouped", "json", "json-lines")
"""Formats that name a line of a notebook by its cell; those for code hosts name that of the JSON file."""


@dataclass(frozen=True)
class Look:
    """How a report is drawn.

    People read paths relative to `cwd`, machines relative to `root`, the top of the repository. `may_fix` tells of which
    findings fixes may be applied (None: of all), `unsafe` whether unsafe ones count, `fixed` how many findings were fixed just now,
    `only_new` whether a baseline hides all others, `rule_url` where the pages of rules are (see `Settings`).
    """

    cwd: Path = field(default_factory=Path.cwd)
    root: Path = field(default_factory=Path.cwd)
    unsafe: bool = False
    may_fix: Callable[[Finding], bool] | None = None
    fixed: int = 0
    only_new: bool = False
    color: bool = False
    links: bool = False
    rule_url: str = ""

    def absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.cwd, path))

    def path(self, path: str) -> str:
        """The path for people."""
        return shown_path(self.absolute(path).removeprefix(os.path.join(self.cwd, "")))

    def uri(self, path: str) -> str:
        """The path for machines, with forward slashes."""
        return self.absolute(path).removeprefix(os.path.join(self.root, "")).replace(os.sep, "/")

    def place(self, finding: Finding) -> str:
        """`path:line:column`, with the cell of a notebook in between."""
        cell = f":cell {finding.cell}" if finding.cell is not None else ""
        return f"{self.path(finding.path)}{cell}:{finding.line}:{finding.column}"

    def level(self, finding: Finding) -> Literal["applicable", "unsafe", "none"]:
        """Whether `--fix` would repair the finding as things are, only with `--unsafe-fixes`, or not at all."""
        fix = finding.fix
        if fix is None or fix.applicability == "suggestion" or not fix.edits:
            return "none"
        if self.may_fix is not None and not self.may_fix(finding):
            return "none"
        return "applicable" if fix.applicability == "safe" or self.unsafe else "unsafe"

    def page(self, finding: Finding) -> str | None:
        """Where the page of the finding's rule can be read."""
        return page_url(finding.name, finding.code, self.rule_url)

    def mark(self, finding: Finding) -> str:
        return "[*] " if self.level(finding) == "applicable" else ""


def render(name: str, result: Result, look: Look) -> str:
    """The result in the format of that name (one of `keys.FORMATS`)."""
    module = importlib.import_module(f".{name.replace('-', '_')}", __name__)
    if any(finding.cell is not None for finding in result.findings):
        from torchlint.report.cells import in_cells, in_files

        result = result if name in _BY_ITSELF else in_cells(result) if name in _BY_CELL else in_files(result)
    text: str = module.render(result, look)
    return text


@cache
def home() -> str | None:
    """The project's home page, from the metadata of the installed distribution; None when it names none."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("torchlint").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    return next((url.partition(",")[2].strip() for url in urls if url.lower().startswith("homepage,")), None)


def page_url(name: str, code: str, rule_url: str = "") -> str | None:
    """Where a rule's page can be read: where the settings say so, else in the project's repository."""
    if rule_url:
        return rule_url.replace("{name}", name).replace("{code}", code)
    base = home() if code.startswith("TL") else None  # the pages of a plugin's rules are where it says
    return f"{base}/blob/main/docs/rules/{name}.md" if base else None


def merged(source: Source, fix: Fix, first: int, last: int) -> list[str]:
    """The lines from `first` to `last` as they are after the fix, without newlines at their ends.

    All of the fix's edits lie in these lines.
    """
    start = source.lines[first - 1]
    end = source.lines[last] if last < len(source.lines) else len(source.data)
    text = bytearray()
    at = start
    for edit in sorted(fix.edits):
        text += source.data[at : edit.start] + edit.text
        at = edit.end
    text += source.data[at:end]
    return split(source.plain(bytes(text).decode()))


def split(text: str) -> list[str]:
    """The lines of a text, without newlines; only \\n, \\r and \\r\\n end a line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def fixed_lines(source: Source, fix: Fix) -> tuple[int, int]:
    """The first and the last line that the edits of a fix touch."""
    first = source.position(min(edit.start for edit in fix.edits))[0]
    line, column = source.position(max(edit.end for edit in fix.edits))
    return first, max(first, line - 1 if column == 1 else line)


def plural(count: int, word: str, ending: str = "s") -> str:
    return f"{count} {word}{'' if count == 1 else ending}"


def one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def backticks(text: str, least: int = 1) -> str:
    """As many backticks as no run of them in a text has: they end the code that the text is in Markdown."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)


def impact(code: str) -> str:
    """The impact of a rule, `medium` for the checks of a traced run, which are none."""
    from torchlint.rule import load

    rule = load().get(code)
    return rule.impact if rule is not None else "medium"


def impact_rank(code: str) -> int:
    """Where a rule stands by its impact: 0 for high, 1 for medium, 2 for low."""
    return ("high", "medium", "low").index(impact(code))


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, for they give wrong results; then by the impact of the rule, and by severity."""
    rank = {"error": 0, "warning": 1, "info": 2}
    return sorted(findings, key=lambda f: (f.severity != "error", _cheapness(f), impact_rank(f.code), rank[f.severity]))


def _cheapness(finding: Finding) -> float:
    """Sorts by what a traced run or a profile says that findings cost, the dearest first; 0 where none does."""
    if finding.evidence is None:
        return 0.0
    if finding.evidence.saves is not None:
        return -finding.evidence.saves[1]
    return -finding.evidence.measured.share if finding.evidence.measured else 0.0
