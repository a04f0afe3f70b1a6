"""The report for people: message, code frame, why it is so, and the fix as a diff."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.report.cells import in_cell
from torchlint.system.printable import printable
from torchlint.text.finding import Finding, Fix
from torchlint.text.source import Source

from . import Look, fixed_lines, merged, one_line
from .paint import SEVERITY, Paint, Style

if TYPE_CHECKING:
    from torchlint.lint.run import Result

_CONTEXT = 2
_WIDEST = 140
"""A longer line of the frame is cut."""
_MOST_LINES = 10
"""A range of more lines is shown by its first four and its last two."""
_CUT = "…"


def render(result: Result, look: Look) -> str:
    return "".join("\n".join([*_finding(result, finding, look), "", ""]) for finding in result.findings)


def _finding(result: Result, finding: Finding, look: Look) -> Iterator[str]:
    paint = Paint(look)
    source = result.source(finding.path)
    frame = _Frame(source, finding, paint) if source is not None else None
    margin = " " * frame.gutter if frame else ""
    yield f"{paint.code(finding)} {paint(look.mark(finding), 'cyan')}{paint(one_line(finding.message), 'bold')}"
    yield f"{margin}{paint('-->', 'blue')} {look.place(in_cell(result, finding))}"
    if frame:
        yield from frame.lines()
    for related in in_cell(result, finding).related:
        place = f"{look.path(related.path)}:{related.line}:{related.column}"
        yield f"{margin}{paint(':::', 'blue')} {place} {one_line(related.message)}"
    yield f"{margin} {paint('=', 'blue')} {paint(finding.severity, SEVERITY[finding.severity])}: {finding.name}"
    if (evidence := finding.evidence) is not None:
        style: Style = "red" if evidence.verdict == "confirmed" else "green" if evidence.verdict == "refuted" else "dim"
        yield f"{margin} {paint('=', 'blue')} {paint(evidence.verdict, style)}: {one_line(evidence.detail)}"
    if finding.fix is not None:
        yield f"{paint('help', 'cyan')}{paint(f': {one_line(finding.fix.title)}', 'bold')}"
        if source is not None and finding.fix.edits:
            yield from _diff(source, finding.fix, paint)
        yield from _note(finding.fix, paint)


def _note(fix: Fix, paint: Paint) -> Iterator[str]:
    notes = {
        "unsafe": "This is an unsafe fix and may change runtime behavior",
        "suggestion": "This is a suggestion and is never applied",
        "safe": "",
    }
    note = notes[fix.applicability]
    if note:
        yield f"{paint('note', 'yellow')}{paint(f': {note}', 'bold')}{f': {one_line(fix.note)}' if fix.note else ''}"


class _Frame:
    """The lines around a range, the range underlined."""

    def __init__(self, source: Source, finding: Finding, paint: Paint) -> None:
        self.source = source
        self.paint = paint
        count = len(source.lines)
        self.first = min(finding.line, count)
        self.start = finding.column - 1
        self.last, self.end = min(max(finding.end_line, self.first), count), finding.end_column - 1
        if self.end <= 0 and self.last > self.first:  # an end at the start of a line lies at the end of the one before
            self.last -= 1
            self.end = len(source.line_text(self.last))
        lowest, highest = source.around(self.first)
        self.before = self._trimmed(range(max(lowest, self.first - _CONTEXT), self.first))
        self.after = self._trimmed(range(self.last + 1, min(highest, self.last + _CONTEXT) + 1)[::-1])[::-1]
        self.gutter = len(str(source.row(self.after[-1] if self.after else self.last)))
        self.shift = self._shift()

    def lines(self) -> Iterator[str]:
        yield self._row(None)
        if self.first == self.last:
            yield from self._single()
        else:
            yield from self._multiple()
        if self.after:
            yield self._row(None)

    def _trimmed(self, numbers: range) -> list[int]:
        """Without the blank lines at the outer end, which is the first one."""
        shown = list(numbers)
        while shown and not self.source.line_text(shown[0]).strip():
            del shown[0]
        return shown

    def _shift(self) -> int:
        """How many columns are cut on the left so that the range can be seen."""
        if self.first != self.last:
            return 0
        text = self.source.line_text(self.first)
        start, end = _width(text[: self.start]), _width(text[: self.end])
        return 0 if end <= _WIDEST - 1 else max(0, start - 60)

    def _row(self, number: int | None, text: str = "") -> str:
        shown = "" if number is None else self.source.row(number)
        return f"{self.paint(f'{shown:>{self.gutter}} |', 'blue')}{f' {text}' if text else ''}"

    def _code(self, number: int) -> str:
        return self.paint.python(_cut(_expanded(self.source.line_text(number)), self.shift))

    def _mark(self, text: str) -> str:
        return self.paint(text, "red")

    def _single(self) -> Iterator[str]:
        text = self.source.line_text(self.first)
        left = _width(text[: self.start]) - self.shift
        carets = max(1, min(_width(text[self.start : self.end]), _WIDEST - left))
        for number in [*self.before, self.first]:
            yield self._row(number, self._code(number))
        yield self._row(None, " " * left + self._mark("^" * carets))
        for number in self.after:
            yield self._row(number, self._code(number))

    def _multiple(self) -> Iterator[str]:
        for number in self.before:
            yield self._row(number, f"  {self._code(number)}".rstrip())
        first = self.source.line_text(self.first)
        if first[: self.start].strip():
            yield self._row(self.first, f"  {self._code(self.first)}")
            yield self._row(None, self._mark(" " + "_" * (_width(first[: self.start]) + 1) + "^"))
        else:
            yield self._row(self.first, f"{self._mark('/')} {self._code(self.first)}")
        inner = range(self.first + 1, self.last + 1)
        long = self.last - self.first >= _MOST_LINES
        for number in [*inner[:3], None, *inner[-2:]] if long else inner:
            if number is None:
                yield self.paint("...", "blue")
            else:
                yield self._row(number, f"{self._mark('|')} {self._code(number)}".rstrip())
        under = _width(self.source.line_text(self.last)[: max(self.end - 1, 0)]) + 1
        yield self._row(None, self._mark("|" + "_" * under + "^"))
        for number in self.after:
            yield self._row(number, f"  {self._code(number)}".rstrip())


def _expanded(text: str) -> str:
    return printable(text.replace("\t", "    "))


def _width(text: str) -> int:
    """Columns on a terminal."""
    text = _expanded(text)
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _cut(text: str, shift: int) -> str:
    """The part of a line that fits, with an ellipsis for what doesn't."""
    if shift:
        text = _CUT + text[shift + 1 :]
    return text[: _WIDEST - 1] + _CUT if len(text) > _WIDEST else text


def _diff(source: Source, fix: Fix, paint: Paint) -> Iterator[str]:
    """The lines that change, with the new number of each line that is there afterwards."""
    import difflib

    first, last = fixed_lines(source, fix)
    lowest, highest = source.around(first)[0], source.around(last)[1]
    first, last = max(lowest, first - 1), min(last + 1, highest)
    if not source.line_text(last) and last == len(source.lines):
        last = max(first, last - 1)  # the empty line that a newline at the end of a file starts
    old = [source.line_text(number) for number in range(first, last + 1)]
    new = merged(source, fix, first, last)
    groups = list(difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(1))
    numbers = [j for group in groups for _, _, _, start, end in group for j in range(start, end)]
    row = source.row(first)
    gutter = len(str(row + max(numbers, default=0)))
    bar = paint(f"{'':<{gutter}} |", "blue")
    yield bar
    for place, group in enumerate(groups):
        if place:
            yield paint("-" * 80, "blue")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                for j in range(j1, j2):
                    yield f"{paint(f'{row + j:<{gutter}} |', 'blue')} {paint.python(printable(new[j]))}".rstrip()
                continue
            for line in old[i1:i2]:
                yield f"{'':<{gutter}} {paint('-', 'red')} {paint(printable(line), 'red')}".rstrip()
            for j in range(j1, j2):
                number = paint(f"{row + j:<{gutter}}", "blue")
                yield f"{number} {paint('+', 'green')} {paint(printable(new[j]), 'green')}".rstrip()
    yield bar
