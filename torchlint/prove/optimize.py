"""Optimizing a program: a frozen baseline, one change at a time, and what is kept of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from torchlint.evidence import budget
from torchlint.messages.event import Event
from torchlint.messages.order import PROFILE, Done
from torchlint.system.failure import Failure

from .candidates import Candidate, Finder, difference
from .compare import Compared, Numbers
from .decide import FOR_METRIC, Decision, after_metric, after_numbers, after_race, by_counts
from .history import History
from .intervals import Rule
from .lab import Asked, Lab, key
from .metric import Metric, Metrics
from .numbers import Allowed
from .race import Clocks, Raced, Races, Track, track
from .tried import Found, Tried
from .versions import Version, patched
from .workspace import Overlay

FINAL_LOOKS = (3, 4, 6, 8, 12, 16, 24, 32)
_COUNTED = ("syncs", "h2d", "d2h", "operators", "traffic")
_PER_RACE = 20.0
_FINAL_RACE = 120.0

_LATE = Decision("Not applied", "it was not tried: the time was over", "give it more time (--seconds)")
Outcome = Literal["goal reached", "faster", "nothing paid", "nothing to try", "undecided", "emergency stop"]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What the user asks for."""

    goal: float = 1.25
    seconds: float = 600.0
    allowed: Allowed = "rounding"
    clock: Clocks = "auto"
    patches: tuple[Path, ...] = ()
    select: str = ""
    resume: bool = False
    metric: Metric | None = None
    profile: bool = False
    """Whether torch's profiler is to look at the program before and after."""
    suggestions: bool = False
    """Whether suggestions are candidates, too."""


@dataclass(frozen=True)
class Optimized(Found):
    """All that is known at the end."""

    version: Version
    state: Overlay
    diff: str
    tried: tuple[Tried, ...]
    track: Track
    scouted: Done
    outcome: Outcome
    for_gpu: bool = False
    """Whether the program is one for a GPU and was measured without."""
    profiles: tuple[Path, ...] = ()
    """Before and after, where they were asked for."""

    @property
    def applied(self) -> list[Tried]:
        return [one for one in self.tried if one.decision.status == "Applied"]


class Optimizer:
    """Tries candidates on one program in a lab."""

    def __init__(self, lab: Lab, version: Version, plan: Plan, history: History, say: Say = lambda _: None) -> None:
        self._lab, self._version, self._plan, self._history, self._say = lab, version, plan, history, say
        self._metrics = Metrics(lab, plan.metric) if plan.metric else None
        self._started = time.monotonic()
        self._tried: list[Tried] = []
        self._left: Overlay | None = None
        """The state at the end, where some of what was applied was left out again."""
        self._coming: Iterator[Candidate] | None = None
        """The fixes that are left to try on the present state; None where they are to be looked for."""

    def run(self) -> Optimized:
        """Raises Failure for a program that can't be run."""
        say = self._say
        say("running the program once")
        scouted = self._lab.scout(self._version)
        course = track(scouted, self._plan.clock)
        races = Races(self._lab, course)
        say("recording its numbers")
        numbers = self._first = replace(Numbers.of(self._lab, self._version), counted=True)
        (counted,) = self._lab.record([Asked(self._version, "traced")])
        baseline = counts = measures(counted.events)
        for_gpu = not scouted.cuda and any(baseline[name] for name in ("h2d", "d2h", "syncs"))
        plan = self._plan
        finder = Finder(
            self._lab.space, self._version, scouted.files, plan.allowed, plan.select, suggestions=plan.suggestions
        )
        seen: set[str] = set()
        while (candidate := self._next(finder, seen)) is not None:
            seen.add(candidate.fingerprint)
            begun = time.monotonic()
            if begun - self._started > self._plan.seconds:
                self._tried.append(Tried(candidate, _LATE))
                say(f"{_LATE.status}: {candidate.name} at {candidate.place}: {_LATE.reason}")
                continue
            tried, accepted = self._try(candidate, numbers, counts, races)
            tried = replace(tried, seconds=time.monotonic() - begun)
            self._tried.append(tried)
            if not tried.known:
                self._history.add(self._key(numbers.version), candidate, tried)
            say(f"{tried.decision.status}: {candidate.name} at {candidate.place}: {tried.decision.reason}")
            if accepted is not None:
                numbers = accepted
                self._coming = None
                counts = tried.after or counts
        return self._finish(numbers, races, baseline, counts, scouted, for_gpu)

    def _next(self, finder: Finder, seen: set[str]) -> Candidate | None:
        state = self._state
        if self._coming is None:
            self._coming = finder.fixes(state)
        for candidate in self._coming:
            if candidate.fingerprint not in seen:
                return candidate
        for path in self._plan.patches:
            if f"patch {path.name}" in {one.candidate.name for one in self._tried}:
                continue
            try:
                candidate = finder.patch(path, state)
            except Failure as error:
                missing = Candidate(f"patch {path.name}", "", str(path), "", "patch", self._plan.allowed, state, "")
                self._tried.append(Tried(missing, Decision("Not applied", str(error), "make it again for this tree")))
                self._say(f"Not applied: {missing.name}: {error}")
                continue
            return candidate
        return None

    @property
    def _state(self) -> Overlay:
        if self._left is not None:
            return self._left
        applied = [one for one in self._tried if one.decision.status == "Applied"]
        return applied[-1].candidate.after if applied else self._version.overlay

    def _leave_out_what_harms(self, races: Races) -> None:
        """Race the whole against the whole without each unsafe change: one that paid when it was tried may harm the others."""
        applied = [number for number, one in enumerate(self._tried) if one.decision.status == "Applied"]
        befores = [self._version.overlay, *(self._tried[number].candidate.after for number in applied)]
        for number, before in zip(applied, befores, strict=False):
            one = self._tried[number]
            late = time.monotonic() - self._started > self._plan.seconds
            if one.candidate.risk not in ("unsafe", "suggestion") or len(applied) < 2 or late:
                continue
            space, project, whole = self._lab.space, self._version.project, self._state
            back = difference(space, project, one.candidate.after, before)
            try:
                without = patched(back.encode("utf-8", "surrogateescape"), project, space, whole)
            except Failure:
                continue  # a later change stands on it
            self._say(f"the whole change without {one.candidate.name}")
            pair = [replace(self._version, overlay=overlay) for overlay in (without, whole)]
            raced = races.race(pair[0], pair[1], Rule(), self._share(), self._told(f"without {one.candidate.name}"))
            if raced.verdict in ("slower", "broken"):
                reason = f"with the other changes it costs time: {raced.speedup:.2f}x"
                self._tried[number] = replace(one, decision=Decision("Rolled back", reason, "try it alone (--select)"))
                self._left = without
                self._history.add(self._key(replace(self._version, overlay=before)), one.candidate, self._tried[number])

    def _key(self, version: Version) -> str:
        conditions = self._lab.conditions
        return f"{key(version)} {conditions.args} {conditions.steps} {conditions.threads} {self._plan.allowed}"

    def _try(
        self, candidate: Candidate, numbers: Numbers, counts: dict[str, float], races: Races
    ) -> tuple[Tried, Numbers | None]:
        version = replace(self._version, overlay=candidate.after)
        if (known := self._history.known(self._key(numbers.version), candidate)) and (
            known.status != "Applied" or self._plan.resume
        ):
            tried = Tried(candidate, replace(known, reason=f"{known.reason} (known from an earlier run)"), known=True)
            if known.status != "Applied":
                return tried, None
            return tried, replace(Numbers.of(self._lab, version), counted=True)
        self._say(f"{candidate.name} at {candidate.place}: numbers")
        compared = numbers.with_(version)
        after = measures(compared.traced.events)
        tried = Tried(candidate, Decision("Not applied", ""), judgement=compared.judgement, before=counts, after=after)
        for_metric = self._for_metric(compared)
        decision = after_numbers(compared.judgement, candidate.allowed, for_metric is not None)
        if decision is None and candidate.device_only and races.track.clock != "device":
            decision = by_counts(counts, after)
        if decision is not None:
            return replace(tried, decision=decision), None
        rule = Rule()
        raced = races.race(numbers.version, version, rule, self._share(), self._told(candidate.name))
        tried = replace(tried, raced=raced, decision=after_race(raced))
        if tried.decision.status == "Applied" and for_metric:
            self._say(f"{candidate.name}: metric")
            measured = for_metric.compare(numbers.version, version, candidate.diff)
            tried = replace(tried, metric=measured, decision=after_metric(measured, tried.decision))
        return tried, numbers.after(version, compared) if tried.decision.status == "Applied" else None

    def _for_metric(self, compared: Compared) -> Metrics | None:
        """The metric, where it is what decides: what was not run it can't excuse."""
        return self._metrics if compared.judgement.name in FOR_METRIC and not compared.unreached else None

    def _share(self) -> float:
        return max(5.0, min(_PER_RACE, (self._plan.seconds - (time.monotonic() - self._started)) / 2))

    def _final_share(self) -> float:
        """The final race is worth more time than the others: its figures are published."""
        return max(30.0, min(_FINAL_RACE, self._plan.seconds - (time.monotonic() - self._started)))

    def _told(self, name: str) -> Callable[[Raced, int], None]:
        def told(raced: Raced, most: int) -> None:
            done = len(raced.rounds)
            each = raced.seconds / done
            sure = f", {raced.speedup:.2f}x between {raced.low:.2f} and {raced.high:.2f}" if done > 2 else ""
            self._say(f"{name}: round {done} of at most {most}{sure}; up to {each * (most - done):.0f} s more")

        return told

    def _finish(
        self,
        numbers: Numbers,
        races: Races,
        baseline: dict[str, float],
        counts: dict[str, float],
        scouted: Done,
        for_gpu: bool,
    ) -> Optimized:
        self._leave_out_what_harms(races)
        version, state = self._version, self._state
        diff = difference(self._lab.space, version.project, version.overlay, state)
        found = Optimized(
            version,
            state,
            diff,
            tuple(self._tried),
            races.track,
            scouted,
            "nothing to try",
            for_gpu=for_gpu,
            before=baseline,
        )
        if not diff:
            noisy = any(one.raced and one.raced.verdict == "too noisy" for one in self._tried)
            unknown = any(one.judgement and one.judgement.name == "unknown" for one in self._tried)
            late = any(one.decision is _LATE for one in self._tried)
            outcome: Outcome = (
                "undecided" if noisy or unknown or late else "nothing paid" if self._tried else "nothing to try"
            )
            return replace(found, outcome=outcome, after=baseline, seconds=time.monotonic() - self._started)
        self._say("the whole change: numbers")
        final_version = replace(version, overlay=state)
        compared = self._first.with_(final_version)
        allowed: Allowed = (
            "init" if any(one.candidate.allowed == "init" for one in found.applied) else self._plan.allowed
        )
        measured = None
        if (for_metric := self._for_metric(compared)) and any(one.metric for one in found.applied):
            self._say("the whole change: metric")
            measured = for_metric.compare(version, final_version, diff)
        if not (measured.within if measured else compared.judgement.within(allowed)):
            return replace(
                found,
                outcome="emergency stop",
                judgement=compared.judgement,
                metric=measured,
                after=counts,
                seconds=time.monotonic() - self._started,
            )
        rule = Rule(looks=FINAL_LOOKS, goal=self._plan.goal)
        raced = races.race(version, final_version, rule, self._final_share(), self._told("the whole change"))
        outcome = (
            "goal reached" if raced.low >= self._plan.goal else "faster" if raced.verdict == "faster" else "undecided"
        )
        return replace(
            found,
            outcome=outcome,
            raced=raced,
            judgement=compared.judgement,
            metric=measured,
            profiles=self._profiles(version, final_version),
            after=measures(compared.traced.events) or counts,
            seconds=time.monotonic() - self._started,
        )

    def _profiles(self, *versions: Version) -> tuple[Path, ...]:
        if not self._plan.profile:
            return ()
        self._say("torch's profiler looks on")
        records = self._lab.record([Asked(version, "profiled") for version in versions])
        return tuple(path for one in records if (path := one.folder / PROFILE).exists())


def measures(events: Sequence[Event]) -> dict[str, float]:
    """What a traced run counted, a step."""
    found = budget.measure(events)
    return {name: found[name].value for name in (*_COUNTED, "memory")}
