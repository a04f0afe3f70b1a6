"""Checks of a traced run that no rule of the catalogue makes: data loading, CUDA graphs, the allocator, precision, DDP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..messages.event import Event
from ..text.finding import Severity

if TYPE_CHECKING:
    from .steady import Steady

DATA_SHARE = 0.1
"""The share of the time between steps from which waiting for data is worth a finding."""

_PRECISION = {
    "float64": "Matrix products in float64, for which most GPUs have few units",
    "float32": "Matrix products in float32 without TF32 (torch.set_float32_matmul_precision)",
    "unaligned": "Half-precision matrix products with a dimension that is no multiple of 8 get slower kernels",
}


@dataclass(frozen=True, slots=True)
class Check:
    """Something worth a finding, at the place of `event`; `weight` orders those of one code."""

    code: str
    event: Event
    message: str
    severity: Severity
    weight: float


def check(events: Iterable[Event], steady: Steady) -> list[Check]:
    """What the checks of this module find in a run."""
    events = tuple(events)
    return [
        *_data(events, steady),
        *_cuda_graphs(events),
        *_allocator(events, steady),
        *_precision(events, steady),
        *_distributed(events),
    ]


def data_share(events: Iterable[Event], steady: Steady) -> float:
    """The share of the steady steps' time that went to waiting for DataLoaders, from 0 to 1; 0 where it is unknown."""
    events = tuple(events)
    ends = {event.step: _number(event, "seconds") for event in events if event.kind == "step"}
    if steady.whole or steady.first not in ends or steady.last not in ends:
        return 0.0
    waited = sum(_number(event, "seconds") for event in events if event.kind == "data" and steady.holds(event))
    return min(1.0, waited / max(ends[steady.last] - ends[steady.first], 1e-9))


def _number(event: Event, key: str) -> float:
    return float(str((event.data or {}).get(key, 0.0)))


def _data(events: Sequence[Event], steady: Steady) -> Iterable[Check]:
    share = data_share(events, steady)
    place = next((event for event in events if event.kind == "data" and event.file), None)
    if share >= DATA_SHARE and place is not None:
        message = f"The program waits for its DataLoader {share:.0%} of the time between steps on this machine."
        yield Check("TLT05", place, message, "warning" if share >= 0.5 else "info", share)


def _cuda_graphs(events: Sequence[Event]) -> Iterable[Check]:
    for event in events:
        if event.kind == "cudagraph_skip":
            yield Check(
                "TLT07",
                event,
                f"CUDA graphs were skipped: {event.detail or event.name}.",
                "warning",
                float(event.count),
            )


def _allocator(events: Sequence[Event], steady: Steady) -> Iterable[Check]:
    of_device: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind == "memory" and steady.reached(event):
            of_device[event.name].append(event)
    for samples in of_device.values():
        retries = _number(samples[-1], "retries") - _number(samples[0], "retries")
        if retries > 0:
            message = f"The allocator had to free its cache and try again {retries:.0f} times in steady state: memory is short."
            yield Check("TLT08", samples[-1], message, "warning", retries)


def _precision(events: Sequence[Event], steady: Steady) -> Iterable[Check]:
    found: defaultdict[tuple[str, int, str], list[Event]] = defaultdict(list)
    for event in events:
        # TF32 is one switch for the whole program, told at the first product; the others are matters of a line.
        if event.kind == "precision" and event.file and (event.name == "float32" or steady.holds(event)):
            found[event.file, event.line, event.name].append(event)
    for (_, _, name), group in found.items():
        count = sum(event.count for event in group) / len(steady)
        rate = "" if name == "float32" else f" ({count:.3g} a step)"
        yield Check("TLT11", group[0], f"{_PRECISION[name]}{rate}.", "info", count)


def _distributed(events: Sequence[Event]) -> Iterable[Check]:
    for event in events:
        if event.kind == "ddp":
            data = event.data or {}
            if data.get("find_unused_parameters") and not _number(event, "unused_parameter_size"):
                message = "find_unused_parameters=True walks the graph in every step, and no parameter was unused."
                yield Check("TLT13", event, message, "warning", 2.0)
            if data.get("can_set_static_graph") and not data.get("static_graph"):
                yield Check(
                    "TLT13", event, "The graph is the same in every step: static_graph=True can be set.", "info", 1.0
                )
            if not data.get("gradient_as_bucket_view"):
                message = (
                    "Gradients are copied into buckets: gradient_as_bucket_view=True saves the copy and the memory."
                )
                yield Check("TLT13", event, message, "info", 0.5)
