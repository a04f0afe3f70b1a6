"""All private torch API behind graph breaks, recompiles and code generation: one name here for each use.

Public replacements do not exist. `torchlint doctor` (`doctor.CHECKS`) runs a small program for each capability made of
them, so that a change in torch switches off what needs it, by name, and nothing else.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import json
import logging
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from torchlint.trace.compiled import triton_stub
from torchlint.trace.eager.private import GATES, GROUP

Metadata = Mapping[str, object]
Backend = Callable[..., Callable[..., Any]]
CUDA_0 = torch.device("cuda", 0)

# --- the structured trace log (torch 2.5 and later) --------------------------------------------------------------


class _TraceHandler(logging.Handler):
    """Passes structured records on; `chromium_event`, three quarters of all, are only timing."""

    def __init__(self, read: Callable[[Metadata, str | None], None]) -> None:
        super().__init__()
        self._read = read

    def emit(self, record: logging.LogRecord) -> None:
        metadata: Metadata = getattr(record, "metadata", {})
        if "chromium_event" not in metadata:
            self._read(metadata, getattr(record, "payload", None))


@contextlib.contextmanager
def structured_trace(read: Callable[[Metadata, str | None], None]) -> Iterator[None]:
    """Call `read(metadata, payload)` for each record of torch's structured trace log inside the block."""
    from torch._logging._internal import trace_log

    handler = _TraceHandler(read)
    trace_log.addHandler(handler)
    # torch up to 2.9 asks the level, which the user's logging.disable() would answer with no
    with mock.patch.object(trace_log, "isEnabledFor", lambda level: True):
        try:
            yield
        finally:
            trace_log.removeHandler(handler)


def started_frame(metadata: Metadata) -> tuple[str, int, str] | None:
    """The file, first line and name of the function that a `dynamo_start` record says is being compiled."""
    from torch._logging.structured import INTERN_TABLE

    start = metadata.get("dynamo_start")
    stack = start.get("stack") if isinstance(start, dict) else None
    if not stack:
        return None
    frame = stack[-1]
    names = {number: name for name, number in INTERN_TABLE.items()}
    return names.get(frame["filename"], ""), int(frame["line"]), str(frame["name"])


@functools.lru_cache(maxsize=1)
def graph_break_registry() -> dict[str, list[dict[str, object]]]:
    """`{"GB0124": [{"Gb_type": ..., "Explanation": ..., "Hints": [...]}, ...]}`; empty before torch 2.8."""
    path = Path(torch.__file__).parent / "_dynamo" / "graph_break_registry.json"
    try:
        registry: dict[str, list[dict[str, object]]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return registry


def has_gpu() -> bool:
    """Is there a real CUDA device, whatever the virtual GPU answers?"""
    return bool(getattr(torch._C, "_cuda_getDeviceCount", lambda: 0)())


@contextlib.contextmanager
def resettable() -> Iterator[None]:
    """Let `torch._dynamo.reset` and `torch.compiler.reset` work on a virtual GPU: there are no CUDA graphs to reset."""
    import torch._dynamo

    reset = torch._dynamo.reset

    def reset_without_gpu() -> None:
        with mock.patch.object(torch.cuda, "is_available", has_gpu):
            reset()

    with mock.patch.object(torch._dynamo, "reset", reset_without_gpu):
        yield


@contextlib.contextmanager
def without_profile() -> Iterator[None]:
    """Dynamo forgets which sizes changed in earlier runs of the program: each trace starts cold, and says so to nobody."""
    from torch._dynamo import pgo

    with mock.patch.object(pgo, "get_cache_key", lambda: None):
        yield


def register_dynamo_handlers() -> None:
    """Let Dynamo look up torch's own functions now: it knows them by identity, and allows none two names."""
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

    def current_stream(device: object = None) -> Any:
        return torch.cuda.current_stream(device)  # type: ignore[arg-type]

    group = getattr(torch._C, GROUP)
    gates = {name: getattr(torch._C, f"_{name}") for name in GATES}
    with (
        mock.patch.object(torch.accelerator, "current_stream", current_stream),
        mock.patch.multiple(torch.overrides, **gates),
        mock.patch.object(torch._C, GROUP, getattr(group, "__wrapped__", group)),
    ):
        TorchInGraphFunctionVariable._get_handlers()


def is_dynamo_error(name: str) -> bool:
    """Is it one of Dynamo's own exceptions (and not one that the user's program raised while it was traced)?"""
    import torch._dynamo.exc

    return hasattr(torch._dynamo.exc, name)


# --- entering compiled regions, and the backend that gets their graphs -------------------------------------------


@contextlib.contextmanager
def compiled_calls(around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Wrap each compiled callable made inside the block with `around`: functions, methods and modules alike.

    torch.compile, module.compile() and torch._dynamo.optimize all go through OptimizeContext, however they were imported.
    """
    from torch._dynamo import eval_frame

    make = eval_frame.OptimizeContext.__call__

    def make_wrapped(self: Any, target: Any) -> Any:
        made = make(self, target)
        if isinstance(made, (torch.nn.Module, type)):  # their forward came through here on its own
            return made
        wrapped = functools.wraps(made)(around(made))
        if hasattr(made, "_torchdynamo_wrapper_id"):  # Dynamo unwraps nested decorators by it
            wrapped._torchdynamo_wrapper_id = id(wrapped)  # type: ignore[attr-defined]
        return wrapped

    with mock.patch.object(eval_frame.OptimizeContext, "__call__", make_wrapped):
        yield


@contextlib.contextmanager
def compile_backends(
    inductor: Callable[[Any, Sequence[Any], Mapping[str, object], Backend], Callable[..., Any]],
    other: Callable[[Any, Sequence[Any], str, Backend], Callable[..., Any]],
) -> Iterator[None]:
    """Replace what torch.compile's backends do with a captured graph and its inputs.

    `inductor(graph, inputs, settings, original)` and `other(graph, inputs, name, original)` return what runs.
    The arguments of torch.compile (mode, options, ...) are still checked by torch.
    """

    def inductor_call(self: Any, graph: Any, inputs: Any, **options: Any) -> Any:
        return inductor(graph, inputs, dict(self.config), functools.partial(original_inductor, self, **options))

    def other_call(self: Any, graph: Any, inputs: Any) -> Any:
        return other(graph, inputs, self.compiler_name, functools.partial(original_other, self))

    original_inductor = torch._TorchCompileInductorWrapper.__call__
    original_other = torch._TorchCompileWrapper.__call__
    with (
        mock.patch.object(torch._TorchCompileInductorWrapper, "__call__", inductor_call),
        mock.patch.object(torch._TorchCompileWrapper, "__call__", other_call),
    ):
        yield


_ASKED = ("is_compiling", "is_dynamo_compiling")


@contextlib.contextmanager
def compiling_in(region: types.CodeType) -> Iterator[None]:
    """`torch.compiler.is_compiling()` is true in what is called by that code, in none that is disabled for Dynamo.

    torch's own code gets the answer of torch: it would prepare for a graph that there is not.
    """
    from torch._dynamo import eval_frame

    exporting = getattr(torch.compiler, "is_exporting", lambda: False)
    made = eval_frame.DisableContext.__call__.__code__.co_consts
    disabled = {code for code in made if isinstance(code, types.CodeType) and code.co_name == "_fn"}

    def answering(honest: Callable[[], bool]) -> Callable[[], bool]:
        @functools.wraps(honest)
        def answer() -> bool:
            if exporting() or honest():  # Dynamo knows the first of them: it looks no further where the program exports
                return True
            frame: types.FrameType | None = sys._getframe(1)
            if frame is None or str(frame.f_globals.get("__name__")).partition(".")[0] in ("torch", "torchlint"):
                return False
            while frame is not None and frame.f_code not in disabled:
                if frame.f_code is region:
                    return True
                frame = frame.f_back
            return False

        return answer

    owners = [(torch.compiler, name) for name in _ASKED if hasattr(torch.compiler, name)]
    owners.append((torch._dynamo, "is_compiling"))
    with contextlib.ExitStack() as stack:
        for owner, name in owners:
            stack.enter_context(mock.patch.object(owner, name, answering(getattr(owner, name))))
        yield


def break_after(graph: object) -> list[tuple[str, int, str]]:
    """The frames (file, line, function; outermost first) of the break that ended a captured graph; empty if none did.

    It is all that `torch._dynamo.explain` makes its `break_reasons` of.
    """
    reason = getattr(graph, "compile_subgraph_reason", None)
    if reason is None or not reason.graph_break:
        return []
    return [(frame.filename, frame.lineno or 0, frame.name) for frame in reason.user_stack]


def is_restart(error: BaseException) -> bool:
    """Does Dynamo raise it through a backend to trace the frame again? It must pass."""
    return any("RestartAnalysis" in kind.__name__ for kind in type(error).__mro__)


def traced_frames() -> list[tuple[str, int, str]]:
    """The frames (file, line, function; outermost first) that Dynamo is tracing now, at the lines where it is."""
    from torch._guards import TracingContext

    if TracingContext.try_get() is None:
        return []
    return [(frame.filename, frame.lineno or 0, frame.name) for frame in TracingContext.extract_stack()]


def never_compile(package: str) -> None:
    """Keep Dynamo from compiling this package's own frames where the eager parts of the program call them.

    They can still be inlined into the program's.
    """
    from torch._dynamo.eval_frame import skip_code

    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            for code in _code_objects(list(vars(module).values()), name):
                skip_code(code)


def _code_objects(values: Sequence[object], module: str) -> Iterator[types.CodeType]:
    """The code of these functions, methods of classes and properties, and of what they define inside."""
    for value in values:
        if isinstance(value, types.CodeType):
            yield value
            yield from _code_objects(value.co_consts, module)
        elif isinstance(value, types.FunctionType):
            yield from _code_objects([value.__code__, getattr(value, "__wrapped__", None)], module)
        elif isinstance(value, (staticmethod, classmethod)):
            yield from _code_objects([value.__func__], module)
        elif isinstance(value, property):
            yield from _code_objects([value.fget, value.fset], module)
        elif isinstance(value, type) and value.__module__ == module:
            yield from _code_objects(list(vars(value).values()), module)


def current_compile_id() -> tuple[int, int]:
    """The (frame, compilation) numbers of what is being compiled now, as in `0/1`."""
    from torch._guards import CompileContext

    compile_id = CompileContext.current_compile_id()
    return getattr(compile_id, "frame_id", None) or 0, getattr(compile_id, "frame_compile_id", None) or 0


# --- Dynamo and devices (torch 2.6 and later) --------------------------------------------------------------------


@contextlib.contextmanager
def dynamo_calls(
    rewrite: Callable[[str, Any, Any, Any], tuple[Any, Any, Any]],
    made: Callable[[Any, str, Any, Any, Any], None],
) -> Iterator[None]:
    """Dynamo records `rewrite(kind, target, args, kwargs)` in its graphs in place of each call.

    `made(node, kind, target, args, kwargs)` then gets the graph's node and the call as it was.
    """
    from torch._dynamo.output_graph import SubgraphTracer

    create = SubgraphTracer.create_proxy

    def create_proxy(self: Any, kind: str, target: Any, args: Any, kwargs: Any, *rest: Any, **options: Any) -> Any:
        proxy = create(self, kind, *rewrite(kind, target, args, kwargs), *rest, **options)
        made(proxy.node, kind, target, args, kwargs)
        return proxy

    with mock.patch.object(SubgraphTracer, "create_proxy", create_proxy):
        yield


_ACTING = ("synchronize", "empty_cache", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_device")


@contextlib.contextmanager
def rules_for_patched_functions() -> Iterator[None]:
    """Dynamo treats what stands in for torch.cuda's functions as these: what acts, acts when the graph runs.

    Dynamo knows functions by identity; a stand-in that only answers is inlined, which is as good as the real one.
    `torch.cuda.stream` has a handler of its own there, and streams and events that traced code makes are the graph's.
    """
    from torch._dynamo import device_interface, trace_rules, utils
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

    known: Any = trace_rules.torch_name_rule_map
    names = {name: rule for group in known for name, rule in group.items()}
    rules = {}
    with contextlib.ExitStack() as stack:
        for function in _ACTING:
            stand_in = _as_function(getattr(torch.cuda, function))
            stack.enter_context(mock.patch.object(torch.cuda, function, stand_in))
            for module in ("torch.cuda", "torch.cuda.memory", "torch.cuda.random"):
                if (rule := names.get(f"{module}.{function}")) is not None:
                    rules[stand_in] = rule
        handlers = TorchInGraphFunctionVariable._get_handlers()
        handler = handlers.get(device_interface.CudaInterface.stream)
        if handler is not None and hasattr(utils, "build_stream"):  # an older torch has streams in its graphs otherwise
            rules[torch.cuda.stream] = TorchInGraphFunctionVariable
            stack.enter_context(mock.patch.dict(handlers, {torch.cuda.stream: handler}))
            stack.enter_context(_made_by_graphs(build_stream=torch.cuda.Stream, build_event=torch.cuda.Event))
        stack.enter_context(mock.patch.dict(trace_rules.get_torch_obj_rule_map(), rules))
        yield


@contextlib.contextmanager
def _made_by_graphs(**stand_ins: type) -> Iterator[None]:
    """Graphs make objects of these classes, as they do of torch's; else Dynamo would trace their constructors.

    They are named by the functions of Dynamo that make an object before its graph runs.
    """
    from torch._dynamo import utils
    from torch._dynamo.variables.user_defined import UserDefinedClassVariable

    classes = frozenset(stand_ins.values())
    known = UserDefinedClassVariable._in_graph_classes() | classes
    is_standard = UserDefinedClassVariable.is_standard_new

    def is_standard_new(self: Any) -> bool:
        return self.value not in classes and bool(is_standard(self))

    def making(kind: type) -> Callable[[Any, Any], Any]:
        return lambda args, kwargs: kind(*args, **kwargs)

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(UserDefinedClassVariable, "_in_graph_classes", lambda *_: known))
        stack.enter_context(mock.patch.object(UserDefinedClassVariable, "is_standard_new", is_standard_new))
        for name, kind in stand_ins.items():
            stack.enter_context(mock.patch.object(utils, name, making(kind)))
        yield


@contextlib.contextmanager
def generators_as_objects() -> Iterator[None]:
    """Dynamo breaks where it meets a generator of torch's own class, and raises for one of a class made of it."""
    try:
        from torch._dynamo.variables.script_object import TorchScriptObjectVariable
    except ImportError:  # an older torch
        yield
        return
    matches: Any = TorchScriptObjectVariable.is_matching_cls

    def is_matching_cls(kind: type) -> bool:
        return not issubclass(kind, torch._C.Generator) and bool(matches(kind))

    with mock.patch.object(TorchScriptObjectVariable, "is_matching_cls", staticmethod(is_matching_cls)):
        yield


def _as_function(stand_in: Callable[..., Any]) -> Callable[..., Any]:
    """A bound method makes Dynamo look at its object first, whatever the rule for the method."""
    if isinstance(stand_in, types.FunctionType):
        return stand_in

    @functools.wraps(stand_in)
    def call(*args: Any, **kwargs: Any) -> Any:
        return stand_in(*args, **kwargs)

    return call


@contextlib.contextmanager
def modes_hidden_from_dynamo(kind: type) -> Iterator[None]:
    """Function modes of that class stay on in the eager parts of compiled regions; Dynamo neither traces nor guards them."""
    from torch._C._dynamo.guards import RootGuardManager
    from torch._dynamo.variables.torch_function import TorchFunctionModeStackStateManager as Manager

    enter, leave = Manager.__enter__, Manager.__exit__

    def enter_hiding(self: Any) -> None:
        enter(self)
        self.torchlint_all = self.stack
        self.stack = [mode for mode in self.stack if not isinstance(mode, kind)]

    def leave_restoring(self: Any, *error: Any) -> None:
        self.stack = self.torchlint_all
        leave(self, *error)

    with (
        mock.patch.object(Manager, "__enter__", enter_hiding),
        mock.patch.object(Manager, "__exit__", leave_restoring),
        mock.patch.object(RootGuardManager, "add_torch_function_mode_stack_guard", lambda *args: None),
    ):
        yield


@contextlib.contextmanager
def dynamo_tensors_on_cuda(in_use: Callable[[], bool]) -> Iterator[None]:
    """Traced code that asks a CPU tensor for its device hears `cuda:0`, while `in_use()`."""
    from torch._dynamo.variables.base import VariableTracker
    from torch._dynamo.variables.tensor import TensorVariable

    def told(name: str, answer: object) -> Any:
        honest = getattr(TensorVariable, name)

        def method(self: Any, tx: Any) -> Any:
            on_cpu = self.device is not None and self.device.type == "cpu"
            return VariableTracker.build(tx, answer) if on_cpu and in_use() else honest(self, tx)

        return mock.patch.object(TensorVariable, name, method)

    with told("method_attr_device", CUDA_0), told("method_attr_is_cuda", True), told("method_get_device", 0):
        yield


# --- Inductor for a GPU that isn't there (torch 2.8 and later) ---------------------------------------------------


def compile_in_place(module: torch.nn.Module) -> None:
    """As `module.compile()`, which compiles nothing where the module's class is torch's own (Sequential, Linear)."""
    from torch._dynamo import trace_rules
    from torch._dynamo.external_utils import wrap_inline

    if not trace_rules.check(module.forward):
        module.compile()
        return
    # Dynamo skips the frames of torch.nn; torch.compile(module) wraps them in one that it doesn't skip.
    module._compiled_call_impl = torch.compile(wrap_inline(module._call_impl))


def import_inductor() -> None:
    """Import what generates Triton code, with the stub in view where there is no triton."""
    with triton_stub.visible():
        import torch._dynamo
        import torch._inductor.codegen.triton
        import torch._inductor.compile_fx
        import torch._inductor.cudagraph_trees
        import torch._inductor.runtime.triton_heuristics  # noqa: F401


def allow_cuda_fake_tensors() -> bool:
    """Let fake tensors live on a CUDA device that isn't there; False where this build has no way to.

    A CPU-only build has no device guard for CUDA: the inert one of the meta device takes its place. A CUDA build
    without a GPU gets one from torch itself (2.10 and later).
    """
    if has_gpu():
        return True
    # torch.backends.cuda.is_built() answers for the virtual GPU
    if getattr(torch._C, "_has_cuda", False) and hasattr(torch._C, "_ensureCUDADeviceGuardSet"):
        torch._C._ensureCUDADeviceGuardSet()
        return True
    cuda, meta = 1, 14  # torch/headeronly/core/DeviceType.h
    for library in sorted((Path(torch.__file__).parent / "lib").glob("*c10.*")):
        try:
            guards = (ctypes.c_void_p * 20).in_dll(
                ctypes.CDLL(str(library)), "_ZN3c104impl26device_guard_impl_registryE"
            )
        except (OSError, ValueError):
            continue
        guards[cuda] = guards[meta]
        return bool(guards[cuda])
    return False


class _NoDevice(contextlib.nullcontext[None]):
    """`torch.cuda.device(...)` that selects nothing."""

    def __init__(self, *_: object) -> None:
        super().__init__()


class _Driver:
    """Answers what Inductor asks of Triton's driver."""

    def __init__(self, properties: Any) -> None:
        self.properties = properties
        self.utils = types.SimpleNamespace(
            get_device_properties=lambda index: {
                "max_shared_mem": properties.shared_memory_per_block_optin,
                "multiprocessor_count": properties.multi_processor_count,
                "warpSize": properties.warp_size,
            }
        )

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.properties.major * 10 + self.properties.minor, self.properties.warp_size)

    def get_current_device(self) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return CUDA_0

    def get_device_interface(self) -> Any:
        return torch.cuda


@contextlib.contextmanager
def triton_driver(properties: Any) -> Iterator[None]:
    """Triton, or what stands for it, has a driver for that GPU: kernels of the user's are read with it, too."""
    with triton_stub.visible():
        driver = importlib.import_module("triton.runtime.driver").driver
        mine = mock.patch.multiple(driver, _active=_Driver(properties), _default=_Driver(properties), create=True)
    with mine:
        yield


def _cuda_answers(properties: Any) -> dict[str, Callable[..., Any]]:
    return {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: (properties.major, properties.minor),
        "get_device_name": lambda device=None: properties.name,
        "_lazy_init": lambda: None,
        "is_tf32_supported": lambda: properties.major >= 8,
        "is_bf16_supported": lambda *args, **kwargs: properties.major >= 8,
        "synchronize": lambda *args, **kwargs: None,
        "set_device": lambda *args: None,
        "get_rng_state": lambda *args: torch.empty(0),
        "set_rng_state": lambda *args: None,
        "device": _NoDevice,
    }


def _no_caches() -> dict[str, object]:
    """Inductor settings under which nothing is compiled, timed, cached or recorded on a device."""
    wanted = {
        "compile_threads": 1,
        "force_disable_caches": True,
        "fx_graph_cache": False,
        "max_autotune": False,
        "max_autotune_gemm": False,
        "max_autotune_pointwise": False,
        "coordinate_descent_tuning": False,
        "benchmark_kernel": False,
        "cpp_wrapper": False,
        "triton.cudagraphs": False,
        "triton.autotune_at_compile_time": False,
        "always_keep_tensor_constants": True,  # of a fake one it could not read the numbers to write them into the code
    }
    return _known(wanted)


def _known(settings: Mapping[str, object]) -> dict[str, object]:
    """Those settings that this torch's Inductor has."""
    from torch._inductor import config

    known = config.get_config_copy()
    return {name: value for name, value in settings.items() if name in known}


def _forget_device_properties() -> None:
    from torch._inductor.runtime.hints import DeviceProperties

    create = getattr(DeviceProperties.create, "__func__", None)
    if create is not None and hasattr(create, "cache_clear"):
        create.cache_clear()


def _torch_modules_with(name: str) -> list[Any]:
    return [
        module
        for key, module in list(sys.modules.items())
        if key.startswith("torch.") and name in getattr(module, "__dict__", {})
    ]


@contextlib.contextmanager
def inductor_for(properties: Any) -> Iterator[None]:
    """Inductor sees one CUDA device with these properties (as `torch.cuda.get_device_properties` names them)."""
    import torch._dynamo.device_interface as interfaces
    from torch._inductor import codecache, config
    from torch._subclasses import fake_tensor

    with contextlib.ExitStack() as stack:
        stack.enter_context(triton_stub.visible())

        def patch(owner: object, name: str, value: object) -> None:
            stack.enter_context(mock.patch.object(owner, name, value, create=True))

        answers = _cuda_answers(properties)
        for name, answer in answers.items():
            patch(torch.cuda, name, answer)
        shared = ("get_device_properties", "current_device", "device_count", "synchronize", "set_device")
        for name in (*shared, "is_bf16_supported"):
            patch(interfaces.CudaInterface, name, staticmethod(answers[name]))
        for name in ("get_raw_stream", "exchange_device", "maybe_exchange_device"):
            patch(interfaces.CudaInterface, name, staticmethod(lambda device: 0))
        patch(interfaces.CudaInterface, "device", _NoDevice)
        stack.enter_context(mock.patch.dict(interfaces.caching_worker_device_properties, {"cuda": [properties]}))
        stack.enter_context(mock.patch.dict(interfaces.caching_worker_current_devices, {"cuda": 0}))
        for name in ("init_gpu_context", "init_cuda_context"):
            if hasattr(fake_tensor, name):
                patch(fake_tensor, name, lambda *args: None)
        system = {"device": {"name": properties.name}, "version": {"cuda": "none", "triton": "none"}, "hash": "none"}
        patch(codecache.CacheBase, "get_system", staticmethod(lambda: system))
        for name in ("triton_key", "triton_hash_with_backend"):
            for module in _torch_modules_with(name):
                patch(module, name, lambda *args: "none")
        for module in _torch_modules_with("has_triton"):
            if module.__name__.startswith(("torch._inductor", "torch.utils._triton")) and callable(module.has_triton):
                patch(module, "has_triton", lambda: True)
        stack.enter_context(triton_driver(properties))
        stack.enter_context(config.patch(_no_caches()))
        _forget_device_properties()
        stack.callback(_forget_device_properties)
        yield


@contextlib.contextmanager
def generated_code(receive: Callable[[str, dict[str, list[str]], bool], None], *, load: bool = False) -> Iterator[None]:
    """Inductor's code goes to `receive(source, stacks, backward)`; with `load` it is compiled and loaded as ever.

    `stacks` maps `kernel:number`, as the source's provenance comments name each launch, to the user's stack traces.
    """
    from torch._inductor import debug
    from torch._inductor.graph import GraphLowering

    go_on = GraphLowering._compile_to_module_lines

    def take(self: Any, wrapper_code: Any) -> Any:
        stacks = dict(getattr(debug, "_inductor_kernel_stack_trace", {}))
        receive(wrapper_code.value, stacks, bool(self.is_backward))
        if load:
            return go_on(self, wrapper_code)
        self.cache_key, self.cache_path, self.cache_linemap = "none", __file__, []
        return types.SimpleNamespace(__file__=__file__, call=lambda *args: None, key="none")

    with mock.patch.object(GraphLowering, "_compile_to_module_lines", take):
        yield


_INNER_OPTIONS = ("is_backward", "is_inference", "static_input_idxs", "graph_id", "layout_opt")


def lower(graph: Any, inputs: Sequence[Any], options: Mapping[str, object]) -> None:
    """Run Inductor on one operator graph; only useful inside `inductor_for` and `generated_code`."""
    from torch._inductor import compile_fx

    inner: Any = compile_fx.compile_fx_inner
    inner(graph, inputs, **{name: value for name, value in options.items() if name in _INNER_OPTIONS})


def backward_at_once() -> contextlib.AbstractContextManager[object]:
    """Backward graphs are lowered with the forward ones, and not when a backward pass first runs (torch 2.10)."""
    import torch._functorch.config as functorch_config

    wanted = {"force_non_lazy_backward_lowering": True, "enable_autograd_cache": False}
    patched: contextlib.AbstractContextManager[object] = functorch_config.patch(
        {name: value for name, value in wanted.items() if hasattr(functorch_config, name)}
    )
    return patched


def without_caches() -> contextlib.AbstractContextManager[object]:
    """Inductor generates all code anew, and keeps the user lines of its kernels."""
    from torch._inductor import config

    patched: contextlib.AbstractContextManager[object] = config.patch(
        _known({"force_disable_caches": True, "fx_graph_cache": False, "trace.provenance_tracking_level": 1})
    )
    return patched


def aot_graphs(graph: Any, inputs: Sequence[Any], inner: Callable[..., Any], settings: Mapping[str, object]) -> None:
    """Trace `graph` forward and backward into operators on the CPU; `inner(graph, inputs, **options)` gets each.

    The backward graph comes at once from torch 2.10; before, it is made only when a backward pass runs.
    """
    from torch._inductor import compile_fx

    with (
        backward_at_once(),
        mock.patch.object(torch.cuda, "is_available", lambda: False),  # this stage is honestly on the CPU
    ):
        patches = {**_known(settings), **_no_caches(), **_known({"trace.provenance_tracking_level": 1})}
        compile_fx.compile_fx(graph, inputs, inner_compile=inner, config_patches=patches)


def no_modes() -> contextlib.AbstractContextManager[object]:
    """Switch off all dispatch modes inside the block."""
    from torch.utils._python_dispatch import _disable_current_modes

    return _disable_current_modes()


def fake_mode_of(values: Sequence[object]) -> Any:
    from torch._guards import detect_fake_mode

    return detect_fake_mode(values)


def propagate_fakes(graph: Any, mode: Any, inputs: Sequence[Any]) -> None:
    """Recompute the shapes and devices of all values of `graph` from fake `inputs`."""
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp

    FakeTensorProp(graph, mode).propagate_dont_convert_inputs(*inputs)


def boxed(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the calling convention of AOT autograd: one list of arguments."""
    from torch._functorch.aot_autograd import make_boxed_func  # type: ignore[attr-defined]

    made: Callable[..., Any] = make_boxed_func(function)
    return made
