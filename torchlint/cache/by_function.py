"""What was found out about single functions, told by their lines, for runs in which other parts of their files have changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..facts.module import Function, Module, first_line
from ..facts.units import outermost
from ..program.files import How
from ..program.places import place_of
from ..query.closures import Depends
from ..system.stamp import digest, encoded
from ..text.finding import Finding, Related
from ..text.moved import moved, outside
from .as_data import as_data, is_a, of_data

Key = tuple[str, str, int, str]
"""A function and what is told of it: path, qualified name, number among those of that name, and how it was shown to rules (a digest), or what is so."""
FEW = 16
"""Of how many files it is kept: of all of a project it would cost more to keep than it saves."""


class Shown(NamedTuple):
    """What was found out about a function: what rules said of it, or whether something is so."""

    told: Any
    """Findings as data, by the lines of the outermost function around it."""
    hangs_on: Depends | None
    """What that depends on; None where this run notes it."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The outermost function around one, by the lines of which findings are told."""

    module: Module
    function: Function
    lines: tuple[int, int]
    """Its first and its last one."""

    @classmethod
    def of(cls, function: Function) -> Extent:
        """That around a function, which is not the body of its module."""
        around = outermost(function)
        node = around.node
        return cls(function.module, around, (first_line(node), node.end_lineno or node.lineno))  # type: ignore[arg-type, union-attr]

    @property
    def _span(self) -> tuple[int, int]:
        return self.module.text.span(*self.lines)

    def told(self, findings: Iterable[Finding]) -> Any:
        """Findings as data, by lines in it; their related places in other functions of the file by lines in those."""
        return [self._told(finding) for finding in findings]

    def _told(self, finding: Finding) -> Any:
        near = moved(finding, 1 - self.lines[0], -self._span[0])
        places = [self._place(one) for one in finding.related]
        related = (
            one if place is None else replace(one, line=one.line - place.lines[0])
            for one, place in zip(finding.related, places, strict=True)
        )
        names = [None if one is None else place_of(one.function)[1:] for one in places]
        return [as_data(replace(near, related=tuple(related))), names]

    def findings(self, told: Any) -> list[Finding]:
        """The findings of which data tells, where it is now. Raises TypeError and ValueError for what is not well formed."""
        return [self._finding(data, names) for data, names in told]

    def _finding(self, data: Any, names: Any) -> Finding:
        near = of_data(self.module.path, data)
        starts = (0 if name is None else self._start(*name) for name in names)
        related = (replace(one, line=one.line + start) for one, start in zip(near.related, starts, strict=True))
        return moved(replace(near, related=tuple(related)), self.lines[0] - 1, self._span[0])

    def _start(self, name: Any, number: Any) -> int:
        """The first line of a function of the file."""
        function = self.module.numbered(is_a(str, name), is_a(int, number))
        if function is None:
            raise ValueError(name)
        return Extent.of(function).lines[0]

    def _place(self, related: Related) -> Extent | None:
        """The outermost function of the file around a related place; None where there is none."""
        function = self.module.function_at(related.line) if related.path == self.module.path else self.module.body
        return Extent.of(function) if function is not self.module.body else None

    def related(self, findings: Iterable[Finding]) -> list[Function]:
        """The outermost functions of the file around what is related to findings."""
        places = (self._place(one) for finding in findings for one in finding.related)
        return [place.function for place in places if place is not None]

    def beyond(self, findings: Iterable[Finding]) -> set[str]:
        """The files of which findings tell lines that are in no function of this one."""
        every = list(findings)
        others = {one.path for finding in every for one in finding.related if self._place(one) is None}
        return others | outside(every, self.module.path, self.lines, self._span)


class ByFunction:
    """What rules say of functions in a run."""

    def __init__(self, known: Mapping[Key, Shown]) -> None:
        """`known` is what they would say again."""
        self._known = known
        self._process = os.getpid()
        self.said: dict[Key, Shown] = {}
        """Of those that were shown."""

    @property
    def is_of_here(self) -> bool:
        """Whether it was made in this process: what a fork is told would not come back."""
        return self._process == os.getpid()

    def again(self, key: Key, extent: Extent) -> list[Finding] | None:
        """What was said, where it is now; None where that is not known."""
        known = self._known.get(key)
        if known is None:
            return None
        try:
            found = extent.findings(known.told)
        except (TypeError, ValueError):
            return None
        self.said[key] = known
        return found

    def told_again(self, key: Key) -> Shown | None:
        """What was found out; None where that is not known."""
        known = self.said.get(key) or self._known.get(key)
        if known is None or not isinstance(known.told, bool):
            return None
        self.said[key] = known
        return known

    def learn(self, key: Key, told: Any) -> None:
        """Told what is found out."""
        self.said[key] = Shown(told, None)


def key_of(function: Function, how: How, extent: Extent) -> Key:
    """What is kept of a function that is shown in some way."""
    lines = sorted(line - extent.lines[0] for line in how.lines) if how.lines is not None else None
    about = (repr(sorted(part)) if isinstance(part, frozenset) else repr(part) for part in how.about)
    text = digest(*map(encoded, (how.dispatch, repr(lines), *about))).hex()
    return *place_of(function), text


def latest(said: Mapping[Key, Shown]) -> dict[Key, Shown]:
    """Those of the first few files."""
    paths = dict.fromkeys(key[0] for key in said)
    few = {path for path, _ in zip(paths, range(FEW), strict=False)}
    return {key: one for key, one in said.items() if key[0] in few}
