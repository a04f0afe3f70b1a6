"""What a profile of a real run adds to the report: measured times, of the step and of its lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torchlint.evidence.confirm import is_async, milliseconds, number, possible_lines, seconds_of, step_seconds
from torchlint.evidence.profile import Profile
from torchlint.evidence.steady import Steady
from torchlint.messages.event import Event

_WAITS = frozenset({"sync", "synchronize", "h2d", "d2h"})


class Times(NamedTuple):
    """What a line took of a step, in seconds; `host` includes the waits, and not what it called of the user's own."""

    host: float = 0.0
    waits: float = 0.0
    device: float = 0.0
    launches: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """A line, or a function where the profile can't tell its line."""

    event: Event
    times: Times

    @property
    def sure(self) -> bool:
        return not possible_lines(self.event)


def lines(events: Iterable[Event], steady: Steady) -> list[Line]:
    """The lines of the user's that took time, those that took most first."""
    found: dict[tuple[str, int, bool], Line] = {}
    for event in events:
        if not event.file or event.kind not in (*_WAITS, "time") or not steady.holds(event):
            continue
        key = event.file, event.line, not possible_lines(event)
        known = found.get(key, Line(event, Times()))
        spent = Times(
            seconds_of(event, "host"),
            seconds_of(event) if event.kind in _WAITS and not is_async(event) else 0.0,
            seconds_of(event, "device"),
            seconds_of(event, "launches"),
        )
        added = (one + other / len(steady) for one, other in zip(known.times, spent, strict=True))
        found[key] = Line(known.event, Times(*added))
    return sorted(found.values(), key=lambda line: -max(line.times.host, line.times.device))


def summary(events: Sequence[Event], steady: Steady) -> list[tuple[str, str]]:
    """The step's own times: how much of it, and what it is."""
    total: defaultdict[str, float] = defaultdict(float)
    for event in events:
        if steady.holds(event):
            if event.kind in _WAITS and not is_async(event):
                total["waits"] += seconds_of(event) / len(steady)
            if event.kind == "data":
                total["data"] += seconds_of(event) / len(steady)
            total["device"] += seconds_of(event, "device") / len(steady)
            total["launches"] += seconds_of(event, "launches") / len(steady)
    step = step_seconds(events, steady)
    rows = [(milliseconds(step), "a step")] if step else []
    rows.append((milliseconds(total["waits"]), "the host waits for the device"))
    rows.append(
        (milliseconds(total["device"]), f"of kernels and copies on the device, {number(total['launches'])} launched")
    )
    if total["data"]:
        rows.append((milliseconds(total["data"]), "in the DataLoader"))
    return rows


def notes(profile: Profile) -> list[str]:
    """What the profile can't tell, and why."""
    said = []
    if not profile.gpu:
        said.append("The profile saw no GPU at work: what would wait for one is not known.")
    if not profile.stacks:
        said.append("It names no lines: record it with torch.profiler.profile(with_stack=True).")
    if not profile.steps:
        said.append("It marks no steps (prof.step()): everything is counted, in all.")
    if profile.moved:
        said.append(f"Not as they were when it was recorded, and left out: {', '.join(profile.moved)}.")
    return said


def as_json(profile: Profile, steady: Steady) -> dict[str, object]:
    """For programs: seconds a step, paths absolute."""
    return {
        "device": profile.device or None,
        "steps": profile.steps,
        "seconds": profile.seconds,
        "step_seconds": step_seconds(profile.events, steady) or None,
        "gpu": profile.gpu,
        "stacks": profile.stacks,
        "changed_files": list(profile.moved),
        "lines": [
            {
                "filename": line.event.file,
                "line": line.event.line if line.sure else None,
                "function": line.event.function,
                "possible_lines": list(possible_lines(line.event)),
                **line.times._asdict(),
            }
            for line in lines(profile.events, steady)
        ],
    }
