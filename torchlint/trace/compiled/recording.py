"""The compile half of a trace: the user's torch.compile regions run, and everything they tell becomes events.

The captured graphs are executed as they are, on the CPU, so that values stay those of the plain run; beside it the
Triton code that Inductor would launch for the target is generated and counted, without a GPU. On a real GPU they run as
Inductor compiles them, and that code is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.nn.modules import module as modules
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._pytree import tree_leaves
from torch.utils.hooks import RemovableHandle
from torch.utils.weak import WeakTensorKeyDictionary

from torchlint.messages.event import NO_CODE, Event
from torchlint.trace.compiled import private
from torchlint.trace.compiled.breaks import EventSink, Frame, TraceLog, reading_trace_log
from torchlint.trace.compiled.codegen import (
    CodegenFailure,
    GeneratedGraph,
    Kernel,
    TritonGenerator,
    compile_on_gpu,
    count_operators,
    on_gpu,
)
from torchlint.trace.compiled.dynamo_device import EagerParts, cuda_in_dynamo, host_outputs
from torchlint.trace.compiled.roots import is_worth_compiling
from torchlint.trace.eager.tags import tags
from torchlint.trace.program.recorder import is_user, user_frame

Call = Callable[..., Any]


@contextmanager
def compile_recording(
    recorder: EventSink,
    *,
    target: str = "sm_90",
    keep: Path | None = None,
    whatif: bool = False,
    virtual: bool = True,
    in_compiled_code: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Iterator[None]:
    """Record graph breaks, recompiles, graphs and kernels of all compiled regions that run inside the block.

    `target` is the GPU that code is generated for (`sm_80`, `sm_90`, ...; ValueError for an unknown one); the code is
    kept in the folder `keep`. With `whatif`, each root module is compiled after the first step, as if the program had
    asked for it. With `virtual`, the tensors are those of the virtual GPU, and Dynamo is told the same. Each outermost
    call of compiled code is made inside `in_compiled_code()`.
    """
    generator = TritonGenerator(target)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    private.import_inductor()
    device: _PlainDevice = _VirtualDevice() if virtual else _PlainDevice()
    with ExitStack() as stack:
        stack.enter_context(private.resettable())
        stack.enter_context(private.without_profile())
        torch._dynamo.reset()
        private.register_dynamo_handlers()
        private.never_compile("torchlint")
        stack.callback(torch._dynamo.reset)
        log = stack.enter_context(reading_trace_log(recorder))
        what_if = _WhatIf(recorder) if whatif else None
        if what_if is not None:
            stack.callback(what_if.stop)
        regions = _Regions(recorder, log, generator, device, keep, what_if, in_compiled_code)
        stack.callback(regions.flush)
        stack.enter_context(private.compiled_calls(regions.around))
        stack.enter_context(private.compile_backends(regions.inductor, regions.other_backend))
        stack.enter_context(device.in_dynamo())
        yield


@contextmanager
def compiled_code(recorder: EventSink) -> Iterator[None]:
    """Tell, once, that the program calls code that it has compiled, in a pass that compiles nothing.

    Such code goes the way of compiled code where it asks `torch.compiler.is_compiling()`.
    """
    told = False

    def region(made: Call, args: Any, kwargs: Any) -> Any:
        return made(*args, **kwargs)

    def around(made: Call) -> Call:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal told
            if not told:
                told = True
                recorder.emit(Event("compiles", step=recorder.step))
            return region(made, args, kwargs)

        return call

    with private.compiled_calls(around), private.compiling_in(region.__code__):
        yield


@contextmanager
def cudagraph_skips(recorder: EventSink) -> Iterator[None]:
    """Record how often Inductor could not use CUDA graphs where it was asked to."""
    counters = torch._dynamo.utils.counters["inductor"]
    before = counters["cudagraph_skips"]
    try:
        yield
    finally:
        if count := counters["cudagraph_skips"] - before:
            times = "once" if count == 1 else f"{count} times"
            recorder.emit(Event("cudagraph_skip", detail=times, count=count, step=recorder.step))


# --- where the tensors are ---------------------------------------------------------------------------------------


class _PlainDevice:
    """Tensors are where they say."""

    def plain(self) -> AbstractContextManager[object]:
        return nullcontext()

    def in_dynamo(self) -> AbstractContextManager[object]:
        return nullcontext()

    def carry(self, inputs: object, outputs: object) -> None:
        """Outputs are already where they say."""

    def on_host(self, graph: Any) -> Callable[[Any], Any]:
        """What to do with the outputs of `graph` that the program put on the CPU: nothing, they are there."""
        return lambda outputs: outputs


def _gpu_in_use() -> bool:
    return any(memory.allocated for memory in tags.memory.values())


class _VirtualDevice(_PlainDevice):
    """Tensors are CPU tensors that answer as `cuda:0`; compiled regions see them plain."""

    def __init__(self) -> None:
        self._on_host = WeakTensorKeyDictionary()

    @contextmanager
    def plain(self) -> Iterator[None]:
        from torchlint.trace.eager.virtual import plain

        with plain(), EagerParts(_gpu_in_use):
            yield

    def in_dynamo(self) -> AbstractContextManager[object]:
        return cuda_in_dynamo(_gpu_in_use)

    def carry(self, inputs: object, outputs: object) -> None:
        """Outputs are on the virtual GPU of the first input that is on one, but for those known to be on the host."""
        found = (tags.index(leaf) for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor))
        index = next((one for one in found if one is not None), None)
        if index is not None:
            for leaf in tree_leaves(outputs):
                if isinstance(leaf, torch.Tensor) and leaf not in self._on_host:
                    tags.mark_cuda(leaf, index)

    def on_host(self, graph: Any) -> Callable[[Any], Any]:
        """They become copies, which the CPU didn't make of what was on the CPU, and are remembered."""
        positions = host_outputs(graph)

        def copied(outputs: Any) -> Any:
            values = list(outputs)
            for position in positions:
                values[position] = values[position].clone()
                self._on_host[values[position]] = True
            return tuple(values)

        return copied if positions else lambda outputs: outputs


# --- compiled regions --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Graph:
    """One direction of a compiled graph, and how often it ran in the current step."""

    name: str
    place: Frame
    data: dict[str, object]
    step: int = -1
    told: int = 0
    ran: int = 0

    def event(self, count: int) -> Event:
        place = self.place
        return Event(
            "graph",
            place.file,
            place.line,
            place.function,
            name=self.name,
            count=count,
            step=self.step,
            data=self.data,
        )


class _Regions:
    """Everything that is compiled: runs it, generates its code, counts its executions."""

    def __init__(
        self,
        recorder: EventSink,
        log: TraceLog,
        generator: TritonGenerator,
        device: _PlainDevice,
        keep: Path | None,
        what_if: _WhatIf | None,
        in_compiled_code: Callable[[], AbstractContextManager[object]],
    ) -> None:
        self._recorder = recorder
        self._log = log
        self._generator = generator
        self._device = device
        self._keep = keep
        self._what_if = what_if
        self._in_compiled_code = in_compiled_code
        self._running = False
        self._graphs: list[_Graph] = []
        self._names: dict[str, int] = {}

    def around(self, compiled: Call) -> Call:
        """A compiled callable: it runs with plain tensors and tells its breaks at the end of the outermost call."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._running:  # called from another one
                return compiled(*args, **kwargs)
            with self._in_compiled_code():
                outputs = self._run(compiled, args, kwargs)
                self._device.carry((args, kwargs), outputs)
            return outputs

        return call

    def _run(self, compiled: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        self._running = True
        try:
            with self._device.plain(), self._what_if.suspended() if self._what_if else nullcontext():
                return compiled(*args, **kwargs)
        finally:
            self._running = False
            self._log.flush()

    # backends

    def inductor(
        self, graph: Any, inputs: Sequence[Any], settings: Mapping[str, object], original: private.Backend
    ) -> Call:
        """What runs instead of Inductor's code for `graph`."""
        place, name = self._name()
        self._log.graph_made(graph)
        if on_gpu(inputs):
            generated, run = compile_on_gpu(graph, inputs, original)
        else:
            generated, run = self._generator.generate(graph, inputs, settings), graph.forward
        codes = {code.backward: code for code in generated if isinstance(code, GeneratedGraph)}
        for failure in generated:
            if isinstance(failure, CodegenFailure):
                self._tell_failure(place, name, failure)
        forward = self._graph(name, place, codes.get(False), count_operators(graph))
        backward = self._graph(f"{name} backward", place, codes[True]) if True in codes else None
        return self._counted(run, forward, backward, self._device.on_host(graph))

    def other_backend(self, graph: Any, inputs: Sequence[Any], backend: str, original: private.Backend) -> Call:
        """A backend that the user chose runs as it is; its kernels are its own affair."""
        place, name = self._name()
        self._log.graph_made(graph)
        forward = self._graph(name, place, None, count_operators(graph), backend)
        return self._counted(original(graph, inputs), forward, None, self._device.on_host(graph))

    def _name(self) -> tuple[Frame, str]:
        compile_id = private.current_compile_id()
        name = "/".join(map(str, compile_id))
        seen = self._names[name] = self._names.get(name, 0) + 1  # the user's torch._dynamo.reset() starts anew
        place = self._log.frames.get(compile_id[0])
        if place is None or not is_user(place.file):  # a layer of torch's own: where it is called
            caller = user_frame()
            place = Frame(*caller) if caller is not None else Frame("", 0, "")
        return place, name if seen == 1 else f"{name}#{seen}"

    def _graph(
        self, name: str, place: Frame, code: GeneratedGraph | None, operators: int = 0, backend: str = "inductor"
    ) -> _Graph:
        data: dict[str, object] = {"ops": code.operators if code else operators, "backward": False, "backend": backend}
        if code is not None:
            data |= {
                "triton": code.launches(extern=False),
                "extern": code.launches(extern=True),
                "backward": code.backward,
                "target": code.target,
            }
            for kernel in code.kernels:
                self._tell_kernel(name, place, kernel)
            if self._keep is not None:
                file_name = re.sub(r"\W+", "_", f"{place.function} {name}") + ".py"
                (self._keep / file_name).write_text(code.source, encoding="utf-8")
                data["source"] = str(self._keep / file_name)
        graph = _Graph(name, place, data)
        self._graphs.append(graph)
        return graph

    def _tell_kernel(self, graph: str, place: Frame, kernel: Kernel) -> None:
        where = kernel.lines[0] if kernel.lines else place
        lines = [f"{frame.file}:{frame.line}" for frame in kernel.lines]
        event = Event(
            "kernel",
            where.file,
            where.line,
            where.function,
            name=kernel.name,
            count=kernel.launches,
            step=self._recorder.step,
            data={"lines": lines, "graph": graph, "extern": kernel.extern},
        )
        self._recorder.emit(event)

    def _tell_failure(self, place: Frame, graph: str, failure: CodegenFailure) -> None:
        event = Event(
            "unsupported",
            place.file,
            place.line,
            place.function,
            name=NO_CODE,
            detail=failure.reason,
            step=self._recorder.step,
            data={"graph": graph, "backward": failure.backward},
        )
        self._recorder.emit(event)

    # counting

    def _counted(self, run: Call, forward: _Graph, backward: _Graph | None, on_host: Call) -> Call:
        def execute(*inputs: Any) -> Any:
            self._count(forward)
            outputs = on_host(run(*inputs))
            if backward is not None:
                self._count_backward(backward, inputs, outputs)
            self._device.carry(inputs, outputs)
            return outputs

        return execute

    def _count_backward(self, graph: _Graph, inputs: Sequence[Any], outputs: Any) -> None:
        """Count `graph` when gradients flow into any of the outputs that this graph made."""
        known = {id(value) for value in inputs}
        made = [
            leaf
            for leaf in tree_leaves(outputs)
            if isinstance(leaf, torch.Tensor) and leaf.grad_fn is not None and id(leaf) not in known
        ]
        if made:
            torch.autograd.graph.register_multi_grad_hook(made, lambda gradient: self._count(graph), mode="any")

    def _count(self, graph: _Graph) -> None:
        """One more execution. The first of a step is told at once, so that a killed process loses at most a number."""
        if graph.step != self._recorder.step:
            self._tell_rest(graph)
            graph.step, graph.ran, graph.told = self._recorder.step, 1, 1
            self._recorder.emit(graph.event(1))
        else:
            graph.ran += 1

    def _tell_rest(self, graph: _Graph) -> None:
        if graph.ran > graph.told:
            self._recorder.emit(graph.event(graph.ran - graph.told))
            graph.told = graph.ran

    def flush(self) -> None:
        """Tell the executions not told yet."""
        for graph in self._graphs:
            self._tell_rest(graph)


# --- what if it were compiled? -----------------------------------------------------------------------------------


class _WhatIf:
    """Compiles, in place, each module with parameters that the program called by itself during its first step."""

    def __init__(self, recorder: EventSink) -> None:
        self._recorder = recorder
        self._roots: list[torch.nn.Module] = []
        self._running = 0
        self._done = False
        self._hooks: list[RemovableHandle] = []
        self._step_hook = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: self._compile())
        self._watch()

    def _watch(self) -> None:
        if not self._done:
            self._hooks = [
                modules.register_module_forward_pre_hook(self._entered),
                modules.register_module_forward_hook(self._left, always_call=True),
            ]

    def _unwatch(self) -> None:
        for hook in self._hooks:
            hook.remove()

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """No hooks of ours inside the block: Dynamo would trace them. Torch may be iterating over the hooks just now."""
        own = {hook.id for hook in self._hooks}
        with ExitStack() as stack:
            for name in ("_global_forward_pre_hooks", "_global_forward_hooks"):
                hooks = getattr(modules, name)
                others = type(hooks)((key, hook) for key, hook in hooks.items() if key not in own)
                stack.enter_context(mock.patch.object(modules, name, others))
            yield

    def _entered(self, module: torch.nn.Module, inputs: object) -> None:
        if not self._running and self._recorder.step > 0:  # a program without an optimizer
            self._compile()
        elif not self._running and is_worth_compiling(module) and not any(module is root for root in self._roots):
            self._roots.append(module)
        self._running += 1

    def _left(self, module: torch.nn.Module, inputs: object, outputs: object) -> None:
        self._running = max(0, self._running - 1)

    def _compile(self) -> None:
        if not self._done:
            self.stop()
            for root in self._roots:
                private.compile_in_place(root)

    def stop(self) -> None:
        self._done = True
        self._unwatch()
        self._step_hook.remove()
