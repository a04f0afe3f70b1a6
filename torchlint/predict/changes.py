"""What a finding's repair takes out of a step: each makes operations of operations, and never more work than there was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import median_low
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

    def made(self, operation: Operation) -> bool:
        """Whether it is part of a step of an optimizer that was made there."""
        file, _, line = operation.owner.rpartition(":")
        return bool(line) and file == self.file and self.first <= int(line) <= self.last


def _is_in(operation: Operation, lines: Lines | None) -> bool:
    """Whether it is on the lines; anywhere, where none are given."""
    return lines is None or lines.holds(operation)


def without(kinds: Sequence[str], lines: Lines | None = None) -> Change:
    """Operations of those kinds are gone: waits that are not waited for, batches that are there in time."""
    wanted = frozenset(kinds)

    def change(operations: Operations) -> list[Operation]:
        return [one for one in operations if one.kind not in wanted or not _is_in(one, lines)]

    return change


def without_operators(names: Iterable[str], lines: Lines | None = None) -> Change:
    """Operators of those names are not run."""
    wanted = frozenset(names)

    def change(operations: Operations) -> list[Operation]:
        return [one for one in operations if one.name not in wanted or not _is_in(one, lines)]

    return change


_REPEATED = 3
"""Of a tensor that grew at least so often, at most the n-th part is new."""


def appended(lines: Lines | None = None) -> Change:
    """A tensor that grows by `cat` is written into memory that was there: what is new is read and written, and no more.

    What is new is by how much the next `cat` of the lines is larger than the one before; where there is one, or it did
    not grow, a third of its bytes, which is more.
    """

    def change(operations: Operations) -> list[Operation]:
        own = [one for one in operations if one.name == "cat" and _is_in(one, lines)]
        grown = [after.bytes - before.bytes for before, after in pairwise(own)]
        found = iter([*grown[:1], *grown])
        changed = []
        for one in operations:
            if one.name == "cat" and _is_in(one, lines):
                new = next(found, 0)
                one = one._replace(bytes=min(one.bytes, new) if new > 0 else one.bytes // _REPEATED)
            changed.append(one)
        return changed

    return change


_FUSED_ADAM, _FUSED_SGD = 7, 5
"""How often a fused kernel goes over the parameters: Adam reads them, gradients and two states and writes all but the
gradients, SGD has one state (its momentum)."""


def in_lists(lines: Lines) -> Change:
    """Parameters that are updated one after the other go through kernels that take many, those that do through a fused one.

    It is the step of the optimizer that was made on the lines, else what is updated by hand on them. How many
    parameters there are is how often most of its operators are run; each is still read and written as before.
    """

    def change(operations: Operations) -> list[Operation]:
        at = [
            number
            for number, one in enumerate(operations)
            if one.launches and (lines.made(one) or (lines.holds(one) and not one.owner and one.kind == "pointwise"))
        ]
        own = [operations[number] for number in at]
        if not own:
            return list(operations)
        many = any(one.name.startswith("_foreach") for one in own)
        changed = dict(zip(at, _fused(own) if many else _batched(own), strict=True))
        return [changed.get(number, one) for number, one in enumerate(operations)]

    return change


def _batched(own: Operations) -> list[Operation]:
    """The operators of single tensors, of which the first of as many as a kernel takes is a launch for all."""
    counts = Counter(one.name for one in own)
    parameters = median_low(counts.values())
    seen: Counter[str] = Counter()
    changed = []
    for one in own:
        runs = max(1, round(counts[one.name] / parameters))  # of the operator, for each parameter
        first = seen[one.name] // runs % _most(one.name) == 0
        seen[one.name] += 1
        changed.append(one if first else one._replace(launches=0))
    return changed


def _most(name: str) -> int:
    """How many tensors one launch takes: torch's `depth_to_max_tensors` (MultiTensorApply.cuh), for three lists and two."""
    return 36 if name.startswith("addc") else 64


def _fused(own: Operations) -> list[Operation]:
    """The operators of lists, as one that goes over each tensor once."""
    touched = Counter[str]()
    for one in own:
        touched[one.name] += one.bytes
    total = sum(touched.values())
    if "_foreach_sqrt" in touched:  # which reads and writes one state
        once = _FUSED_ADAM * touched["_foreach_sqrt"] // 2
    elif "_foreach_mul_" in touched:
        once = _FUSED_SGD * touched["_foreach_mul_"] // 2
    else:
        once = touched["_foreach_add_"] or total
    share = min(1.0, once / total) if total else 1.0
    launching = max(own, key=lambda one: one.launches)
    first = own.index(launching)
    return [
        one._replace(bytes=int(one.bytes * share), launches=one.launches if number == first else 0)
        for number, one in enumerate(own)
    ]


def overlapped(lines: Lines | None = None) -> Change:
    """Copies to the device come from pinned memory and are not waited for."""

    def change(operations: Operations) -> list[Operation]:
        return [
            one._replace(dtype="pinned-non-blocking") if one.kind == "h2d" and _is_in(one, lines) else one
            for one in operations
        ]

    return change


def in_precision(old: str, new: str, lines: Lines | None = None) -> Change:
    """Matrix products and convolutions of `old` are computed in `new`: float32 in tf32, float64 in float32."""

    def change(operations: Operations) -> list[Operation]:
        return [
            one._replace(dtype=new)
            if one.flops and one.dtype == old and one.kind != "depthwise" and _is_in(one, lines)
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
