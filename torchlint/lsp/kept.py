"""What rules said of a function of an open file, told by its lines: they may have come to lie elsewhere since."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ..program.files import Said
from ..text.finding import Finding, Related
from ..text.moved import moved, outside
from .open_file import OpenFunction, OpenModule


class Kept:
    """What was said of a function, none of which hangs on other text of its file than that of the function around it."""

    def __init__(self, said: Said, function: OpenFunction, opened: Callable[[str], OpenModule | None]) -> None:
        self._said = said
        self._start = function.unit_start
        self._function = function
        self._related: dict[Related, tuple[OpenModule, int]] = {}
        """The labels of the lines of other places."""
        for finding in said[0]:
            for related in finding.related:
                module = opened(related.path)
                if module is not None:
                    self._related[related] = module, module.label(related.line)

    def now(self) -> Said:
        """The same, by the lines as they are now."""
        findings, errors = self._said
        if not findings:
            return self._said
        line, offset = self._function.unit_start
        more, further = line - self._start[0], offset - self._start[1]
        if not more and not further and all(self._moved(one) == one for one in self._related):
            return self._said
        return [self._at(finding, more, further) for finding in findings], errors

    def _at(self, finding: Finding, more: int, further: int) -> Finding:
        return replace(moved(finding, more, further), related=tuple(map(self._moved, finding.related)))

    def _moved(self, related: Related) -> Related:
        known = self._related.get(related)
        return related if known is None else replace(related, line=known[0].line(known[1]))


def beyond(findings: Iterable[Finding], function: OpenFunction) -> set[str]:
    """The files of findings that tell more than lines of the function around them."""
    lines = function.unit_lines
    return outside(findings, function.module.path, lines, function.module.text.span(*lines))
