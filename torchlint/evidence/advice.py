"""What a traced run says should be done first: the primary bottleneck, its evidence and recommendations.

Without a GPU nothing is timed, so that a bottleneck is what the events show, never a share of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..messages.event import Event
from ..predict.changes import Change, in_precision, overlapped, together, without
from ..predict.estimate import Estimate
from .checks import DATA_SHARE, data_share
from .confirm import (
    Row,
    bytes_text,
    device_rows,
    is_async,
    is_set_up,
    launches,
    memory_slope,
    number,
    once,
    profiled,
    seconds_of,
    step_seconds,
)
from .steady import Steady

Priority = Literal["High", "Medium", "Low"]
_ORDER = ("High", "Medium", "Low")
_MANY_KERNELS = 200  # launches a step; each costs the host some microseconds
_SMALL = 64 * 1024  # bytes; below, a copy is all latency
_MANY_COPIES = 20


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One thing to do; `place` is a line it is about (`file`, `line`), None where there is no single one."""

    priority: Priority
    text: str
    place: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """`bottleneck` is a name, "" where nothing stands out; `evidence` are sentences."""

    bottleneck: str
    evidence: tuple[str, ...]
    recommendations: tuple[Recommendation, ...]


@dataclass(frozen=True, slots=True)
class _Suspect:
    """Something that holds the program up; the one of greatest weight is the primary bottleneck."""

    weight: float
    name: str
    evidence: str
    recommendations: tuple[Recommendation, ...]


def advise(events: Iterable[Event], estimate: Estimate | None = None) -> Advice:
    """The advice that a run's events support; with an estimate, what takes most of the predicted step comes first."""
    events = tuple(events)
    steady = Steady.of(events)
    look: tuple[Callable[[Sequence[Event], Steady], Iterable[_Suspect]], ...] = (
        _skipped, _recompiling, _waiting, _copying, _loading, _breaking, _launching, _growing,
    )  # fmt: skip
    found = [s for each in look for s in each(events, steady)]
    if estimate is not None:
        if not any(s.name == _LOADING for s in found):
            found += _short_loading(events, estimate)
        found = [*(_weighed(s, estimate) for s in found), *_slow_products(events, estimate)]
    elif profiled(events) is not None:
        found = [_timed(s, events, steady) for s in found]
    suspects = sorted(found, key=lambda s: -s.weight)
    if not suspects:
        return Advice("", (), ())
    todo = [r for suspect in suspects for r in suspect.recommendations]
    first = suspects[0]
    also = [s.evidence for s in suspects[1:3]]
    return Advice(first.name, (first.evidence, *also), tuple(sorted(todo, key=lambda r: _ORDER.index(r.priority))))


def _timed(suspect: _Suspect, events: Sequence[Event], steady: Steady) -> _Suspect:
    """A suspect by what a profile has measured of it."""
    kinds = _TIMED.get(suspect.name)
    step = step_seconds(events, steady)
    if kinds is None or not step:
        return suspect
    share = sum(seconds_of(e) for e in events if e.kind in kinds and steady.holds(e) and not is_async(e))
    share /= len(steady) * step
    evidence = suspect.evidence
    if suspect.name == _LOADING:
        evidence = f"The program waits for its DataLoader {share:.0%} of the time."
    else:
        evidence += f" That is {share:.0%} of the step, as measured." if share >= 0.01 else " That is under 1 % of it."
    return replace(suspect, weight=_PREDICTED * share, evidence=evidence)


_LOADING = "data loading"
_TIMED: dict[str, frozenset[str]] = {
    "host-device synchronization": frozenset({"sync", "synchronize"}),
    "blocking copies": frozenset({"h2d", "d2h"}),
    _LOADING: frozenset({"data"}),
}
_PREDICTED = 1000.0
"""What all of a predicted step weighs, more than any count of events."""
_OF_A_STEP: dict[str, Change] = {
    "host-device synchronization": without(("sync",)),
    "blocking copies": together((overlapped(), without(("d2h",)))),
    _LOADING: without(("data",)),
}


def _short_loading(events: Sequence[Event], estimate: Estimate) -> Iterable[_Suspect]:
    """A loader that is quick beside the virtual GPU and slow beside a real one."""
    place = next((event for event in events if event.kind == "data" and event.file), None)
    if place is not None and estimate.saving(_OF_A_STEP[_LOADING]).share.middle >= 0.05:
        yield _Suspect(0.0, _LOADING, "The program waits for its DataLoader.", (_load(place, "High"),))


def _load(event: Event, priority: Priority) -> Recommendation:
    text = "Load with workers (num_workers, persistent_workers) or do less for each sample."
    return Recommendation(priority, text, _place(event))


def _weighed(suspect: _Suspect, estimate: Estimate) -> _Suspect:
    """A suspect by the share of the step that it takes, where that can be told."""
    change = _OF_A_STEP.get(suspect.name)
    if change is None:
        return suspect
    share = estimate.saving(change).share.middle
    said = "under 1 %" if share < 0.01 else f"about {share:.0%}"
    evidence = f"{suspect.evidence} That is {said} of the step on {estimate.gpu.name}, as predicted."
    return replace(suspect, weight=_PREDICTED * share, evidence=evidence)


def _slow_products(events: Sequence[Event], estimate: Estimate) -> Iterable[_Suspect]:
    share = estimate.saving(in_precision("float32", "tf32")).share.middle
    place = next((event for event in events if event.kind == "precision" and event.name == "float32"), None)
    if share >= 0.05 and place is not None:
        evidence = f"Matrix products in float32 take about {share:.0%} of the step on {estimate.gpu.name} longer than in TF32, as predicted."
        todo = Recommendation(
            "High", "Call torch.set_float32_matmul_precision('high') if the precision allows it.", _place(place)
        )
        yield _Suspect(_PREDICTED * share, "matrix products in float32", evidence, (todo,))


def _place(event: Event) -> tuple[str, int] | None:
    return (event.file, event.line) if event.file else None


def _rate(steady: Steady) -> str:
    return "in all" if steady.whole else "a step"


def _many(count: float, one: str, more: str = "") -> str:
    return f"{number(count)} {one if count == 1 else more or one + 's'}"


def _times(count: float) -> str:
    return "once" if count == 1 else f"{number(count)} times"


def _at_least(count: float) -> Priority:
    return "High" if count >= 1 else "Low"


def _waiting(events: Sequence[Event], steady: Steady) -> Iterable[_Suspect]:
    found = [row for row in device_rows(events, steady) if row.event.kind in {"sync", "synchronize", "empty_cache"}]
    if all(row.event.kind == "empty_cache" for row in found):
        return
    waits = [row for row in found if row.event.kind != "empty_cache"]
    count = sum(row.count for row in waits)
    lines = len({(row.event.file, row.event.line) for row in waits})
    evidence = f"The host waits for the device {_times(count)} {_rate(steady)}, on {_many(lines, 'line')}."
    yield _Suspect(count, "host-device synchronization", evidence, _first(map(_wait, found)))


_OF_GLOO = frozenset(
    "all_reduce broadcast reduce all_gather all_gather_into_tensor gather scatter all_to_all_single".split()
)
_OF_OBJECTS = "Send tensors in place of objects, or send them every few steps."
_DISTRIBUTED = "torch/distributed/"
_DISTRIBUTIONS = "torch/distributions/"
_SIZED_BY_VALUES = frozenset({"mask", "masked_select", "nonzero"})
"""Waits for how many elements were chosen."""


def _wait(row: Row) -> Recommendation:
    event = row.event
    if event.kind == "synchronize":
        text = "Take the explicit synchronization out of the step."
    elif event.kind == "empty_cache":
        text = "Take empty_cache() out of the step: the next allocations pay for it."
    elif _is_foreign(row):
        text = f"`{event.name}` is called inside {row.via}: look for an option that switches it off, or call it less often."
    elif event.name == "barrier":
        text = "Take the barrier out of the step: collectives wait for one another by themselves."
    elif event.name in _OF_GLOO:
        text = "Use NCCL for tensors of the device: gloo sends them by way of the host, which waits."
    elif row.via.startswith(_DISTRIBUTED):
        text = _OF_OBJECTS
    elif row.via.startswith(_DISTRIBUTIONS) and event.name == "bool":
        text = "Pass validate_args=False: the distribution reads its tensors to check them."
    elif event.name in _SIZED_BY_VALUES:
        what = "a mask as index" if event.name == "mask" else f"`{event.name}`"
        text = f"Avoid {what}: the host waits to know how many elements are chosen (torch.where keeps the shape)."
    else:
        text = f"Keep what `{event.name}` reads on the device, or read it every few steps."
    return Recommendation(_at_least(row.count), text, _place(event))


def _is_foreign(row: Row) -> bool:
    """Whether the code is a library's other than torch's own."""
    return bool(row.via) and not row.via.startswith("torch/")


def _first(recommendations: Iterable[Recommendation]) -> tuple[Recommendation, ...]:
    """The first three, each said once."""
    return tuple(dict.fromkeys(recommendations))[:3]


def _copying(events: Sequence[Event], steady: Steady) -> Iterable[_Suspect]:
    found = device_rows(events, steady)
    copies = [row for row in found if row.event.kind in {"h2d", "d2h"} and not is_set_up(row.event, steady)]
    blocking = [row for row in copies if not is_async(row.event)]
    if blocking:
        count, size = sum(row.count for row in blocking), sum(row.size for row in blocking)
        evidence = f"The host waits for {_many(count, 'copy', 'copies')} {_rate(steady)}, {bytes_text(size)}."
        loads = any(event.kind == "data" for event in events)
        yield _Suspect(0.9 * count, "blocking copies", evidence, _first(_copy(row, loads) for row in blocking))
    small = [row for row in copies if row.count and row.size / row.count < _SMALL]
    if (count := sum(row.count for row in small)) > _MANY_COPIES:
        evidence = f"{number(count)} copies {_rate(steady)} are smaller than 64 KiB."
        todo = Recommendation(
            "Medium", "Pack small copies into one, or create the values on the device.", _place(small[0].event)
        )
        yield _Suspect(0.5 * count, "small copies", evidence, (todo,))


def _copy(row: Row, loads: bool) -> Recommendation:
    """`loads`: the program has a DataLoader, which could pin."""
    event, data = row.event, row.event.data or {}
    if row.via.startswith(_DISTRIBUTED):
        text = _OF_OBJECTS
    elif _is_foreign(row) and (event.kind == "d2h" or not loads):
        what = "look for an option that switches it off" if event.kind == "d2h" else "give it what is on the device"
        text = f"`{event.name}` is called inside {row.via}: {what}, or call it less often."
    elif event.kind == "d2h":
        text = "Leave the result on the device, or copy it every few steps."
    elif data.get("pinned"):
        text = "Copy with non_blocking=True: the batch is pinned already."
    elif event.name in {"to", "cuda"} and loads:
        text = "Let the DataLoader pin (pin_memory=True) and copy with non_blocking=True."
    elif event.name in {"to", "cuda"}:
        text = "Make this tensor on the device, or copy from pinned memory (pin_memory()) with non_blocking=True."
    else:
        text = "Make this tensor on the device, or once before the loop."
    return Recommendation(_at_least(row.count) if row.size >= _SMALL else "Medium", text, _place(event))


def _loading(events: Sequence[Event], steady: Steady) -> Iterable[_Suspect]:
    if (share := data_share(events, steady)) < DATA_SHARE:
        return
    row = next(event for event in events if event.kind == "data" and event.file)
    evidence = f"The program waits for its DataLoader {share:.0%} of the time between steps on this machine."
    todo = _load(row, "High" if share > 0.5 else "Medium")
    # More than half of the time here is more still beside a GPU, and whatever else there is has to share the rest.
    weight = 1000.0 if share > 0.5 else 10 * share
    yield _Suspect(weight, _LOADING, evidence, (todo,))


def _skipped(events: Sequence[Event], steady: Steady) -> Iterable[_Suspect]:
    found = [e for e in once(events, "graph_break") if (e.data or {}).get("frame_skipped")]
    if found:
        evidence = f"A graph break makes {_many(len(found), 'compiled function')} run eagerly."
        todo = tuple(Recommendation("High", _broken(event), _place(event)) for event in found[:3])
        yield _Suspect(100.0 + len(found), "skipped compilation", evidence, todo)


def _broken(event: Event) -> str:
    inside = f" (inside {event.via})" if event.via else ""
    return f"{event.name}{inside}: {event.detail}"


def _breaking(events: Sequence[Event], steady: Steady) -> Iterable[_Suspect]:
    found = [e for e in once(events, "graph_break") if not (e.data or {}).get("frame_skipped")]
    if found:
        evidence = f"Compiled code is cut into pieces by {_many(len(found), 'graph break')}."
        todo = tuple(Recommendation("Medium", _broken(event), _place(event)) for event in found[:3])
        yield _Suspect(0.5 * len(found), "graph breaks", evidence, todo)


def _recompiling(events: Sequence[Event], steady: Steady) -> Iterable[_Suspect]:
    limits = once(events, "recompile_limit")
    late = [event for event in once(events, "recompile") if steady.reached(event)]
    if limits:
        todo = Recommendation(
            "High", "Mark what changes as dynamic, or keep it out of the compiled function.", _place(limits[0])
        )
        yield _Suspect(
            200.0, "recompilation", f"torch.compile gave up after {limits[0].name.replace('_', ' ')}.", (todo,)
        )
    elif late:
        todo = Recommendation("High", f"Keep this guard from failing: {late[0].name}", _place(late[0]))
        yield _Suspect(50.0, "recompilation", f"Compiled again {_times(len(late))} after the warm-up.", (todo,))


def _launching(events: Sequence[Event], steady: Steady) -> Iterable[_Suspect]:
    count = sum(launches(events))
    if count >= _MANY_KERNELS:
        text = "Try mode='reduce-overhead' (CUDA graphs), and look for loops in Python inside compiled code."
        evidence = f"Compiled code launches {number(count)} kernels {_rate(steady)}."
        yield _Suspect(count / _MANY_KERNELS, "kernel launches", evidence, (Recommendation("Medium", text),))


def _growing(events: Sequence[Event], steady: Steady) -> Iterable[_Suspect]:
    if slope := memory_slope(events, steady):
        evidence = f"Memory on the device grows by {bytes_text(slope)} every step."
        todo = Recommendation(
            "High", "Find what keeps tensors of earlier steps: a list, or a sum of losses with history."
        )
        yield _Suspect(20.0, "growing memory", evidence, (todo,))
