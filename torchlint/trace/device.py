"""The virtual GPU itself: what its modes share, what it records, and how tensors get on and off it."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import torch

from torchlint.messages.event import Event, Kind
from torchlint.trace.tags import DeviceTags, tags

if TYPE_CHECKING:
    from torchlint.trace.recorder import Place
    from torchlint.trace.work import WorkLog

CPU = torch.device("cpu")
CUDA = torch.device("cuda", 0)
_DEVICE_NAME = re.compile(r"(cpu|cuda|meta)(:\d+)?")


class Sink(Protocol):
    """What the virtual GPU needs of a recorder."""

    def record(
        self,
        kind: Kind,
        *,
        name: str = "",
        detail: str = "",
        size: int = 0,
        count: int = 1,
        data: dict[str, object] | None = None,
        at: tuple[Place, str] | None = None,
    ) -> None: ...

    def emit(self, event: Event) -> None: ...


class VirtualGpu:
    """One virtual `cuda:0`; its tensors are CPU tensors, computed for real unless `compute` is false."""

    def __init__(self, recorder: Sink, properties: SimpleNamespace, compute: bool) -> None:
        self.recorder = recorder
        self.properties = properties
        self.compute = compute
        self.tags: DeviceTags = tags
        self.work: WorkLog | None = None  # asked for by --gpu
        self.counts = False  # whether operators are counted
        self.forked = False  # in a child made by fork CUDA is unusable, and nothing is recorded
        self._told: set[str] = set()
        self._local = threading.local()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    @property
    def thread(self) -> Thread:
        """The state of the calling thread."""
        thread: Thread | None = getattr(self._local, "thread", None)
        if thread is None:
            thread = self._local.thread = Thread()
        return thread

    def _in_child(self) -> None:
        self.forked = True

    def sync(self, name: str, count: int = 1) -> None:
        """Record that the host waits; silent while the virtual GPU itself is at work."""
        if not self.thread.paused:
            self.recorder.record("sync", name=name, count=count)
            if self.work is not None and name != "copy":
                self.work.wait(name)

    def precision(self, name: str) -> None:
        """Record a matrix product that is slow because of its dtype or shape; float32 is one switch, and told once."""
        if self.thread.paused or name in self._told:
            return
        if name == "float32":
            self._told.add(name)
        self.recorder.record("precision", name=name)

    def unsupported(self, name: str, detail: str = "") -> None:
        self.recorder.record("unsupported", name=name, detail=detail)

    def device_of(self, tensor: torch.Tensor) -> torch.device:
        return CUDA if self.tags.is_cuda(tensor) else tensor.device

    def copied(self, name: str, size: int, *, to_device: bool, pinned: bool, blocking: bool) -> None:
        """Record a copy between host and device of `size` bytes; `pinned` is about the host's side."""
        if not size or self.thread.paused:
            return
        detail = f"{'pinned' if pinned else 'pageable'}, {'blocking' if blocking else 'non_blocking'}"
        data: dict[str, object] = {"pinned": pinned, "blocking": blocking}
        if self.thread.moves_module:
            data["module"] = True
        self.recorder.record("h2d" if to_device else "d2h", name=name, detail=detail, size=size, data=data)
        if self.work is not None:
            self.work.copy(name, size, to_device=to_device, pinned=pinned, blocking=blocking)
        if not to_device and (blocking or not pinned):  # a copy into pageable memory returns when it is done
            self.sync("copy")

    def is_device(self, value: object) -> bool:
        """Whether an argument can only be meant as a device."""
        return isinstance(value, torch.device) or (isinstance(value, str) and bool(_DEVICE_NAME.fullmatch(value)))

    def device_type(self, device: object) -> str:
        """`cuda`, `cpu`, `meta`, ... of a device, its name or an index; a second GPU is reported as unsupported."""
        if isinstance(device, int):
            device = torch.device("cuda", device)
        parsed = device if isinstance(device, torch.device) else torch.device(str(device))
        if parsed.type == "cuda":
            if self.forked:
                raise RuntimeError(
                    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
                    "'spawn' start method"
                )
            if parsed.index:
                self.unsupported(str(parsed), "there is one virtual GPU; cuda:0 is used instead")
        return parsed.type


class Thread:
    """What the two modes of one thread tell each other."""

    def __init__(self) -> None:
        self.paused = 0
        self.api = ""
        self.moves_module = False

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Operators that run inside are the virtual GPU's own: nothing is recorded or tagged."""
        self.paused += 1
        try:
            yield
        finally:
            self.paused -= 1

    @contextlib.contextmanager
    def moving_module(self) -> Iterator[None]:
        """Copies inside are of a module's parameters."""
        before, self.moves_module = self.moves_module, True
        try:
            yield
        finally:
            self.moves_module = before

    @contextlib.contextmanager
    def named(self, api: str) -> Iterator[None]:
        """A scalar read inside is called `api`, or what an outer call is called."""
        before, self.api = self.api, self.api or api
        try:
            yield
        finally:
            self.api = before


def size_in_bytes(tensor: torch.Tensor) -> int:
    """What a copy of the tensor moves; of a sparse tensor its values and indices."""
    if tensor.layout == torch.sparse_coo:
        return size_in_bytes(tensor._values()) + size_in_bytes(tensor._indices())
    return tensor.numel() * tensor.element_size()


def transfer(
    gpu: VirtualGpu,
    tensor: torch.Tensor,
    name: str,
    *,
    to_device: bool,
    non_blocking: bool = False,
    dtype: torch.dtype | None = None,
    memory_format: torch.memory_format = torch.preserve_format,
) -> torch.Tensor:
    """A recorded copy of the tensor on the other side, with its gradient flowing back the same way."""
    how = _Transfer(gpu, name, to_device, non_blocking, dtype, memory_format)
    if tensor.requires_grad and torch.is_grad_enabled():
        copied: torch.Tensor = _DifferentiableTransfer.apply(tensor, how)  # type: ignore[no-untyped-call]
        return copied
    return how.run(tensor)


@dataclass(frozen=True)
class _Transfer:
    gpu: VirtualGpu
    name: str
    to_device: bool
    non_blocking: bool
    dtype: torch.dtype | None
    memory_format: torch.memory_format

    def run(self, tensor: torch.Tensor) -> torch.Tensor:
        tags, size = self.gpu.tags, size_in_bytes(tensor)
        # torch makes the host's side of a non_blocking device-to-host copy pinned by itself (Tensor.to)
        pinned = tags.is_pinned(tensor) if self.to_device else self.non_blocking
        self.gpu.copied(self.name, size, to_device=self.to_device, pinned=pinned, blocking=not self.non_blocking)
        with self.gpu.thread.pause():
            copy = tensor.to(dtype=self.dtype or tensor.dtype, copy=True, memory_format=self.memory_format)
        if self.to_device:
            tags.mark_cuda(copy)
        else:
            tags.mark_host(copy)
            if pinned:
                tags.mark_pinned(copy)
        return copy

    def back(self, dtype: torch.dtype) -> _Transfer:
        return _Transfer(self.gpu, self.name, not self.to_device, False, dtype, torch.preserve_format)


class _DifferentiableTransfer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, how: _Transfer) -> torch.Tensor:
        ctx.back = how.back(tensor.dtype)
        return how.run(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        with torch._C.DisableTorchFunction():
            return _DifferentiableTransfer.apply(gradient, ctx.back), None  # type: ignore[no-untyped-call]
