"""Streams, events, generators and graphs of the virtual GPUs: work is done when the call returns, so they order nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from torchlint.trace.eager.device import VirtualGpu

if TYPE_CHECKING:
    from typing_extensions import Self


class _Current:
    """The virtual GPUs; each has a stream by default, and threads may choose others."""

    gpu: VirtualGpu | None = None


def _device(device: object = None) -> torch.device:
    """The GPU that is meant, the current one for None."""
    return torch.device("cuda", 0 if _Current.gpu is None else _Current.gpu.index(device))


def _wait(name: str) -> None:
    if _Current.gpu is not None:
        _Current.gpu.recorder.record("synchronize", name=name)


class VirtualEvent:
    """`torch.cuda.Event`; times are the host's, in milliseconds."""

    def __init__(self, *args: object, enable_timing: bool = False, **kwargs: object) -> None:
        self._timing = bool(enable_timing or (args and args[0] is True))
        self._recorded: float | None = None
        self.device = _device()
        self.cuda_event = self.event_id = 0

    def record(self, stream: object = None) -> None:
        self._recorded = time.perf_counter()

    def wait(self, stream: object = None) -> None:
        """Work on a stream waits for it, not the host."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        _wait("event")

    def elapsed_time(self, end_event: VirtualEvent) -> float:
        if not (self._timing and end_event._timing):
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded is None or end_event._recorded is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._recorded - self._recorded) * 1e3

    def ipc_handle(self) -> bytes:
        if _Current.gpu is not None:
            _Current.gpu.unsupported("CUDA IPC", "Event.ipc_handle")
        return bytes(64)


class VirtualStream:
    """`torch.cuda.Stream`."""

    _count = 0

    def __init__(self, device: object = None, priority: int = 0, **kwargs: object) -> None:
        VirtualStream._count += 1
        self.stream_id = self.cuda_stream = VirtualStream._count
        self.device, self.device_type = _device(device), 1
        self.device_index = int(self.device.index)
        self.priority = priority
        self._before: list[tuple[VirtualStream, VirtualStream]] = []

    def synchronize(self) -> None:
        _wait("stream")

    def wait_stream(self, stream: object) -> None:
        """Later work waits, not the host."""

    def wait_event(self, event: object) -> None:
        """Later work waits, not the host."""

    def record_event(self, event: VirtualEvent | None = None) -> VirtualEvent:
        event = event or VirtualEvent()
        event.record(self)
        return event

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def __enter__(self) -> Self:
        self._before.append((current_stream(), current_stream(self.device)))
        set_stream(self)
        return self

    def __exit__(self, *exc: object) -> None:
        source, target = self._before.pop()
        set_stream(target)
        set_stream(source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VirtualStream) and other.stream_id == self.stream_id

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


_defaults: dict[torch.device, VirtualStream] = {}


def use(gpu: VirtualGpu | None) -> None:
    """Whose events and streams these are; None when there is no virtual GPU any more."""
    _Current.gpu = gpu


def current_stream(device: object = None) -> VirtualStream:
    of = _device(device)
    chosen = {} if _Current.gpu is None else _Current.gpu.thread.streams
    return chosen.get(of.index) or default_stream(of)


def default_stream(device: object = None) -> VirtualStream:
    of = _device(device)
    if of not in _defaults:
        _defaults[of] = VirtualStream(of)
    return _defaults[of]


def set_stream(stream: VirtualStream | None) -> None:
    """The stream is its device's current one, and its device the current one."""
    if stream is not None and _Current.gpu is not None:
        thread = _Current.gpu.thread
        thread.device = stream.device_index
        thread.streams[stream.device_index] = stream


class StreamContext:
    """`with torch.cuda.stream(s)`; None changes nothing."""

    def __init__(self, stream: VirtualStream | None) -> None:
        self._stream = stream

    def __enter__(self) -> None:
        if self._stream is not None:
            self._stream.__enter__()

    def __exit__(self, *exc: object) -> None:
        if self._stream is not None:
            self._stream.__exit__()


def stream(stream: VirtualStream | None) -> StreamContext:
    """`torch.cuda.stream`."""
    return StreamContext(stream)


class VirtualGenerator(torch.Generator):
    """`torch.Generator("cuda")`: the CPU's random numbers, on a virtual GPU."""

    _index = 0

    @classmethod
    def on(cls, device: torch.device) -> VirtualGenerator:
        """One of that GPU."""
        generator = cls()
        generator._index = device.index
        return generator

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("cuda", self._index)


class GeneratorType(type):
    """`torch.Generator`: makes the one that fits the device, and every generator is an instance of it."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch._C.Generator)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, torch._C.Generator)

    def __call__(cls, device: Any = "cpu") -> torch.Generator:
        name = "cuda" if isinstance(device, int) else torch.device(device).type
        return VirtualGenerator.on(_device(device)) if name == "cuda" else torch._C.Generator(device)


class Generator(metaclass=GeneratorType):
    """See GeneratorType."""


class VirtualGraph:
    """`torch.cuda.CUDAGraph`: reported, and never replayed; what is captured runs once, as it is captured."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._report()

    @staticmethod
    def _report() -> None:
        if _Current.gpu is not None:
            _Current.gpu.unsupported("CUDA graph", "captured code runs once; replay() does nothing")

    def capture_begin(self, *args: object, **kwargs: object) -> None:
        self._report()

    def capture_end(self) -> None:
        """The capture was only a run."""

    def replay(self) -> None:
        self._report()

    def reset(self) -> None:
        """There is nothing to free."""

    def pool(self) -> tuple[int, int]:
        return (0, 0)


class GraphCapture:
    """`with torch.cuda.graph(g)`: the body runs as it is."""

    def __init__(self, cuda_graph: VirtualGraph, *args: object, **kwargs: object) -> None:
        self._graph = cuda_graph

    def __enter__(self) -> None:
        _make_room()
        self._graph.capture_begin()

    def __exit__(self, *exc: object) -> None:
        self._graph.capture_end()


def _make_room() -> None:
    """What torch does before it captures anything (torch/cuda/graphs.py)."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def make_graphed_callables(callables: Any, sample_args: object, **kwargs: object) -> Any:
    """The callables themselves, without a graph."""
    _make_room()
    VirtualGraph._report()
    return callables


def typed_constructor(name: str, dtype: torch.dtype, make: Callable[..., torch.Tensor]) -> type:
    """The legacy class `torch.cuda.<name>`: makes tensors on the virtual GPU and recognises them."""

    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, torch.Tensor) and instance.is_cuda and instance.dtype == dtype

        def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:
            if args and isinstance(args[0], (list, tuple)) and not isinstance(args[0], torch.Size):
                return torch.tensor(args[0], dtype=dtype, device="cuda")
            return make(*args, dtype=dtype, device="cuda") if args else torch.empty(0, dtype=dtype, device="cuda")

    return Meta(name, (), {"dtype": dtype, "__module__": "torch.cuda"})
