"""What became of a candidate: its numbers, its race, and the decision."""

from __future__ import annotations

from dataclasses import dataclass, field

from .candidates import Candidate
from .decide import Decision
from .metric import Measured
from .numbers import Judgement
from .race import Raced


@dataclass(frozen=True, kw_only=True)
class Found:
    """What is known of a change, of one or of the whole: its numbers, its race, its counts a step, its metric."""

    judgement: Judgement | None = None
    raced: Raced | None = None
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    metric: Measured | None = None
    seconds: float = 0.0
    """How long it took to find out."""


@dataclass(frozen=True)
class Tried(Found):
    """A candidate and what became of it."""

    candidate: Candidate
    decision: Decision
    known: bool = False
    """Whether it is remembered from an earlier run."""
