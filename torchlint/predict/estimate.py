"""A recorded step on a GPU, as an interval, and what changes of it save: each simulated anew, never added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from torchlint.messages.event import Event, Operation

from ..system.cached import cached_property
from .changes import Change
from .constants import Constants
from .gpus import Gpu
from .timeline import Step, light, step, tasks

Band = Literal["negligible", "small", "medium", "large"]
_BANDS: tuple[tuple[float, Band], ...] = ((0.01, "negligible"), (0.05, "small"), (0.20, "medium"))
_APART = 3.0
"""How far host and device have to be apart for one of them to be called what bounds the step."""


class Interval(NamedTuple):
    """The least, the likely and the most."""

    low: float
    middle: float
    high: float


def band(share: float) -> Band:
    """Under 1 %, 1 to 5, 5 to 20, and over 20 % of a step."""
    return next((name for limit, name in _BANDS if share < limit), "large")


@dataclass(frozen=True, slots=True)
class Saving:
    """What a change saves: shares of the step from 0 to 1, and seconds, which are worth telling of a measured GPU only."""

    share: Interval
    seconds: Interval

    @property
    def band(self) -> Band:
        return band(self.share.middle)


@dataclass(frozen=True)
class Estimate:
    """The operations of one step, on that GPU with those constants."""

    operations: tuple[Operation, ...]
    gpu: Gpu
    constants: Constants

    @cached_property
    def _cases(self) -> list[Constants]:
        """Host and device at their least, likely and most; the likely case is first."""
        own = self.constants
        hosts = (own.host, own.host_least, own.host_most)
        return [replace(_slower(own, factor), host=host) for factor in (1.0, 1 / own.wide, own.wide) for host in hosts]

    @cached_property
    def _steps(self) -> list[Step]:
        return self._simulated(self.operations)

    def _simulated(self, operations: Sequence[Operation]) -> list[Step]:
        ideal = sum(light(one, self.gpu) for one in operations)
        return [step(tasks(operations, self.gpu, case), ideal) for case in self._cases]

    @property
    def step(self) -> Step:
        """The likely step."""
        return self._steps[0]

    @property
    def seconds(self) -> Interval:
        return _interval([one.seconds for one in self._steps])

    @property
    def host(self) -> Interval:
        return _interval([one.host for one in self._steps])

    @property
    def device(self) -> Interval:
        return _interval([one.device for one in self._steps])

    @property
    def bound(self) -> str:
        """`host` or `device` where the two differ by so much that it can be said, else ""."""
        likely = self.step
        if likely.host > _APART * likely.device:
            return "host"
        return "device" if likely.device > _APART * likely.host else ""

    def saving(self, change: Change) -> Saving:
        """What the change saves; between nothing and the step."""
        after = self._simulated(change(self.operations))
        saved = [max(0.0, before.seconds - now.seconds) for before, now in zip(self._steps, after, strict=True)]
        shares = [
            each / before.seconds if before.seconds else 0.0 for each, before in zip(saved, self._steps, strict=True)
        ]
        return Saving(_interval(shares), _interval(saved))


def _interval(values: Sequence[float]) -> Interval:
    return Interval(min(values), values[0], max(values))


def _slower(constants: Constants, factor: float) -> Constants:
    return replace(
        constants,
        matrix=constants.matrix / factor,
        convolution=constants.convolution / factor,
        grouped=constants.grouped / factor,
        depthwise=constants.depthwise / factor,
        memory=constants.memory / factor,
        pageable=constants.pageable / factor,
    )


def at_batch(
    small: Sequence[Operation], large: Sequence[Operation], batches: tuple[int, int], batch: int
) -> tuple[Operation, ...] | None:
    """The step with another batch, from two that were recorded; None where they run other operators."""
    first, second = batches
    if first == second or [(one.kind, one.name, one.line) for one in small] != [
        (o.kind, o.name, o.line) for o in large
    ]:
        return None
    share = (batch - first) / (second - first)

    def between(before: int, after: int) -> int:
        return max(0, round(before + (after - before) * share))

    return tuple(
        one._replace(
            flops=between(one.flops, other.flops),
            bytes=one.bytes if one.kind == "data" else between(one.bytes, other.bytes),
            unordered=between(one.unordered, other.unordered),
        )
        for one, other in zip(small, large, strict=True)
    )


def batch_of(events: Sequence[Event]) -> int:
    """How many examples the loaders of a recorded run put into a batch, 0 where it has none."""
    told = next((event.data for event in reversed(events) if event.kind == "work"), None)
    return int(str((told or {}).get("batch", 0)))


def operations_of(events: Sequence[Event], waited: Sequence[tuple[str, int, float]] = ()) -> tuple[Operation, ...]:
    """The recorded step, behind what it waited for its loaders (file, line, seconds); () where none was recorded."""
    told = next((event.data for event in reversed(events) if event.kind == "work"), None)
    rows, sequence = (told or {}).get("rows"), (told or {}).get("sequence")
    if not isinstance(rows, list) or not isinstance(sequence, list):
        return ()
    table = [Operation(*row) for row in rows]
    loaders = [
        Operation("data", "DataLoader", bytes=round(seconds * 1e6), launches=0, file=file, line=line)
        for file, line, seconds in waited
    ]
    return (*loaders, *(table[number] for number in sequence))
