"""Student's t, and when a race of several looks is decided."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal, NamedTuple

Verdict = Literal["faster", "slower", "no gain", "undecided", "too noisy"]

_BAND = math.log(1.03)
_NOISE = math.log(1.10)
_STEPS = 400


class Interval(NamedTuple):
    """The mean of some logarithms of ratios, and between what it lies."""

    middle: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Rule:
    """How often a race is looked at, and what decides it.

    Looking several times makes each look less sure: `alpha` is shared out among them. A version is faster when the lower
    end of the interval is above `gain` and above what the control shows, slower when the upper end is below the same
    on the other side, and has no gain when at best it gains 3 %. With a `goal` the race goes on until the interval is
    on one side of it or narrower than 3 % each way: the figures of such a race are the ones to publish.
    """

    looks: tuple[int, ...] = (3, 4, 6, 8, 12, 16)
    alpha: float = 0.05
    gain: float = 0.01
    goal: float = 0.0
    narrow: bool = False
    """Whether a race goes on until its interval is narrow, whatever it says: to measure, not to decide."""

    def interval(self, effects: Sequence[float]) -> Interval:
        return interval(effects, self.alpha / len(self.looks))

    def judge(self, effects: Sequence[float], controls: Sequence[float]) -> Verdict:
        """What can be said after a look: `effects` are logarithms of how many times faster each round was."""
        found = self.interval(effects)
        floor = max(math.log1p(self.gain), abs(fmean(controls)))
        if self.goal or self.narrow:
            goal = math.log(self.goal) if self.goal else math.inf
            beside = self.goal and (found.low >= goal or found.high < goal)
            if not (beside or found.half_width < _BAND):
                return "undecided"
            return "faster" if found.low > floor else "slower" if found.high < -floor else "no gain"
        if found.low > floor:
            return "faster"
        if found.high < -floor:
            return "slower"
        return "no gain" if found.high < _BAND else "undecided"

    def give_up(self, effects: Sequence[float], controls: Sequence[float]) -> Verdict:
        """What is to be said when no look has decided it: with a control this wide nobody could tell."""
        found, control = self.interval(effects), interval(controls, self.alpha)
        if self.narrow and min(abs(found.low), abs(found.high)) > max(abs(control.low), abs(control.high)):
            if found.low > math.log1p(self.gain):
                return "faster"
            if found.high < -math.log1p(self.gain):
                return "slower"
        if control.half_width > _NOISE or abs(control.middle) > _NOISE:
            return "too noisy"
        floor = max(math.log1p(self.gain), abs(control.middle))
        if self.goal and found.low > floor:
            return "faster"
        return "undecided"


def interval(values: Sequence[float], alpha: float) -> Interval:
    """Student's interval for the mean, which is outside of it with probability `alpha`."""
    middle = fmean(values)
    if len(values) < 2:
        return Interval(middle, -math.inf, math.inf)
    half = t_quantile(1 - alpha / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Interval(middle, middle - half, middle + half)


@functools.cache
def t_quantile(probability: float, freedom: int) -> float:
    """The value that Student's t with `freedom` degrees of freedom stays below with that probability (from 0.5 on)."""
    low, high = 0.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_distribution(middle, freedom) < probability else (low, middle)
    return low


def _t_distribution(value: float, freedom: int) -> float:
    """By Simpson's rule, with the density over x = sqrt(freedom) tan(u)."""
    constant = math.gamma((freedom + 1) / 2) / (math.sqrt(math.pi) * math.gamma(freedom / 2))
    width = math.atan(value / math.sqrt(freedom)) / _STEPS
    heights = [math.cos(at * width) ** (freedom - 1) for at in range(_STEPS + 1)]
    area = heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])
    return 0.5 + constant * area * width / 3
