"""Races: two versions in lock-step, one step of each at a time in random order, and the first one twice as a control.

Every round starts each version anew. Where lock-step can't be (other processes take part, or no steps are taken), whole
runs take turns instead. A race is looked at after a few rounds, and ends when a look decides it (torchlint.prove.intervals).
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Literal

from torchlint.messages.order import Done

from .intervals import Interval, Rule, Verdict, interval
from .lab import Lab, outside
from .versions import Version

Clock = Literal["cpu", "wall", "device"]
How = Literal["lock-step", "whole runs"]

WARM_UP = 2
"""Steps at the start of a run that do not count: they load code and allocate memory."""
_SHORT_STEP = 0.005
_DEVICE_BLOCK = 0.05
_DEVICE_STEPS = 5


@dataclass(frozen=True)
class Track:
    """How a race of one program is run: which clock counts, in which way versions take turns, and how many steps a turn."""

    clock: Clock = "cpu"
    how: How = "lock-step"
    block: int = 1
    why: str = ""
    """Why it is not in lock-step."""
    warm: int = WARM_UP
    """Turns at the start of a run that do not count."""


@dataclass(frozen=True)
class Round:
    """Seconds of the steps that count: of the version twice, and of the other."""

    base: float
    control: float
    other: float
    steps: int
    times: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]] = ((), (), ())
    peaks: tuple[int, int] = (0, 0)
    """Bytes of memory that the two versions took at most."""

    @property
    def effect(self) -> float:
        """The logarithm of how many times faster the other version is."""
        return math.log((self.base + self.control) / 2 / self.other)

    @property
    def drift(self) -> float:
        """The same for the version against itself."""
        return math.log(self.base / self.control)


_NOTHING = Interval(0.0, -math.inf, math.inf)


@dataclass(frozen=True)
class Raced:
    """What a race said. The interval is corrected for the number of looks."""

    verdict: Verdict | Literal["broken"]
    track: Track
    rounds: tuple[Round, ...] = ()
    seconds: float = 0.0
    effect: Interval = _NOTHING
    control: Interval = _NOTHING
    reason: str = ""

    @property
    def speedup(self) -> float:
        return math.exp(self.effect.middle)

    @property
    def low(self) -> float:
        return math.exp(self.effect.low)

    @property
    def high(self) -> float:
        return math.exp(self.effect.high)

    @property
    def before(self) -> float:
        """Seconds a step of the first version."""
        return _a_step([(one.base + one.control) / 2 for one in self.rounds], self.rounds)

    @property
    def after(self) -> float:
        return _a_step([one.other for one in self.rounds], self.rounds)

    @property
    def peaks(self) -> tuple[int, int]:
        """The most memory of each version, as the median round has it."""
        pairs = [sorted(one.peaks[at] for one in self.rounds) for at in (0, 1)]
        return (pairs[0][len(pairs[0]) // 2], pairs[1][len(pairs[1]) // 2]) if self.rounds else (0, 0)


def _a_step(totals: Sequence[float], rounds: Sequence[Round]) -> float:
    steps = sum(one.steps for one in rounds)
    return sum(totals) / steps if steps else 0.0


Told = Callable[["Raced", int], None]
"""Is told after each round how the race stands, and how many rounds it may take."""


@dataclass
class Races:
    """Runs races in a lab."""

    lab: Lab
    track: Track
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    def race(self, version: Version, other: Version, rule: Rule, seconds: float, told: Told = lambda *_: None) -> Raced:
        """Race until a look decides it, or the time is up."""
        return self.field(version, [other], rule, seconds, told)[0]

    def field(
        self, version: Version, others: Sequence[Version], rule: Rule, seconds: float, told: Told = lambda *_: None
    ) -> list[Raced]:
        """Race several versions against one, all in the same rounds, each until a look decides it, or the time is up."""
        raced = [Raced("undecided", self.track)] * len(others)
        racing = list(range(len(others)))
        started = time.monotonic()
        longest, held = 0.0, 0
        while racing and held < rule.looks[-1]:
            begun = time.monotonic()
            found = self._round(version, [others[number] for number in racing])
            held += 1
            longest = max(longest, time.monotonic() - begun)
            spent = time.monotonic() - started
            for number, one in zip(list(racing), found, strict=True):
                if isinstance(one, str):
                    raced[number] = replace(raced[number], verdict="broken", reason=one)
                    racing.remove(number)
                    continue
                raced[number] = _standing([*raced[number].rounds, one], rule, self.track, spent)
                told(raced[number], rule.looks[-1])
                if held in rule.looks:
                    raced[number] = _decided(raced[number], rule.judge)
                    if raced[number].verdict != "undecided":
                        racing.remove(number)
            coming = next((look for look in rule.looks if look > held), held)
            if held >= rule.looks[0] and spent + (coming - held) * longest > seconds:
                break  # not even the next look would come in time
        for number in racing:
            raced[number] = _decided(raced[number], rule.give_up)
        return raced

    def _round(self, version: Version, others: Sequence[Version]) -> list[Round | str]:
        """One round: for each of the others what it gave, or why there could be none."""
        versions = [version, version, *others]
        trees = [*self.lab.trees(version, 2), *(tree for other in others for tree in self.lab.trees(other, 1))]
        conditions = self.lab.conditions
        orders = [
            self.lab.order(one, tree, seconds=len(versions) * conditions.seconds)
            for one, tree in zip(versions, trees, strict=True)
        ]
        if self.track.how == "lock-step":
            done = self.lab.runner.lockstep(orders, self.chance.getrandbits(32), self.track.block)
        else:
            done = [Done("died")] * len(orders)
            for number in self.chance.sample(range(len(orders)), len(orders)):
                (done[number],) = self.lab.runner.lockstep([orders[number]], 0, 0)
        self.lab.forget(orders)
        failed = []
        for one, of in zip(done, versions, strict=True):
            outside(one, of)
            failed.append("" if one.ran else f"{of.name} fails while it is raced: {one.detail or one.end}")
        return [
            failed[0] or failed[1] or failed[number] or self._counted([*done[:2], done[number]])
            for number in range(2, len(done))
        ]

    def _counted(self, done: Sequence[Done]) -> Round | str:
        if len({one.ticks for one in done}) > 1:
            return f"the versions take {done[0].ticks} and {done[2].ticks} steps"
        times = (self._times(done[0]), self._times(done[1]), self._times(done[2]))
        base, control, another = (sum(one) for one in times)
        if min(base, control, another) <= 0:
            return "the steps that count take no time"
        return Round(base, control, another, self._steps(done[0]), times, (done[0].peak, done[2].peak))

    def _times(self, one: Done) -> tuple[float, ...]:
        """The seconds that count, by turns."""
        of_cpu = self.track.clock == "cpu"
        if self.track.how == "lock-step":
            return (one.cpu if of_cpu else one.wall)[self.track.warm :]
        if len(one.wall) < 2:  # it takes no step
            return (one.usage if of_cpu else sum(one.wall),)
        return (one.usage - one.cpu[0] if of_cpu else sum(one.wall[1:]),)

    def _steps(self, one: Done) -> int:
        """How many steps these seconds are of: the first turn of a run is one step, whatever comes after."""
        turns, block = self.track.warm, self.track.block
        warm = (turns if block == 1 else (turns - 1) * block) if self.track.how == "lock-step" else 1
        return max(1, one.ticks - warm)


def _decided(raced: Raced, judge: Callable[[Sequence[float], Sequence[float]], Verdict]) -> Raced:
    return replace(raced, verdict=judge([one.effect for one in raced.rounds], [one.drift for one in raced.rounds]))


def _standing(rounds: Sequence[Round], rule: Rule, track: Track, seconds: float) -> Raced:
    effects, drifts = [one.effect for one in rounds], [one.drift for one in rounds]
    return Raced("undecided", track, tuple(rounds), seconds, rule.interval(effects), interval(drifts, rule.alpha))


Clocks = Literal["auto", "cpu", "wall", "device"]


def track(
    scouted: Done, clock: Clocks, device_memory: int = 0, compiled: Sequence[int] = (), single: bool = False
) -> Track:
    """How a program is raced, by a run of it alone, step by step: by the clock of the processor unless it uses a GPU.

    `compiled` are the steps, from 1, in which something was compiled, of all versions: those of the first half of a run
    do not count, later ones are what it costs. With `single`, each step is a turn, however short, for its own time to
    be known.
    """
    chosen: Clock = clock if clock != "auto" else "device" if scouted.cuda else "cpu"
    if scouted.forks:
        return Track(chosen, "whole runs", 0, "the program starts other processes")
    if scouted.ticks < WARM_UP + 2:
        return Track(chosen, "whole runs", 0, f"it takes {scouted.ticks} steps")
    if device_memory and 3 * scouted.peak > device_memory:
        return Track(chosen, "whole runs", 0, "three of it do not fit into the memory of the device")
    step = median(scouted.wall[1 : scouted.ticks])
    least, short = (_DEVICE_STEPS, _DEVICE_BLOCK) if chosen == "device" else (1, _SHORT_STEP)
    block = max(least, math.ceil(short / max(step, 1e-6)))
    block = 1 if single else min(block, max(1, scouted.ticks // 4))
    last = max((tick for tick in compiled if tick <= scouted.ticks // 2), default=0)
    return Track(chosen, "lock-step", block, warm=max(WARM_UP, math.ceil(last / block) + (block > 1)))
