"""Measuring a program: several versions of it, or ways to compile it, as candidates of one race against the first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, quantiles, stdev

from torchlint.messages.order import Done
from torchlint.system.failure import Failure

from .compare import Numbers
from .intervals import Rule, interval
from .lab import Lab
from .numbers import Judgement
from .race import Clocks, Raced, Races, Track, track
from .versions import Version

LOOKS = (3, 4, 6, 8, 12, 16)
_PERCENTILES = (50, 90, 99)


@dataclass(frozen=True)
class Row:
    """One candidate: how it ran alone, how it did in the race, and its numbers against those of the first."""

    name: str
    scouted: Done | None = None
    seconds: tuple[float, ...] = ()
    """A step, of each round."""
    times: tuple[float, ...] = ()
    """Of each turn that counts."""
    peak: int = 0
    raced: Raced | None = None
    judgement: Judgement | None = None
    failure: str = ""
    """Why there are no figures, "" if there are."""

    @property
    def step(self) -> float:
        """Seconds a step."""
        return fmean(self.seconds)

    @property
    def between(self) -> tuple[float, float]:
        """Between which seconds a step lies, with 95 % certainty; of logarithms, as noise is a factor."""
        found = interval([math.log(one) for one in self.seconds], 0.05)
        return math.exp(found.low), math.exp(min(found.high, 700.0))

    @property
    def compiling(self) -> float:
        """Seconds of compiling in a first run, with nothing kept from an earlier one."""
        return self.scouted.compiling if self.scouted else 0.0

    @property
    def starting(self) -> float:
        """Seconds until the first step of that run is done, without compiling."""
        return max(0.0, self.scouted.wall[0] - self.compiling) if self.scouted and self.scouted.wall else 0.0

    @property
    def percentiles(self) -> dict[int, float]:
        """Of the seconds of a turn."""
        cut = quantiles(self.times, n=100, method="inclusive") if len(self.times) > 1 else [*self.times] * 99
        return {at: cut[at - 1] for at in _PERCENTILES} if cut else {}


@dataclass(frozen=True)
class Bench:
    """What was measured: the first row is what the others are compared with."""

    entry: str
    rows: tuple[Row, ...]
    track: Track
    latency: bool
    """Whether a step is a call of a module: the program serves, it does not train."""

    @property
    def first(self) -> Row:
        return self.rows[0]

    @property
    def control(self) -> float:
        """How many times faster the first one was than itself, on average."""
        drifts = [one.drift for row in self.rows if row.raced for one in row.raced.rounds]
        return math.exp(fmean(drifts)) if drifts else 1.0


def measure(
    lab: Lab, versions: Sequence[Version], clock: Clocks, seconds: float, say: Callable[[str], None] = lambda _: None
) -> Bench:
    """Run each version alone, compare its numbers with the first one's, and race them all. Raises Failure where the
    first one can't be run; what befalls the others is said in their rows."""
    rows: list[Row] = []
    for version in versions:
        say(f"{version.name}: running it alone")
        rows.append(_scouted(lab, version, first=not rows))
    base = versions[0]
    if not all(row.failure for row in rows[1:]):
        say(f"{base.name}: recording its numbers")
        numbers = Numbers.of(lab, base)
        for number, row in enumerate(rows):
            if number and not row.failure:
                say(f"{row.name}: numbers")
                rows[number] = _judged(row, numbers, versions[number])
    running = [number for number, row in enumerate(rows) if not row.failure]
    others = [versions[number] for number in running[1:]]
    scouts = [row.scouted for row in rows if row.scouted and not row.failure]
    compiled = [tick for one in scouts for tick in one.compiled_at]
    latency = lab.tick == "forward"
    course = track(scouts[0], clock, compiled=compiled, single=latency)
    if len({one.ticks for one in scouts}) > 1:
        course = replace(course, how="whole runs", block=0, why="the versions take unequal numbers of steps")

    def told(raced: Raced, most: int) -> None:
        say(f"round {len(raced.rounds)} of at most {most}")

    races = Races(lab, course)
    rule = Rule(looks=LOOKS, narrow=True)
    field = races.field(base, others or [base], rule, seconds, told)
    rows[0] = _first(rows[0], field)
    for number, raced in zip(running[1:], field, strict=False):
        rows[number] = _raced(rows[number], raced)
    if not rows[0].seconds:
        raise Failure(field[0].reason or f"{base.name} could not be raced")
    return Bench(base.entry, tuple(rows), course, latency)


def _scouted(lab: Lab, version: Version, first: bool) -> Row:
    try:
        return Row(version.name, lab.scout(version))
    except Failure as error:
        if first:
            raise
        return Row(version.name, failure=str(error).splitlines()[0])


def _judged(row: Row, numbers: Numbers, version: Version) -> Row:
    try:
        return replace(row, judgement=numbers.with_(version).judgement)
    except Failure as error:
        return replace(row, failure=str(error).splitlines()[0])


def _first(row: Row, field: Sequence[Raced]) -> Row:
    """The first one's seconds: it ran twice in every round, of which the longest race has the most."""
    longest = max(field, key=lambda raced: len(raced.rounds))
    return replace(
        row,
        seconds=tuple((one.base + one.control) / 2 / one.steps for one in longest.rounds),
        times=tuple(time for one in longest.rounds for time in (*one.times[0], *one.times[1])),
        peak=longest.peaks[0],
    )


def _raced(row: Row, raced: Raced) -> Row:
    if raced.verdict == "broken":
        return replace(row, failure=raced.reason)
    return replace(
        row,
        raced=raced,
        seconds=tuple(one.other / one.steps for one in raced.rounds),
        times=tuple(time for one in raced.rounds for time in one.times[2]),
        peak=raced.peaks[1],
    )


@dataclass(frozen=True)
class Kept:
    """What a run has kept for later ones to be compared with, of one candidate."""

    seconds: tuple[float, ...]
    peak: int
    breaks: int
    numbers: str


def worse(row: Row, kept: Kept, tolerance: float) -> list[str]:
    """In what a candidate is worse than it was: slower by more than the tolerance and for certain (Welch's test at 95 %
    on logarithms of seconds a step), more memory by more than that, more graph breaks."""
    found = []
    before, now = ([math.log(one) for one in series] for series in (kept.seconds, row.seconds))
    ratio = math.exp(fmean(now) - fmean(before))
    if ratio > 1 + tolerance and _certainly_more(now, before):
        found.append(f"a step takes {ratio:.2f} times as long")
    if kept.peak and row.peak > (1 + tolerance) * kept.peak:
        found.append(f"its memory is {row.peak / kept.peak:.2f} times as much")
    if row.scouted and row.scouted.breaks > kept.breaks:
        found.append(f"{row.scouted.breaks} graph breaks, {kept.breaks} before")
    return found


def _certainly_more(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether the mean of one series is above the other's, by Welch's t test at 95 %."""
    from .intervals import t_quantile

    if min(len(one), len(other)) < 2:
        return False
    parts = [stdev(series) ** 2 / len(series) for series in (one, other)]
    error = math.sqrt(sum(parts))
    if error == 0:
        return fmean(one) > fmean(other)
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(series) - 1) for part, series in zip(parts, (one, other), strict=True)
    )
    return fmean(one) - fmean(other) > t_quantile(0.95, max(1, int(freedom))) * error
