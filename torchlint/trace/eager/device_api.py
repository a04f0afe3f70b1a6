"""What `torch.cuda`, `torch.accelerator` and `torch.backends` answer about the virtual GPUs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import torch

from torchlint.trace.eager import streams
from torchlint.trace.eager.device import VirtualGpu
from torchlint.trace.eager.tags import Memory

CUDA_VERSION = "12.8"
_CUDNN_VERSION = 91002
_NCCL_VERSION = (2, 27, 3)
_SEGMENT = 2 * 2**20  # bytes; torch's caching allocator asks the driver for multiples of it


class Patch(NamedTuple):
    """`owner.name` is `value` while there is a virtual GPU; skipped where this torch has no such name, but for one that is `new`."""

    owner: Any
    name: str
    value: Any
    new: bool = False


@contextlib.contextmanager
def patched(patches: Iterator[Patch]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for patch in patches:
            if patch.new or hasattr(patch.owner, patch.name):
                # each place has an object of its own: Dynamo knows functions by identity
                value = _own(patch.value) if isinstance(patch.value, FunctionType) else patch.value
                stack.enter_context(mock.patch.object(patch.owner, patch.name, value, create=patch.new))
        yield


def _own(function: FunctionType) -> FunctionType:
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _returns(value: object) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


def patches(gpu: VirtualGpu) -> Iterator[Patch]:
    yield from _queries(gpu)
    yield from _streams_and_graphs(gpu)
    yield from _random(gpu)
    yield from _memory(gpu)
    yield from _accelerator(gpu)
    yield from _backends(gpu)
    yield from _legacy_types()


def _named(owner: Any, values: dict[str, Any]) -> Iterator[Patch]:
    for name, value in values.items():
        yield Patch(owner, name, value)


def _queries(gpu: VirtualGpu) -> Iterator[Patch]:
    properties, count = gpu.properties, len(gpu.devices)
    name = f"sm_{properties.major}{properties.minor}"

    def get_device_properties(device: object = None) -> SimpleNamespace:
        if not 0 <= _number(gpu, device) < count:
            raise AssertionError("Invalid device id")
        return properties

    def get_device_capability(device: object = None) -> tuple[int, int]:
        found = get_device_properties(device)
        return found.major, found.minor

    def can_access_peer(device: object, peer_device: object) -> bool:
        get_device_properties(device)
        if not 0 <= _number(gpu, peer_device) < count:
            raise AssertionError("Invalid peer device id")
        return _number(gpu, device) != _number(gpu, peer_device)

    def set_device(device: object) -> None:
        exchange(_number(gpu, device))

    def exchange(index: int) -> int:
        """Make that GPU the current one; a negative index changes nothing."""
        before = gpu.thread.device
        if index < 0:
            return -1
        gpu.thread.device = gpu.index(index)
        return before

    def initialize() -> None:
        gpu.device("cuda")  # raises in a forked process

    def synchronize(device: object = None) -> None:
        gpu.index(device)
        gpu.recorder.record("synchronize", name="device")

    def no_sensor(name: str) -> Callable[..., int]:
        def read(device: object = None) -> int:
            gpu.unsupported(f"torch.cuda.{name}", "a virtual GPU has no sensors; 0 is returned")
            return 0

        return read

    yield from _named(
        torch.cuda,
        {
            "is_available": _returns(True),
            "is_initialized": _returns(True),
            "init": initialize,
            "_lazy_init": initialize,
            "_is_in_bad_fork": lambda: gpu.forked,
            "device_count": _returns(count),
            "current_device": lambda: gpu.thread.device,
            "set_device": set_device,
            "_exchange_device": exchange,
            "_maybe_exchange_device": exchange,
            "get_device_properties": get_device_properties,
            "get_device_name": lambda device=None: get_device_properties(device).name,
            "get_device_capability": get_device_capability,
            "get_arch_list": _returns([name]),
            "get_gencode_flags": _returns(f"-gencode compute={name.replace('sm', 'compute')},code={name}"),
            "is_bf16_supported": _returns(properties.major >= 8),
            "is_tf32_supported": _returns(properties.major >= 8),
            "can_device_access_peer": can_access_peer,
            "synchronize": synchronize,
            "ipc_collect": _returns(None),
            "current_blas_handle": _returns(0),
            "_sleep": _returns(None),
            "cudart": lambda: SimpleNamespace(
                cudaProfilerStart=_returns(0),
                cudaProfilerStop=_returns(0),
                cudaMemGetInfo=lambda device=0: torch.cuda.mem_get_info(device),
            ),
            **{sensor: no_sensor(sensor) for sensor in ("utilization", "temperature", "power_draw", "clock_rate")},
            **_sync_debug_mode(),
        },
    )
    yield Patch(torch.version, "cuda", torch.version.cuda or CUDA_VERSION)  # torchvision asks whether it is its own
    yield Patch(torch.cuda.nvtx, "_nvtx", _NoRanges())
    for start_or_stop in ("start", "stop"):
        yield Patch(torch.cuda.profiler, start_or_stop, _returns(None))
    yield Patch(torch.cuda.nccl, "version", _returns(_NCCL_VERSION))


def _number(gpu: VirtualGpu, device: object) -> int:
    """The index that is asked for, whether there is such a GPU or not; that of the current one for None."""
    if isinstance(device, int):
        return device
    parsed = torch.device("cuda" if device is None else str(device))
    if parsed.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {parsed}")
    return gpu.thread.device if parsed.index is None else parsed.index


def _sync_debug_mode() -> dict[str, Any]:
    levels = {"default": 0, "warn": 1, "error": 2}
    level = 0

    def set_mode(mode: int | str) -> None:
        nonlocal level
        level = levels[mode] if isinstance(mode, str) else mode

    return {"set_sync_debug_mode": set_mode, "get_sync_debug_mode": lambda: level}


class _NoRanges:
    """Ranges for a profiler that isn't there."""

    def __getattr__(self, name: str) -> Callable[..., int]:
        return lambda *args: 0


def _streams_and_graphs(gpu: VirtualGpu) -> Iterator[Patch]:
    kinds = {
        "Stream": streams.VirtualStream,
        "ExternalStream": streams.VirtualStream,
        "Event": streams.VirtualEvent,
        "CUDAGraph": streams.VirtualGraph,
        "graph": streams.GraphCapture,
    }
    functions = {
        "stream": streams.stream,
        "StreamContext": streams.StreamContext,
        "current_stream": streams.current_stream,
        "default_stream": streams.default_stream,
        "set_stream": streams.set_stream,
        "make_graphed_callables": streams.make_graphed_callables,
        "graph_pool_handle": _returns((0, 0)),
        "is_current_stream_capturing": _returns(False),
    }
    yield from _named(torch.cuda, {**kinds, **functions})
    for owner in (torch.cuda.streams, torch.cuda.graphs):
        yield from _named(owner, kinds)
    yield Patch(torch, "Stream", streams.VirtualStream)
    yield Patch(torch, "Event", streams.VirtualEvent)
    yield Patch(torch, "Generator", streams.Generator)


def _random(gpu: VirtualGpu) -> Iterator[Patch]:
    """Device code draws from the CPU's generator here, so its state is the device's, and seeding it again changes nothing."""
    generators = tuple(map(streams.VirtualGenerator.on, gpu.devices))
    generator = generators[0]
    functions = {
        "manual_seed": generator.manual_seed,
        "manual_seed_all": generator.manual_seed,
        "seed": generator.seed,
        "seed_all": generator.seed,
        "initial_seed": generator.initial_seed,
        "get_rng_state": lambda device="cuda": torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state() for _ in gpu.devices],
        "set_rng_state": lambda state, device="cuda": torch.set_rng_state(state),
        "set_rng_state_all": lambda states: torch.set_rng_state(states[0]),
    }
    yield from _named(torch.cuda, functions)
    yield from _named(torch.cuda.random, functions)
    yield Patch(torch.cuda, "default_generators", generators)


def _memory(gpu: VirtualGpu) -> Iterator[Patch]:
    def of(device: object) -> Memory:
        return gpu.tags.memory[gpu.index(device)]

    def reserved(size: int) -> int:
        return -(-size // _SEGMENT) * _SEGMENT

    def stats(device: object = None) -> dict[str, Any]:
        def figures(current: int, peak: int, allocated: int) -> dict[str, dict[str, int]]:
            pool = {"current": current, "peak": peak, "allocated": allocated, "freed": allocated - current}
            none = dict.fromkeys(pool, 0)
            return {"all": pool, "large_pool": pool, "small_pool": none}

        memory = of(device)
        live, most = figures(memory.allocated, memory.peak, memory.total), reserved(memory.peak)
        held = figures(most, most, most)
        nothing = figures(0, 0, 0)
        return {
            **dict.fromkeys(("allocated_bytes", "active_bytes", "requested_bytes"), live),
            "reserved_bytes": held,
            **dict.fromkeys(("allocation", "segment", "active", "inactive_split", "inactive_split_bytes"), nothing),
            **dict.fromkeys(("oversize_allocations", "oversize_segments"), nothing["all"]),
            **dict.fromkeys(("num_alloc_retries", "num_ooms", "num_sync_all_streams", "max_split_size"), 0),
            **dict.fromkeys(("num_device_alloc", "num_device_free"), 0),
        }

    def reset_peak(device: object = None) -> None:
        of(device).reset_peak()

    def get_info(device: object = None) -> tuple[int, int]:
        return gpu.properties.total_memory - reserved(of(device).peak), gpu.properties.total_memory

    def empty_cache() -> None:
        gpu.recorder.record("empty_cache", name="empty_cache")

    def unsupported(name: str, value: object) -> Callable[..., Any]:
        def report(*args: object, **kwargs: object) -> Any:
            gpu.unsupported(f"torch.cuda.{name}", "a virtual GPU has no allocator")
            return value

        return report

    functions: dict[str, Any] = {
        "memory_stats_as_nested_dict": stats,
        "reset_peak_memory_stats": reset_peak,
        "reset_max_memory_allocated": reset_peak,
        "reset_max_memory_cached": reset_peak,
        "reset_accumulated_memory_stats": _returns(None),
        "mem_get_info": get_info,
        "empty_cache": empty_cache,
        "set_per_process_memory_fraction": _returns(None),
        "memory_usage": _returns(0),
        "memory_snapshot": unsupported("memory_snapshot", []),
        "_record_memory_history": unsupported("memory._record_memory_history", None),
        "_dump_snapshot": unsupported("memory._dump_snapshot", None),
        "_snapshot": unsupported("memory._snapshot", {"segments": [], "device_traces": []}),
        "get_allocator_backend": _returns("native"),
    }
    yield from _named(torch.cuda, functions)
    yield from _named(torch.cuda.memory, functions)
    yield Patch(torch.cuda.memory, "is_initialized", _returns(True))
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        yield Patch(getattr(torch.accelerator, "memory", None), name, getattr(torch.cuda, name))
        yield Patch(torch.accelerator, name, getattr(torch.cuda, name))
    yield from _named(
        torch.accelerator,
        {
            "memory_stats": torch.cuda.memory_stats,
            "empty_cache": empty_cache,
            "reset_peak_memory_stats": reset_peak,
            "reset_accumulated_memory_stats": _returns(None),
            "get_memory_info": get_info,
        },
    )


def _accelerator(gpu: VirtualGpu) -> Iterator[Patch]:
    device = torch.device("cuda")

    def set_index(device: object) -> None:
        torch.cuda.set_device(device)  # type: ignore[arg-type]

    yield from _named(
        torch.accelerator,
        {
            "is_available": _returns(True),
            "device_count": _returns(len(gpu.devices)),
            "current_accelerator": _returns(device),
            "current_device_index": torch.cuda.current_device,
            "current_device_idx": torch.cuda.current_device,
            "set_device_index": set_index,
            "set_device_idx": set_index,
            "device_index": lambda device: torch.cuda.device(-1 if device is None else device),
            "current_stream": streams.current_stream,
            "set_stream": streams.set_stream,
            "synchronize": lambda device=None: torch.cuda.synchronize(device),
        },
    )
    yield Patch(torch._C, "_get_accelerator", lambda check=None: device)
    yield Patch(torch._C, "_accelerator_getAccelerator", _returns(device))


_OF_A_CUDA_BUILD = {
    "_cuda_CUDAAllocator_AllocatorState": object,
    "_set_cached_tensors_enabled": _returns(None),
}
"""What modules of torch import of `torch._C` where CUDA is built in (`torch.compiler.cudagraph_mark_step_begin` does)."""


def _backends(gpu: VirtualGpu) -> Iterator[Patch]:
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    yield Patch(cuda, "is_built", _returns(True))
    for name, value in _OF_A_CUDA_BUILD.items():
        yield Patch(torch._C, name, value, new=not hasattr(torch._C, name))
    yield Patch(cuda, "is_flash_attention_available", _returns(True))
    yield Patch(cudnn, "is_available", _returns(True))
    yield Patch(cudnn, "version", _returns(_CUDNN_VERSION))
    yield Patch(cudnn, "is_acceptable", _returns(False))  # else an RNN packs its weights with cuDNN


_LEGACY = {
    "Float": torch.float32, "Double": torch.float64, "Half": torch.float16, "BFloat16": torch.bfloat16,
    "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64,
    "Bool": torch.bool,
}  # fmt: skip


def _legacy_types() -> Iterator[Patch]:
    for name, dtype in _LEGACY.items():
        kind = streams.typed_constructor(f"{name}Tensor", dtype, torch.empty)
        yield Patch(torch.cuda, f"{name}Tensor", kind)

    def set_default_tensor_type(kind: Any) -> None:
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
        torch.set_default_dtype(_LEGACY[name.rpartition(".")[2].removesuffix("Tensor")])
        torch.set_default_device("cuda" if name.startswith("torch.cuda.") else "cpu")

    yield Patch(torch, "set_default_tensor_type", set_default_tensor_type)
