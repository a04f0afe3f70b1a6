"""What a finding's repair takes out of a step: each makes operations of operations, and never more work than there was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from torchlint.messages.event import Operation

Operations = Sequence[Operation]
Change = Callable[[Operations], list[Operation]]


class Lines(NamedTuple):
    """Lines of a file, all of what happens there or only what does inside one line of a library."""

    file: str
    first: int
    last: int
    via: str | None = None

    def holds(self, operation: Operation) -> bool:
        here = operation.file == self.file and self.first <= operation.line <= self.last
        return here and (self.via is None or self.via == operation.via)


def without(kinds: Sequence[str], lines: Lines | None = None) -> Change:
    """Operations of those kinds are gone: waits that are not waited for, batches that are there in time."""
    wanted = frozenset(kinds)

    def change(operations: Operations) -> list[Operation]:
        return [one for one in operations if one.kind not in wanted or not (lines is None or lines.holds(one))]

    return change


def without_operators(names: Iterable[str], lines: Lines | None = None) -> Change:
    """Operators of those names are not run."""
    wanted = frozenset(names)

    def change(operations: Operations) -> list[Operation]:
        return [one for one in operations if one.name not in wanted or not (lines is None or lines.holds(one))]

    return change


_REPEATED = 3
"""Of a tensor that grew at least so often, at most the n-th part is new."""


def appended(lines: Lines | None = None) -> Change:
    """A tensor that grows by `cat` is written into memory that was there: what is new is read and written, and no more.

    What is new is by how much the next `cat` of the lines is larger than the one before; where there is one, or it did
    not grow, a third of its bytes, which is more.
    """

    def change(operations: Operations) -> list[Operation]:
        own = [one for one in operations if one.name == "cat" and (lines is None or lines.holds(one))]
        grown = [after.bytes - before.bytes for before, after in pairwise(own)]
        found = iter([*grown[:1], *grown])
        changed = []
        for one in operations:
            if one.name == "cat" and (lines is None or lines.holds(one)):
                new = next(found, 0)
                one = one._replace(bytes=min(one.bytes, new) if new > 0 else one.bytes // _REPEATED)
            changed.append(one)
        return changed

    return change


def overlapped(lines: Lines | None = None) -> Change:
    """Copies to the device come from pinned memory and are not waited for."""

    def change(operations: Operations) -> list[Operation]:
        return [
            one._replace(dtype="pinned-non-blocking")
            if one.kind == "h2d" and (lines is None or lines.holds(one))
            else one
            for one in operations
        ]

    return change


def in_precision(old: str, new: str, lines: Lines | None = None) -> Change:
    """Matrix products and convolutions of `old` are computed in `new`: float32 in tf32, float64 in float32."""

    def change(operations: Operations) -> list[Operation]:
        return [
            one._replace(dtype=new)
            if one.flops and one.dtype == old and one.kind != "depthwise" and (lines is None or lines.holds(one))
            else one
            for one in operations
        ]

    return change


def together(changes: Sequence[Change]) -> Change:
    """All of them, one after the other."""

    def change(operations: Operations) -> list[Operation]:
        for each in changes:
            operations = each(operations)
        return list(operations)

    return change
