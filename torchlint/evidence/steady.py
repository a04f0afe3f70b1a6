"""The steps of a traced run that count: without warm-up, and without what comes after the last one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..messages.event import Event


@dataclass(frozen=True, slots=True)
class Steady:
    """The steps from `first` up to, not including, `last`. Without warm-up (`whole`), all of a run that took no second."""

    first: int
    last: int
    whole: bool = False

    @classmethod
    def of(cls, events: Iterable[Event]) -> Steady:
        steps = [(event.step, event.name) for event in events if event.kind == "step"]
        done = max((number for number, _ in steps), default=0)
        before = max((number for number, kind in steps if kind != steps[-1][1]), default=0)
        if done - before < 2:
            before = 0
        count = done - before
        return cls(before + (2 if count > 2 else 1), done) if count > 1 else cls(0, 1, whole=True)

    def __len__(self) -> int:
        return self.last - self.first

    def holds(self, event: Event) -> bool:
        return self.whole or self.first <= event.step < self.last

    def reached(self, event: Event) -> bool:
        """Whether it happened after the warm-up; what comes after the last step is no part of any."""
        return self.whole or event.step >= self.first
