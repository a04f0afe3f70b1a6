"""The decision table: what becomes of a candidate, by its numbers, its race and its counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .metric import Measured
from .numbers import Allowed, Judgement
from .race import Raced

Status = Literal["Applied", "Rolled back", "Not applied"]

_MUCH_SLOWER = 0.95
_NEXT_UNKNOWN = "let it run more steps (--steps), make the program repeatable, or measure what it trains (--metric)"
FOR_METRIC = frozenset({"precision", "unknown"})
"""Classes of numbers that a metric of the user's decides on, if there is one."""


@dataclass(frozen=True)
class Decision:
    """What became of a candidate, why, and what could be done next."""

    status: Status
    reason: str
    next: str = ""


def after_numbers(judgement: Judgement, allowed: Allowed, metric: bool = False) -> Decision | None:
    """What the numbers decide by themselves; None leaves it to the race. With a `metric`, it judges other precisions and
    programs that can't be repeated, after the race.
    """
    if metric and judgement.name in FOR_METRIC:
        return None
    said = judgement.reasons[0] if judgement.reasons else judgement.name
    if judgement.name == "broken":
        return Decision("Rolled back", f"the program fails: {said}", "mend the change and try again")
    if judgement.name == "unknown":
        return Decision("Not applied", f"the numbers can't be judged: {said}", _NEXT_UNKNOWN)
    if judgement.name == "precision":
        return Decision("Rolled back", f"numbers: {said}", "measure what it trains (--metric)")
    if not judgement.within(allowed):
        return Decision(
            "Rolled back", f"numbers: {said}; at most {allowed} is allowed", "nothing: it computes something else"
        )
    return None


def after_race(raced: Raced) -> Decision:
    """What the race decides of a candidate whose numbers are fine."""
    shown = f"{raced.speedup:.2f}x, between {raced.low:.2f} and {raced.high:.2f}"
    if raced.verdict == "faster":
        return Decision("Applied", f"faster: {shown}")
    if raced.verdict == "slower" or (raced.verdict == "no gain" and raced.speedup < _MUCH_SLOWER):
        return Decision("Rolled back", f"slower: {shown}", "nothing: it costs time")
    if raced.verdict == "broken":
        return Decision("Rolled back", raced.reason, "mend the change and try again")
    if raced.verdict == "too noisy":
        return Decision(
            "Not applied", "the machine is too noisy: the program beats itself", "try again on a quiet machine"
        )
    if raced.verdict == "undecided":
        return Decision("Not applied", f"no gain shown: {shown}", "give it more time (--seconds)")
    return Decision("Not applied", f"no gain: {shown}", "nothing on this machine")


def after_metric(measured: Measured, faster: Decision) -> Decision:
    """What a metric decides of a candidate that is faster."""
    if measured.within:
        return Decision("Applied", f"{faster.reason}; {measured.said}")
    return Decision("Rolled back", f"metric: {measured.said}", "nothing: it costs quality")


def by_counts(before: dict[str, float], after: dict[str, float]) -> Decision:
    """Of a change that only helps a device, where there is none."""
    better = [
        f"{name} {before[name]:g} to {after[name]:g} a step" for name in before if after.get(name, 0) < before[name]
    ]
    if better:
        return Decision(
            "Not applied", f"counts are better ({', '.join(better)}), time was not measured", "measure it on a GPU"
        )
    return Decision("Not applied", "no GPU here, and the counts of a traced run are the same", "measure it on a GPU")
