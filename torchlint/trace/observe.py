"""What is observed beside the device: Python warnings, memory after each step, shapes of the inputs."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any, TextIO
from unittest import mock

import torch
from torch.utils._pytree import tree_leaves

from torchlint.event import Event
from torchlint.trace.recorder import Recorder


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
    """Record what the device holds after a step, in bytes, and the peak so far."""
    if torch.cuda.is_available() and (peak := torch.cuda.max_memory_allocated()):
        allocated = int(torch.cuda.memory_allocated())
        recorder.emit(Event("memory", size=allocated, step=recorder.step, data={"peak": int(peak)}))


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
