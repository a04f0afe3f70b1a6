"""What is observed beside the device: warnings, memory, waiting for data, shapes of the inputs, DDP's own facts."""

from __future__ import annotations

import contextlib
import time
import warnings
import weakref
from collections.abc import Iterator
from typing import Any, TextIO
from unittest import mock

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.data import dataloader

from torchlint.messages.event import Event
from torchlint.trace.program.recorder import Place, Recorder, user_frame


@contextlib.contextmanager
def python_warnings(recorder: Recorder) -> Iterator[None]:
    """Record each warning that the program's own filters let through; it is shown as ever."""
    show = warnings.showwarning

    def showwarning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        first = next(iter(str(message).strip().splitlines()), "")
        recorder.record("warning", name=category.__name__, detail=first[:300])
        show(message, category, filename, lineno, file, line)

    with mock.patch.object(warnings, "showwarning", showwarning):
        yield


def record_memory(recorder: Recorder) -> None:
    """Record what each device holds after a step, in bytes, and the peak so far; where there are several, by name."""
    devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    for device in range(devices):
        # as torch has them: `memory_allocated` and its like sort them under joined names, once for each number
        stats = torch.cuda.memory_stats_as_nested_dict(device)
        held = stats["allocated_bytes"]["all"] if stats else {"peak": 0}
        if peak := held["peak"]:
            data: dict[str, object] = {"peak": int(peak)}
            if retries := stats.get("num_alloc_retries", 0):
                data["retries"] = retries
            name = f"cuda:{device}" if devices > 1 else ""
            recorder.emit(Event("memory", name=name, size=int(held["current"]), step=recorder.step, data=data))


class _Waits:
    """How long the program waited for batches in the present step, by the line that asked for them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._step = 0
        self._seconds: dict[Place, float] = {}

    def add(self, place: Place, seconds: float) -> None:
        if self._step != self._recorder.step:
            self.flush()
            self._step = self._recorder.step
        self._seconds[place] = self._seconds.get(place, 0.0) + seconds

    def flush(self) -> None:
        for place, seconds in self._seconds.items():
            data: dict[str, object] = {"seconds": round(seconds, 6)}
            self._recorder.emit(Event("data", *place, "DataLoader", step=self._step, data=data))
        self._seconds.clear()


@contextlib.contextmanager
def data_waits(recorder: Recorder) -> Iterator[None]:
    """Record how long the program waits for its DataLoaders in each step."""
    waits = _Waits(recorder)
    real_next: Any = dataloader._BaseDataLoaderIter.__next__

    def observed_next(self: Any) -> Any:
        started = time.perf_counter()
        try:
            return real_next(self)
        finally:
            waits.add(user_frame() or Place("", 0, ""), time.perf_counter() - started)

    with mock.patch.object(dataloader._BaseDataLoaderIter, "__next__", observed_next):
        try:
            yield
        finally:
            waits.flush()


_DDP_FACTS = (
    "find_unused_parameters", "unused_parameter_size", "can_set_static_graph", "static_graph", "gradient_as_bucket_view",
)  # fmt: skip


class DistributedFacts:
    """What each DistributedDataParallel says of itself, asked after each step, since it may be gone at the end."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._made: list[tuple[weakref.ref[Any], Place]] = []
        self._said: dict[int, Event] = {}

    def ask(self) -> None:
        for number, (reference, place) in enumerate(self._made):
            if (model := reference()) is not None:
                facts = model._get_ddp_logging_data()
                data = {
                    "static_graph": bool(model.static_graph),
                    **{key: facts[key] for key in _DDP_FACTS if key in facts},
                }
                name = type(model.module).__name__
                self._said[number] = Event("ddp", *place, name, step=self._recorder.step, data=data)

    @contextlib.contextmanager
    def observed(self) -> Iterator[None]:
        """Record, at the end of the block and at the line that made each, what they said last."""
        if not torch.distributed.is_available():
            yield
            return
        kind: Any = torch.nn.parallel.DistributedDataParallel
        real_init = kind.__init__

        def init(model: Any, *args: Any, **kwargs: Any) -> None:
            real_init(model, *args, **kwargs)
            self._made.append((weakref.ref(model), user_frame() or Place("", 0, "")))

        with mock.patch.object(kind, "__init__", init):
            try:
                yield
            finally:
                self.ask()
                for event in self._said.values():
                    self._recorder.emit(event)


def _signature(values: object) -> str:
    tensors = [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]
    return ", ".join(f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in tensors)


@contextlib.contextmanager
def input_shapes(recorder: Recorder) -> Iterator[None]:
    """Record the dtypes and shapes given to each outermost module at the line that calls it."""
    depth = 0
    call: Any = torch.nn.Module.__call__

    def observed_call(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        if depth == 0 and (signature := _signature((args, kwargs))):
            recorder.record("shape", name=type(module).__name__, detail=signature)
        depth += 1
        try:
            return call(module, *args, **kwargs)
        finally:
            depth -= 1

    with mock.patch.object(torch.nn.Module, "__call__", observed_call):
        yield
