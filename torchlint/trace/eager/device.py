"""The virtual GPUs themselves: what their modes share, what they record, and how tensors get on and off them."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from torchlint.messages.event import Event, Kind
from torchlint.trace.eager.tags import DeviceTags, tags

if TYPE_CHECKING:
    from torchlint.trace.eager.work import WorkLog
    from torchlint.trace.program.recorder import Place

CPU = torch.device("cpu")
_DEVICE_NAME = re.compile(r"(cpu|cuda|meta)(:\d+)?")
_ERROR: type[RuntimeError] = getattr(torch, "AcceleratorError", RuntimeError)
"""What torch raises for an error of CUDA, since 2.8 a class of its own."""


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

    def count_operator(self, size: int, at: tuple[Place, str]) -> None: ...

    def emit(self, event: Event) -> None: ...


class Collectives(Protocol):
    """What the virtual GPU needs of who knows the groups of processes."""

    def ran(self, operator: str, args: Sequence[Any]) -> None: ...


class VirtualGpu:
    """The virtual `cuda:0` and, of `count`, the others like it; their tensors are CPU tensors, computed for real unless `compute` is false."""

    def __init__(self, recorder: Sink, properties: SimpleNamespace, compute: bool, count: int = 1) -> None:
        self.recorder = recorder
        self.properties = properties
        self.compute = compute
        self.devices = tuple(torch.device("cuda", index) for index in range(count))
        self.tags: DeviceTags = tags
        self.work: WorkLog | None = None  # asked for by --gpu
        self.groups: Collectives | None = None  # of processes, where torch has them
        self.written: set[str] = set()  # operators that the program has written in Python
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
        index = self.tags.index(tensor)
        return tensor.device if index is None else self.devices[index]

    def copied(self, name: str, size: int, *, to_device: bool, pinned: bool, blocking: bool) -> None:
        """Record a copy between host and device of `size` bytes; `pinned` is about the host's side."""
        if not size or self.thread.paused:
            return
        record_copy(self.recorder, name, size, to_device=to_device, pinned=pinned, blocking=blocking, **self._moving())
        if self.work is not None:
            self.work.copy(name, size, to_device=to_device, pinned=pinned, blocking=blocking)
        if not to_device and (blocking or not pinned):  # a copy into pageable memory returns when it is done
            self.sync("copy")

    def copied_between(self, name: str, size: int, source: int, target: int) -> None:
        """Record a copy from one GPU to another, which the streams of both wait for and the host does not."""
        if size and not self.thread.paused:
            detail = f"{self.devices[source]} to {self.devices[target]}"
            self.recorder.record("p2p", name=name, detail=detail, size=size, data=self._moving() or None)

    def _moving(self) -> dict[str, object]:
        return {"module": True} if self.thread.moves_module else {}

    def is_device(self, value: object) -> bool:
        """Whether an argument can only be meant as a device."""
        return isinstance(value, torch.device) or (isinstance(value, str) and bool(_DEVICE_NAME.fullmatch(value)))

    def device(self, device: object) -> torch.device:
        """The device that a device, its name or an index means; a GPU always has an index.

        Raises what torch raises for a GPU that is not there, and for any in a child made by fork.
        """
        if isinstance(device, int):
            device = torch.device("cuda", device)
        parsed = device if isinstance(device, torch.device) else torch.device(str(device))
        if parsed.type != "cuda":
            return parsed
        if self.forked:
            raise RuntimeError(
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
                "'spawn' start method"
            )
        index = self.thread.device if parsed.index is None else parsed.index
        if index >= len(self.devices):
            there = (
                "there is one virtual GPU" if len(self.devices) == 1 else f"there are {len(self.devices)} virtual GPUs"
            )
            self.unsupported(f"cuda:{index}", f"{there}; --gpus {index + 1} makes {index + 1}")
            raise _ERROR("CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?")
        return self.devices[index]

    def index(self, device: object) -> int:
        """The index of the GPU that is meant, the current one for None. ValueError for a device that is none."""
        found = self.device("cuda" if device is None else device)
        if found.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {found}")
        return int(found.index)


def record_copy(
    recorder: Sink, name: str, size: int, *, to_device: bool, pinned: bool, blocking: bool, **more: object
) -> None:
    """Record a copy between host and device of `size` bytes; `pinned` is about the host's side."""
    detail = f"{'pinned' if pinned else 'pageable'}, {'blocking' if blocking else 'non_blocking'}"
    data: dict[str, object] = {"pinned": pinned, "blocking": blocking, **more}
    recorder.record("h2d" if to_device else "d2h", name=name, detail=detail, size=size, data=data)


def index_of(device: torch.device) -> int | None:
    """The index of a GPU that `VirtualGpu.device` gave, None of another device."""
    return int(device.index) if device.type == "cuda" else None


class Thread:
    """What the two modes of one thread tell each other, its current GPU and the current stream of each."""

    def __init__(self) -> None:
        self.device = 0
        self.streams: dict[int, Any] = {}  # that were chosen, by device
        self.paused = 0
        self.api = ""
        self.moves_module = False
        self.listed = False
        """Whether the index of the call that runs is of lists, which become tensors of the device."""
        self.told = -1
        """The number of the last derivative that a wait was told of."""

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
    try:
        return tensor.nbytes
    except RuntimeError:  # a sparse one has none
        if tensor.layout == torch.sparse_coo:
            return size_in_bytes(tensor._values()) + size_in_bytes(tensor._indices())
        return tensor.numel() * tensor.element_size()


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The tensors that one is made of, as a nested tensor of its values and offsets; itself if it is a plain one."""
    if not is_traceable_wrapper_subclass(tensor):
        return [tensor]
    names, _ = tensor.__tensor_flatten__()
    return [part for name in names for part in _parts(getattr(tensor, name))]


def transfer(
    gpu: VirtualGpu,
    tensor: torch.Tensor,
    name: str,
    *,
    to: int | None,
    non_blocking: bool = False,
    dtype: torch.dtype | None = None,
    memory_format: torch.memory_format = torch.preserve_format,
) -> torch.Tensor:
    """A recorded copy of the tensor on another device, None for the host; its gradient flows back the same way."""
    how = _Transfer(gpu, name, gpu.tags.index(tensor), to, non_blocking, dtype, memory_format)
    if tensor.requires_grad and torch.is_grad_enabled():
        copied: torch.Tensor = _DifferentiableTransfer.apply(tensor, how)  # type: ignore[no-untyped-call]
        return copied
    return how.run(tensor)


@dataclass(frozen=True)
class _Transfer:
    gpu: VirtualGpu
    name: str
    source: int | None
    target: int | None
    non_blocking: bool
    dtype: torch.dtype | None
    memory_format: torch.memory_format

    def run(self, tensor: torch.Tensor) -> torch.Tensor:
        # torch makes the host's side of a non_blocking device-to-host copy pinned by itself (Tensor.to)
        pinned = self.non_blocking if self.target is None else self.gpu.tags.is_pinned(tensor)
        for part in _parts(tensor):
            self._record(size_in_bytes(part), pinned)
        with self.gpu.thread.pause():
            copy = tensor.to(dtype=self.dtype or tensor.dtype, copy=True, memory_format=self.memory_format)
        for made in {id(one): one for one in (copy, *_parts(copy))}.values():
            self._mark(made, pinned)
        return copy

    def _record(self, size: int, pinned: bool) -> None:
        if self.source is not None and self.target is not None:
            self.gpu.copied_between(self.name, size, self.source, self.target)
        else:
            to_device, blocking = self.target is not None, not self.non_blocking
            self.gpu.copied(self.name, size, to_device=to_device, pinned=pinned, blocking=blocking)

    def _mark(self, made: torch.Tensor, pinned: bool) -> None:
        tags = self.gpu.tags
        if self.target is not None:
            tags.mark_cuda(made, self.target)
            return
        tags.mark_host(made)
        if pinned and self.source is not None:
            tags.mark_pinned(made)

    def back(self, dtype: torch.dtype) -> _Transfer:
        return _Transfer(self.gpu, self.name, self.target, self.source, False, dtype, torch.preserve_format)


class _DifferentiableTransfer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, how: _Transfer) -> torch.Tensor:
        ctx.back = how.back(tensor.dtype)
        return how.run(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        with torch._C.DisableTorchFunction():
            return _DifferentiableTransfer.apply(gradient, ctx.back), None  # type: ignore[no-untyped-call]
