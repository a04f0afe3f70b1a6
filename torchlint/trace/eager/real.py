"""A real GPU under observation: torch's own warnings about synchronization, and the copies between host and device.

A warning says neither what waits nor for what. The function of torch and the operator that run tell it: the wait of a
copy belongs to the copy, and data of Python that become a tensor of the device are one (docs/gpu.md compares it with
the virtual GPU, line by line).
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from torchlint.messages.event import Event
from torchlint.trace.eager import private
from torchlint.trace.eager.device import Sink, record_copy, size_in_bytes
from torchlint.trace.eager.operators import is_mask
from torchlint.trace.eager.watching import Watching, has_parts

_SYNC_WARNING = "called a synchronizing CUDA operation"
_aten = torch.ops.aten
_COPIES = (_aten._to_copy.default, _aten.copy_.default)
_INDEXING = {_aten.index.Tensor: 1, _aten.index_put.default: 1, _aten.index_put_.default: 1}
"""Operators with indices, and which argument these are."""
_LENGTHS = {
    _aten._ctc_loss.Tensor: (_aten._ctc_loss.default, 2),
    _aten._ctc_loss_backward.Tensor: (_aten._ctc_loss_backward.default, 3),
}
"""Operators that torch takes under a mode alone, which refuse lengths on the host, those that it takes else, and where the lengths are."""
_DATA = frozenset("tensor as_tensor asarray new_tensor new sparse_coo_tensor".split())
"""Functions that make a tensor of data of Python."""
_INDEX = frozenset(("__getitem__", "__setitem__"))
_WAITING: tuple[tuple[Any, str, str], ...] = (
    (torch.cuda, "synchronize", "device"),
    (torch.accelerator, "synchronize", "device"),
    (torch.cuda.Stream, "synchronize", "stream"),
    (torch.cuda.Event, "synchronize", "event"),
)


class _Running(threading.local):
    """What a thread is doing: the function of torch and the operator that it called, with its arguments."""

    function = ""
    operator: Any = None
    args: Sequence[Any] = ()
    waited = 0
    """How often the host waited in the copy that runs."""


@contextlib.contextmanager
def real_gpu(recorder: Sink, *, named: bool = True) -> Iterator[None]:
    """Record synchronizations as torch warns of them, copies, calls of `synchronize` and `empty_cache`, and kernels.

    With `named`, functions of torch are looked at, too, which Dynamo must not see: what waits has its name then.
    Kernels come from torch's profiler and are told at the end: an event for each name, with its count and its time.
    """
    show = warnings.showwarning
    before = torch.cuda.get_sync_debug_mode()
    running = _Running()

    def showwarning(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        if _SYNC_WARNING not in str(message):
            show(message, *args, **kwargs)
        elif running.operator in _COPIES:
            running.waited += 1
        else:
            _record_wait(recorder, running)

    def recorded(kind: Any, name: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            recorder.record(kind, name=name)
            torch.cuda.set_sync_debug_mode("default")  # it is told once
            try:
                return function(*args, **kwargs)
            finally:
                torch.cuda.set_sync_debug_mode("warn")

        return call

    with contextlib.ExitStack() as stack:
        stack.enter_context(_kernels(recorder))  # whose end waits for the device, unseen
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("always", message=_SYNC_WARNING)
        stack.enter_context(mock.patch.object(warnings, "showwarning", showwarning))
        for owner, attribute, name in _WAITING:
            patch = recorded("synchronize", name, getattr(owner, attribute))
            stack.enter_context(mock.patch.object(owner, attribute, patch))
        patch = recorded("empty_cache", "empty_cache", torch.cuda.empty_cache)
        stack.enter_context(mock.patch.object(torch.cuda, "empty_cache", patch))
        stack.callback(torch.cuda.set_sync_debug_mode, before)
        torch.cuda.set_sync_debug_mode("warn")
        stack.enter_context(_Copies(recorder, running))
        if named:
            stack.enter_context(_Functions(running))
        yield


def _record_wait(recorder: Sink, running: _Running) -> None:
    """A wait, or the copy to the device that it is the wait of."""
    operator, function = running.operator, running.function
    copied = ""
    if operator in _INDEXING:
        indices = [index for index in running.args[_INDEXING[operator]] if index is not None]
        if any(is_mask(index) and index.is_cuda for index in indices):
            function = "mask"
        else:
            copied = "index"
    elif operator is _aten.where.self and any(map(_is_host_scalar, running.args[1:])):
        copied = "where"
    elif operator is None:
        copied = "index" if function in _INDEX else function if function in _DATA else ""
    if copied:
        record_copy(recorder, copied, 0, to_device=True, pinned=False, blocking=True)
    else:
        recorder.record("sync", name=function.strip("_") or "sync")


def _is_host_scalar(value: object) -> bool:
    return isinstance(value, torch.Tensor) and not value.dim() and not value.is_cuda


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


class _Functions(TorchFunctionMode):
    """Knows which function of torch the program called; inside of one that torch calls it is still that one."""

    def __init__(self, running: _Running) -> None:
        super().__init__()
        self._running = running

    def __torch_function__(
        self, func: Callable[..., Any], types: object, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        running = self._running
        before, running.function = running.function, running.function or getattr(func, "__name__", "")
        try:
            return func(*args, **(kwargs or {}))
        finally:
            running.function = before


class _Copies(Watching):  # type: ignore[no-untyped-call]
    """Sees operators, and of them the two that move tensors between host and device."""

    def __init__(self, recorder: Sink, running: _Running) -> None:
        super().__init__()
        self._recorder = recorder
        self._running = running

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if types and private.dispatch_themselves(types):
            return func(*args, **(kwargs or {})) if private.compiles() else NotImplemented
        if torch.is_inference_mode_enabled() and has_parts(func):  # where nothing takes it apart for us
            with self:
                return func.decompose(*args, **(kwargs or {}))
        if func in _LENGTHS and not args[_LENGTHS[func][1]].is_cuda:
            func, at = _LENGTHS[func]
            args = (*args[:at], args[at].tolist(), args[at + 1].tolist(), *args[at + 2 :])
        running = self._running
        before = running.operator, running.args, running.waited
        running.operator, running.args, running.waited = func, args, 0
        try:
            result = func(*args, **(kwargs or {}))
            waited = running.waited
        finally:
            running.operator, running.args, running.waited = before
        if func in _COPIES:
            source = args[0] if func is _COPIES[0] else args[1]
            asked = bool((kwargs or {}).get("non_blocking", args[2] if len(args) > 2 else False))
            self._record(source, result, blocking=not asked, waited=waited)
        return result

    def _record(self, source: torch.Tensor, target: torch.Tensor, *, blocking: bool, waited: int) -> None:
        if source.is_cuda == target.is_cuda or not source.numel():
            return
        name = self._running.function.strip("_") or "copy"
        pinned = (target if source.is_cuda else source).is_pinned()
        size, to_device = size_in_bytes(source), target.is_cuda
        record_copy(self._recorder, name, size, to_device=to_device, pinned=pinned, blocking=blocking)
        if waited and not to_device:  # the wait of a copy to the device is told by the copy
            self._recorder.record("sync", name="copy")
