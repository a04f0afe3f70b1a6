"""A real GPU under observation: torch's own warnings about synchronization, and the copies between host and device.

Never run where this was written, for want of a GPU.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import torch

from torchlint.messages.event import Event
from torchlint.trace.eager import private
from torchlint.trace.eager.device import Sink, size_in_bytes
from torchlint.trace.eager.watching import Watching

_SYNC_WARNING = "called a synchronizing CUDA operation"


@contextlib.contextmanager
def real_gpu(recorder: Sink) -> Iterator[None]:
    """Record synchronizations as torch warns of them, copies, calls of `synchronize` and `empty_cache`, and kernels.

    Kernels come from torch's profiler and are told at the end: an event for each name, with its count and its time.
    """
    show = warnings.showwarning
    before = torch.cuda.get_sync_debug_mode()

    def showwarning(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        if _SYNC_WARNING in str(message):
            recorder.record("sync", name="sync")
        else:
            show(message, *args, **kwargs)

    def recorded(kind: Any, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            recorder.record(kind, name=kind)
            return function(*args, **kwargs)

        return call

    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("always", message=_SYNC_WARNING)
        stack.enter_context(mock.patch.object(warnings, "showwarning", showwarning))
        for kind in ("synchronize", "empty_cache"):
            stack.enter_context(mock.patch.object(torch.cuda, kind, recorded(kind, getattr(torch.cuda, kind))))
        stack.enter_context(_Copies(recorder))
        stack.callback(torch.cuda.set_sync_debug_mode, before)
        torch.cuda.set_sync_debug_mode("warn")
        stack.enter_context(_kernels(recorder))
        yield


@contextlib.contextmanager
def _kernels(recorder: Sink) -> Iterator[None]:
    cuda = torch.profiler.ProfilerActivity.CUDA
    supported: Any = torch.profiler.supported_activities
    if cuda not in supported():
        yield
        return
    with torch.profiler.profile(activities=[cuda]) as profile:
        yield
    for kernel in profile.key_averages():
        if kernel.self_device_time_total:
            data: dict[str, object] = {"microseconds": kernel.self_device_time_total}
            recorder.emit(Event("kernel", name=kernel.key, count=kernel.count, data=data))


class _Copies(Watching):  # type: ignore[no-untyped-call]
    """Sees the two operators that move tensors between host and device."""

    def __init__(self, recorder: Sink) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if types and private.dispatch_themselves(types):
            return func(*args, **(kwargs or {})) if private.compiles() else NotImplemented
        result = func(*args, **(kwargs or {}))
        if func in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default):
            source = args[0] if func is torch.ops.aten._to_copy.default else args[1]
            non_blocking = bool((kwargs or {}).get("non_blocking", args[2] if len(args) > 2 else False))
            self._record(source, result, non_blocking)
        return result

    def _record(self, source: torch.Tensor, target: torch.Tensor, non_blocking: bool) -> None:
        if source.is_cuda == target.is_cuda:
            return
        pinned = (target if source.is_cuda else source).is_pinned()
        blocking = "non_blocking" if non_blocking else "blocking"
        self._recorder.record(
            "d2h" if source.is_cuda else "h2d",
            name="copy",
            detail=f"{'pinned' if pinned else 'pageable'}, {blocking}",
            size=size_in_bytes(source),
            data={"pinned": pinned, "blocking": not non_blocking},
        )
