"""Parts of torch that need more than device answers: autocast, saving, threads, distributed, custom kernels."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from torchlint.trace.eager import distributed, kernels, parallel
from torchlint.trace.eager.device import CPU, VirtualGpu, index_of, size_in_bytes
from torchlint.trace.eager.device_api import Patch
from torchlint.trace.program.recorder import begun_at, user_frame

_LOW_PRECISION = (torch.bfloat16, torch.float16)


Scope = Callable[[], AbstractContextManager[object]]


class Scopes(NamedTuple):
    """How code gets under the virtual GPU and out of it."""

    modes: Scope  # a new thread
    functions: Scope  # Python called back by C++, which has taken the function mode off
    plain: Scope  # for compilers


def patches(gpu: VirtualGpu, scopes: Scopes) -> Iterator[Patch]:
    yield from _autocast()
    yield from _tensor_methods(gpu)
    yield from _modules(gpu)
    yield from _storages(gpu)
    yield from _threads(scopes.modes)
    yield from _saved_tensors(scopes.functions)
    yield from _compilers(gpu, scopes.plain)
    yield from _profiler(gpu)
    yield from parallel.patches(gpu)
    yield from _spawned(gpu)
    yield from distributed.patches(gpu)
    yield from _custom_kernels(gpu)
    yield from kernels.patches(gpu, scopes.modes)


def _autocast() -> Iterator[Patch]:
    """`autocast("cuda")` answers as such and casts the CPU's operators, which are the ones that run."""
    kind: Any = torch.autocast
    enter, leave = kind.__enter__, kind.__exit__

    def enter_both(self: Any) -> Any:
        entered = enter(self)
        if self.device == "cuda":
            enabled = self._enabled and self.fast_dtype in _LOW_PRECISION
            dtype = self.fast_dtype if self.fast_dtype in _LOW_PRECISION else None
            inner: Any = torch.autocast("cpu", dtype=dtype, enabled=enabled, cache_enabled=self._cache_enabled)
            inner.__enter__()
            self.__dict__.setdefault("_torchlint_inner", []).append(inner)
        return entered

    def leave_both(self: Any, *exc: Any) -> Any:
        if self.device == "cuda":
            self._torchlint_inner.pop().__exit__(*exc)
        return leave(self, *exc)

    yield Patch(kind, "__enter__", enter_both)
    yield Patch(kind, "__exit__", leave_both)


def _tensor_methods(gpu: VirtualGpu) -> Iterator[Patch]:
    """Methods of Tensor written in Python whose body runs under the modes, and must not be seen part by part."""
    kind: Any = Tensor
    parameter: Any = torch.nn.Parameter
    show, write = kind.__repr__, kind.__format__

    def shown(self: Tensor, *, tensor_contents: str | None = None) -> str:
        if gpu.tags.is_cuda(self):
            gpu.sync("format")
        with gpu.thread.pause():
            text: str = show(self, tensor_contents=tensor_contents)
            return text

    def written(self: Tensor, spec: str) -> str:
        with gpu.thread.named("format"):
            text: str = write(self, spec)
            return text

    def copied(copy: Callable[[Any, dict[int, Any]], Tensor]) -> Callable[[Tensor, dict[int, Any]], Tensor]:
        def copy_beside(self: Tensor, memo: dict[int, Any]) -> Tensor:
            clone, index = copy(self, memo), gpu.tags.index(self)
            if index is not None:
                gpu.tags.mark_cuda(clone, index)
            return clone

        return copy_beside

    def no_interface(self: Tensor) -> dict[str, Any]:
        if gpu.tags.is_cuda(self):
            gpu.unsupported("__cuda_array_interface__", "there is no device memory to share")
        raise AttributeError("Can't get __cuda_array_interface__ of a tensor that is not on a real GPU")

    make_wrapper = kind._make_wrapper_subclass

    def wrapper(cls: type, *args: Any, **kwargs: Any) -> Tensor:
        """A tensor without memory that stands for others: for C++ on the CPU, as these are."""
        device = next((one for one in (*args, kwargs.get("device")) if isinstance(one, (str, torch.device))), CPU)
        if (index := index_of(gpu.device(device))) is None:
            return cast(Tensor, make_wrapper(cls, *args, **kwargs))
        args = tuple(CPU if one is device else one for one in args)
        made: Tensor = make_wrapper(cls, *args, **{name: CPU if one is device else one for name, one in kwargs.items()})
        gpu.tags.mark_cuda(made, index)
        return made

    yield Patch(kind, "_make_wrapper_subclass", wrapper)
    yield Patch(kind, "record_stream", lambda self, stream: None)  # nothing runs late, so no memory has to wait
    yield Patch(kind, "__repr__", shown)
    yield Patch(kind, "__format__", written)
    for owner in (kind, parameter):
        yield Patch(owner, "__deepcopy__", copied(owner.__deepcopy__))
    yield Patch(kind, "__cuda_array_interface__", property(no_interface))


def _modules(gpu: VirtualGpu) -> Iterator[Patch]:
    """`module.to()` and its like say that it is a module that they move."""
    apply: Any = torch.nn.Module._apply

    def applied(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        with gpu.thread.moving_module():
            return apply(self, *args, **kwargs)

    yield Patch(torch.nn.Module, "_apply", applied)


def _bytes(storage: Any) -> Tensor:
    """A tensor over a storage, typed or not."""
    untyped = storage if isinstance(storage, torch.UntypedStorage) else storage._untyped_storage
    with torch._C.DisableTorchFunction():
        return torch.empty(0, dtype=torch.uint8).set_(untyped)


def _storages(gpu: VirtualGpu) -> Iterator[Patch]:
    kind: Any = torch.UntypedStorage
    to = kind.to

    def moved(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        index = index_of(gpu.device(device))
        if index is None:
            return to(self, device=device, non_blocking=non_blocking)
        copy = self.clone()
        with gpu.thread.pause():
            memory = _bytes(copy)
        gpu.copied("storage", memory.numel(), to_device=True, pinned=False, blocking=not non_blocking)
        gpu.tags.mark_cuda(memory, index)
        return copy

    def to_cuda(self: Any, device: object = None, non_blocking: bool = False) -> Any:
        return self.to(device=gpu.devices[gpu.index(device)], non_blocking=non_blocking)

    yield Patch(kind, "to", moved)
    yield Patch(kind, "cuda", to_cuda)


class Locations:
    """What torch.save writes as the place of a storage, and where torch.load puts one."""

    def __init__(self, gpu: VirtualGpu) -> None:
        self._gpu = gpu
        self._saved: set[int] | None = None

    def tag(self, storage: Any) -> str | None:
        with self._gpu.thread.pause():
            memory = _bytes(storage)
        index = self._gpu.tags.index(memory)
        if index is None:
            return None
        key = memory.untyped_storage()._cdata
        if self._saved is not None and key not in self._saved:
            self._saved.add(key)
            self._gpu.copied("save", memory.numel(), to_device=False, pinned=False, blocking=True)
        return f"cuda:{index}"

    def restore(self, storage: Any, location: str) -> Any | None:
        if not location.startswith("cuda"):
            return None
        asked, count = torch.device(location).index or 0, len(self._gpu.devices)
        if asked >= count:
            raise RuntimeError(
                f"Attempting to deserialize object on CUDA device {asked} but torch.cuda.device_count() is {count}. "
                "Please use torch.load with map_location to map your storages to an existing device."
            )
        index = self._gpu.index(location)
        with self._gpu.thread.pause():
            memory = _bytes(storage)
        self._gpu.copied("load", memory.numel(), to_device=True, pinned=False, blocking=True)
        self._gpu.tags.mark_cuda(memory, index)
        return storage

    def saving(self) -> Iterator[Patch]:
        """A storage is copied to the host once for each torch.save, however many tensors share it."""
        save = torch.save

        def counted(*args: Any, **kwargs: Any) -> None:
            self._saved = set()
            try:
                save(*args, **kwargs)
            finally:
                self._saved = None

        yield Patch(torch, "save", counted)
        yield Patch(torch.serialization, "save", counted)


def _threads(modes: Scope) -> Iterator[Patch]:
    """Modes belong to a thread; every thread that the program starts gets its own."""
    start = threading.Thread.start

    def started(self: threading.Thread) -> None:
        run, place = self.run, user_frame()

        def run_on_device() -> None:
            with modes(), begun_at(place):
                run()

        self.run = run_on_device  # type: ignore[method-assign]
        start(self)

    yield Patch(threading.Thread, "start", started)


def _saved_tensors(functions: Scope) -> Iterator[Patch]:
    """Hooks on saved tensors (activation checkpointing) ask where their tensors are."""
    kind: Any = torch.autograd.graph.saved_tensors_hooks
    init = kind.__init__

    def under(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(value: Any) -> Any:
            with functions():
                return hook(value)

        return call

    def init_under(self: Any, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        init(self, under(pack_hook), under(unpack_hook))

    yield Patch(kind, "__init__", init_under)


def _compilers(gpu: VirtualGpu, plain: Scope) -> Iterator[Patch]:
    """TorchScript, torch.export, and FlexAttention with its own torch.compile inside, see plain tensors."""
    import torch.nn.attention.flex_attention as flex

    attention = flex.flex_attention

    def seeing_plain(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with plain():
                return function(*args, **kwargs)

        return call

    def flex_attention(query: Tensor, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return attention(query, *args, **kwargs)
        with plain():
            result: Any = attention(query, *args, **kwargs)
        index = gpu.tags.index(query)
        if index is not None:
            for tensor in result if isinstance(result, tuple) else (result,):
                if isinstance(tensor, Tensor):
                    gpu.tags.mark_cuda(tensor, index)
        return result

    compile_script: Any = torch.jit.script

    def script(obj: Any, optimize: Any = None, _frames_up: int = 0, *args: Any, **kwargs: Any) -> Any:
        with plain():  # a class is resolved in the frame that many above, of which this is one
            return compile_script(obj, optimize, _frames_up + 1, *args, **kwargs)

    yield Patch(torch.jit, "script", script)
    yield Patch(torch.export, "export", seeing_plain(torch.export.export))
    yield Patch(flex, "flex_attention", flex_attention)
    yield Patch(flex, "_validate_device", lambda *tensors: None)  # the CPU's kernel has no backward; none is run


def _profiler(gpu: VirtualGpu) -> Iterator[Patch]:
    """A profile of the GPU is one of the host's side only."""
    kind: Any = torch.autograd.profiler.profile
    init = kind.__init__

    def init_host(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.pop("use_cuda", False) or kwargs.get("use_device") == "cuda":
            gpu.unsupported("CUDA profiler", "only the host is profiled")
            kwargs["use_device"] = None
        init(self, *args, **kwargs)

    yield Patch(kind, "__init__", init_host)


def _spawned(gpu: VirtualGpu) -> Iterator[Patch]:
    """`torch.multiprocessing.spawn` runs its first process here; the others have no device to run on."""

    def spawn(function: Any, args: Any = (), nprocs: int = 1, *rest: Any, **kwargs: Any) -> None:
        if nprocs > 1:
            gpu.unsupported("several processes", f"{nprocs} spawned; only the first runs")
        function(0, *args)

    yield Patch(torch.multiprocessing, "spawn", spawn)


def _custom_kernels(gpu: VirtualGpu) -> Iterator[Patch]:
    """Kernels written in CUDA or Triton can't run: they are named; what a Triton kernel was to write is zero if it is new."""
    import torch.utils.cpp_extension as extension

    def named(load: Callable[..., Any]) -> Callable[..., Any]:
        def loading(name: str, *args: Any, **kwargs: Any) -> Any:
            if _has_cuda_sources(args, kwargs):
                gpu.unsupported(f"CUDA extension {name}", "it can't run on the CPU")
            return load(name, *args, **kwargs)

        return loading

    yield Patch(extension, "load", named(extension.load))
    yield Patch(extension, "load_inline", named(extension.load_inline))
    try:
        runtime = importlib.import_module("triton.runtime")
    except ImportError:
        return
    for name in ("JITFunction", "Autotuner", "Heuristics"):
        kind = getattr(runtime, name, None)
        if kind is not None:
            yield Patch(kind, "run", _launch_reporter(gpu))


def _has_cuda_sources(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    sources = kwargs.get("sources", args[0] if args else ())
    listed = [sources] if isinstance(sources, str) else list(sources)
    return bool(kwargs.get("cuda_sources") or kwargs.get("with_cuda")) or any(str(s).endswith(".cu") for s in listed)


def _launch_reporter(gpu: VirtualGpu) -> Callable[..., None]:
    def run(self: Any, *args: object, **kwargs: object) -> None:
        function = self
        while hasattr(function, "fn"):
            function = function.fn
        name = f"Triton kernel {getattr(function, '__name__', '?')}"
        gpu.unsupported(
            name,
            "counted, not launched: what it writes stays as it is, new memory is zero",
        )
        given = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor) and gpu.tags.is_cuda(value)]
        gpu.recorder.record("operator", name=name, size=sum(map(size_in_bytes, given)))
        with gpu.thread.pause(), torch.no_grad():
            for value in given:
                if gpu.tags.is_fresh(value):
                    value.zero_()

    return run
