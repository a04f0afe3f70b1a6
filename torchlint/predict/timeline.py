"""A step on two lanes, the host's and the device's: how long it takes in the long run, and what waits for what.

Every operation is linear in max and plus: the host is busy for a while, the device starts when both are ready, a wait
lets the host catch up. A step is then a matrix of such sums, and the time of a step in the long run is the matrix's
largest mean over a circle. What is taken away or gets faster can only lower entries, and so never lengthens a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from torchlint.messages.event import Operation

from .constants import ATTENTION, Constants
from .gpus import Gpu

_NEVER = float("-inf")
_GIGA, _TERA = 1e9, 1e12
_HALF = frozenset(("half", "float16", "bfloat16"))


class Task(NamedTuple):
    """One operation in seconds: the host works, then the device; `waits` says who of the two waits for the other."""

    host: float
    device: float
    waits: bool
    after: float = 0.0
    """What the host spends once it no longer waits."""


class _Lanes(NamedTuple):
    """When host and device are free, each by when they were free before: `h` and `d` of (host, device)."""

    host_by_host: float = 0.0
    host_by_device: float = _NEVER
    device_by_host: float = _NEVER
    device_by_device: float = 0.0

    def then(self, task: Task) -> _Lanes:
        hh, hd = self.host_by_host + task.host, self.host_by_device + task.host
        dh, dd = self.device_by_host, self.device_by_device
        if task.device or task.waits:
            dh, dd = max(dh, hh) + task.device, max(dd, hd) + task.device
        if task.waits:
            hh, hd = max(hh, dh) + task.after, max(hd, dd) + task.after
        return _Lanes(hh, hd, dh, dd)

    @property
    def period(self) -> float:
        around = (self.host_by_device + self.device_by_host) / 2
        return max(self.host_by_host, self.device_by_device, around, 0.0)


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds of a step in the long run, of its host's and device's work in it, and the data sheet's share of it."""

    seconds: float
    host: float
    device: float
    light: float
    """Seconds that the data sheet's rates alone would ask for."""

    @property
    def bound(self) -> Literal["host", "device"]:
        return "host" if self.host > self.device else "device"


def step(tasks: Iterable[Task], light: float = 0.0) -> Step:
    """How long a step of these tasks takes when it is repeated for ever."""
    lanes, host, device = _Lanes(), 0.0, 0.0
    for task in tasks:
        lanes = lanes.then(task)
        host += task.host + task.after
        device += task.device
    return Step(lanes.period, host, device, light)


# --- what an operation costs -------------------------------------------------------------------------------------


def peak(operation: Operation, gpu: Gpu) -> float:
    """FLOP/s of the data sheet for the operation's precision; float32 is that of TF32 where `dtype` says `tf32`."""
    if operation.dtype in _HALF:
        rate = gpu.half if operation.dtype != "bfloat16" or gpu.tensor_bf16 else gpu.single
    elif operation.dtype == "float64":
        rate = gpu.double
    elif operation.dtype == "tf32" or operation.kind in ("convolution", "grouped"):  # cuDNN's TF32 is on by default
        rate = gpu.tf32
    else:
        rate = gpu.single
    return rate * _TERA


def kernel(operation: Operation, gpu: Gpu, constants: Constants) -> float:
    """Seconds on the device."""
    bandwidth = gpu.bandwidth * _GIGA
    share = {
        "matrix": constants.matrix,
        "attention": constants.matrix * ATTENTION,
        "convolution": constants.convolution,
        "grouped": constants.grouped,
    }.get(operation.kind, constants.matrix)
    beside = operation.launches * constants.launch
    if operation.kind == "depthwise":
        return beside + operation.bytes / (bandwidth * constants.depthwise)
    memory = operation.bytes / (bandwidth * constants.memory)
    reordered = 2 * operation.unordered / (bandwidth * constants.memory) if operation.dtype in _HALF else 0.0
    return beside + max(operation.flops / (peak(operation, gpu) * share), memory) + reordered


def light(operation: Operation, gpu: Gpu) -> float:
    """Seconds that the data sheet's rates alone ask for."""
    if operation.kind in ("sync", "h2d", "d2h", "data"):
        return 0.0
    return max(operation.flops / peak(operation, gpu), operation.bytes / (gpu.bandwidth * _GIGA))


def task(operation: Operation, gpu: Gpu, constants: Constants) -> Task:
    """The operation on the two lanes."""
    if operation.kind == "data":  # the loader; `bytes` are microseconds
        return Task(operation.bytes * 1e-6, 0.0, waits=False)
    if operation.kind == "sync":
        return Task(constants.host, 0.0, waits=True, after=constants.wait)
    if operation.kind in ("h2d", "d2h"):
        pinned, blocking = "pageable" not in operation.dtype, "non-blocking" not in operation.dtype
        rate = constants.pinned if pinned else min(constants.pageable, constants.pinned)
        seconds = operation.bytes / (rate * _GIGA)
        waits = blocking or not pinned
        return Task(constants.host, seconds, waits, constants.wait if waits else 0.0)
    return Task(constants.host * operation.launches, kernel(operation, gpu, constants), waits=False)


def tasks(operations: Sequence[Operation], gpu: Gpu, constants: Constants) -> list[Task]:
    known: dict[Operation, Task] = {}
    for operation in operations:
        if operation not in known:
            known[operation] = task(operation, gpu, constants)
    return [known[operation] for operation in operations]


# --- a picture ---------------------------------------------------------------------------------------------------


class Span(NamedTuple):
    """What one lane does for a while, in seconds from the beginning of the step."""

    lane: Literal["host", "device", "wait"]
    start: float
    end: float
    operation: Operation


def spans(operations: Sequence[Operation], gpu: Gpu, constants: Constants) -> list[Span]:
    """One step as it is after others: the host begins where it was let go, the device where it had work left."""
    made = tasks(operations, gpu, constants)
    host = device = start = 0.0
    found: list[Span] = []
    for _ in range(3):  # the last of three, when both are in step
        found, start = [], host
        for operation, one in zip(operations, made, strict=True):
            found.append(Span("host", host - start, host + one.host - start, operation))
            host += one.host
            if one.device or one.waits:
                begin = max(device, host)
                device = begin + one.device
                if one.device:
                    found.append(Span("device", begin - start, device - start, operation))
            if one.waits:
                if device > host:
                    found.append(Span("wait", host - start, device - start, operation))
                host = max(host, device) + one.after
    return [span for span in found if span.end > span.start]
