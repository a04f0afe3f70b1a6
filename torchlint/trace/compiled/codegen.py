"""The Triton code that Inductor would launch on a GPU, generated without one: how many kernels, and for which lines.

A captured graph is traced forward and backward on the CPU, its operators are moved to a fake CUDA device, and
Inductor's real code generator runs on them. Nothing is compiled, timed or launched: counts are predictions, made with
autotuning and padding of matrix products off.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch.nn import functional
from torch.utils._pytree import tree_map

from torchlint.trace.compiled import private
from torchlint.trace.compiled.breaks import Frame, frames_of, user_frames
from torchlint.trace.eager.targets import properties
from torchlint.trace.program.recorder import is_user

CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel of a graph; `lines` are the user lines whose work it does, in the order of the program."""

    name: str
    launches: int
    extern: bool  # a library's kernel (cuBLAS, cuDNN, ATen) and not a generated one
    lines: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class GeneratedGraph:
    """The code of one operator graph."""

    source: str
    target: str
    backward: bool
    operators: int
    kernels: tuple[Kernel, ...]

    def launches(self, *, extern: bool) -> int:
        return sum(kernel.launches for kernel in self.kernels if kernel.extern is extern)


@dataclass(frozen=True, slots=True)
class CodegenFailure:
    """Why there is no code for a graph."""

    reason: str
    backward: bool


Generated = GeneratedGraph | CodegenFailure


# --- reading the generated wrapper -------------------------------------------------------------------------------

_PROVENANCE = re.compile(r"# \[Provenance debug handles\] (\S+)$")
_GENERATED = re.compile(r"^\s+(?:\w+ = )?(\w+)\.run\(")
_EXTERN = re.compile(r"^\s+(?:\w+ = )?(extern_kernels\.\w+|torch\.ops\.(?!streams\.)[\w.]+|aten\.\w[\w.]*)\(")
_ENTRY = re.compile(r"^ *def call\(", re.MULTILINE)


def read_kernels(source: str, stacks: Mapping[str, Sequence[str]]) -> tuple[Kernel, ...]:
    """The kernels that the wrapper's `call` launches, in the order of their first launch."""
    entry = _ENTRY.search(source)
    launches: dict[tuple[str, bool], int] = {}
    lines: dict[tuple[str, bool], dict[Frame, None]] = {}
    handle = ""
    for line in source[entry.start() if entry else 0 :].splitlines():
        if named := _PROVENANCE.search(line):
            handle = named.group(1)
            continue
        generated, extern = _GENERATED.match(line), _EXTERN.match(line)
        launch = generated or extern
        if launch is None:
            continue
        key = launch.group(1), generated is None
        launches[key] = launches.get(key, 0) + 1
        lines.setdefault(key, {}).update(dict.fromkeys(_user_lines(stacks.get(handle, ()))))
        handle = ""
    return tuple(
        Kernel(name, count, extern, tuple(sorted(lines[name, extern], key=lambda frame: (frame.file, frame.line))))
        for (name, extern), count in launches.items()
    )


def _user_lines(stacks: Sequence[str]) -> list[Frame]:
    innermost = [user_frames(frames_of(stack)) for stack in stacks]
    return [frames[0] for frames in innermost if frames and is_user(frames[0].file)]


# --- from a captured graph to code -------------------------------------------------------------------------------


class TritonGenerator:
    """Generates code for one target; ValueError for an unknown one."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._properties = properties(target)
        self._fakes_allowed: bool | None = None

    def generate(self, graph: Any, inputs: Sequence[Any], settings: Mapping[str, object]) -> list[Generated]:
        """Code for a graph that Dynamo captured, forward first; `settings` are Inductor's, as torch.compile got them.

        Raises only what Dynamo must see (it traces the frame again).
        """
        if self._fakes_allowed is None:
            self._fakes_allowed = private.allow_cuda_fake_tensors()
        if not self._fakes_allowed:
            return [CodegenFailure("this torch build can't represent tensors on a CUDA device", backward=False)]
        found: list[Generated] = []
        attention = mock.patch.object(functional, "scaled_dot_product_attention", _attention_as_on_cuda)
        try:
            with private.no_modes(), attention, private.triton_driver(self._properties):
                private.aot_graphs(_with_cuda_attention(graph), inputs, self._inner(found), settings)
        except Exception as error:
            if private.is_restart(error):
                raise
            found.append(CodegenFailure(_why(error), backward=bool(found)))
        return found

    def _inner(self, found: list[Generated]) -> Callable[..., Any]:
        """What Inductor calls with each operator graph: generates its code, returns what AOT autograd wants to run."""

        def inner(graph: Any, inputs: Sequence[Any], **options: Any) -> Any:
            backward = bool(options.get("is_backward"))
            runnable = _twin(graph)  # lowering changes the graph, AOT autograd still looks at ours

            def receive(source: str, stacks: dict[str, list[str]], _: bool) -> None:
                kernels = read_kernels(source, stacks)
                found.append(GeneratedGraph(source, self.target, backward, count_operators(runnable), kernels))

            try:
                with private.inductor_for(self._properties), private.generated_code(receive):
                    private.lower(*_on_cuda(graph, inputs), options)
            except Exception as error:
                if private.is_restart(error):
                    raise
                found.append(CodegenFailure(_why(error), backward))
            return private.boxed(runnable.forward)

        return inner


def _why(error: Exception) -> str:
    """The first line of an error worth reading."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def count_operators(graph: Any) -> int:
    """How many operators a graph calls; tuple access and symbolic sizes don't count."""
    return sum(
        node.op in ("call_function", "call_method", "call_module")
        and getattr(node.target, "__module__", "") not in ("_operator", "operator")
        for node in graph.graph.nodes
    )


def _twin(graph: Any) -> Any:
    """A copy of an operator graph that shares its constants: under AOT autograd's modes tensors can't be copied."""
    constants = (getattr(graph, node.target, None) for node in graph.graph.nodes if node.op == "get_attr")
    shared = {id(one): one for one in constants if isinstance(one, torch.Tensor)}
    return copy.deepcopy(graph, shared)


def _on_cuda(graph: Any, inputs: Sequence[Any]) -> tuple[Any, list[Any]]:
    """An operator graph traced on the CPU, with every tensor on `cuda:0` instead (fake)."""
    mode = private.fake_mode_of([*(node.meta.get("val") for node in graph.graph.nodes), *inputs])

    def moved(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.device == CPU:
            with mode:
                return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=private.CUDA_0)
        return value

    def device(argument: Any) -> Any:
        return private.CUDA_0 if isinstance(argument, torch.device) and argument == CPU else argument

    for module in graph.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                node.args, node.kwargs = tree_map(device, node.args), tree_map(device, node.kwargs)
                if module is not graph and "val" in node.meta:  # of a graph inside the graph
                    node.meta["val"] = tree_map(moved, node.meta["val"])
            module.recompile()
    for node in graph.graph.nodes:
        if node.op == "get_attr" and isinstance(constant := getattr(graph, node.target, None), torch.Tensor):
            setattr(graph, node.target, moved(constant))
    on_cuda = [moved(value) for value in inputs]
    try:
        private.propagate_fakes(graph, mode, on_cuda)
    except Exception as error:
        if private.is_restart(error):
            raise
        for node in graph.graph.nodes:  # the CPU's sizes and strides, on the other device
            if "val" in node.meta:
                node.meta["val"] = tree_map(moved, node.meta["val"])
    return graph, on_cuda


# --- with a GPU --------------------------------------------------------------------------------------------------


def on_gpu(inputs: Sequence[Any]) -> bool:
    """Is any of the inputs on a real GPU?"""
    return any(isinstance(value, torch.Tensor) and value.is_cuda for value in inputs)


def compile_on_gpu(
    graph: Any, inputs: Sequence[Any], inductor: private.Backend
) -> tuple[list[Generated], Callable[..., Any]]:
    """What Inductor itself makes of a graph: its code, forward first, and what runs it."""
    found: list[Generated] = []
    operators = count_operators(graph)
    major, minor = torch.cuda.get_device_capability() if torch.cuda.is_available() else (0, 0)

    def receive(source: str, stacks: dict[str, list[str]], backward: bool) -> None:
        found.append(GeneratedGraph(source, f"sm_{major}{minor}", backward, operators, read_kernels(source, stacks)))

    with private.generated_code(receive, load=True), private.backward_at_once(), private.without_caches():
        run = inductor(graph, inputs)
    return sorted(found, key=lambda code: code.backward), run


# --- attention ---------------------------------------------------------------------------------------------------

_ATTENTION = functional.scaled_dot_product_attention


def _attention_as_on_cuda(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """scaled_dot_product_attention dispatched as a CUDA build does it: one fused kernel, flash or memory-efficient.

    The CPU would break it into its parts instead.
    """
    if enable_gqa and query.shape[-3] != key.shape[-3]:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    half = query.dtype in (torch.float16, torch.bfloat16)
    aten = torch.ops.aten
    if query.dim() == 4 and attn_mask is None and half and query.shape[-1] <= 256 and query.shape[-1] % 8 == 0:
        flash: torch.Tensor = aten._scaled_dot_product_flash_attention(
            query, key, value, dropout_p, is_causal, False, scale=scale
        )[0]
        return flash
    if query.dim() == 4 and query.shape[-1] % 4 == 0:
        bias = attn_mask
        if bias is not None:
            if bias.dtype == torch.bool:
                bias = torch.zeros_like(bias, dtype=query.dtype).masked_fill(~bias, float("-inf"))
            bias = bias.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        efficient: torch.Tensor = aten._scaled_dot_product_efficient_attention(
            query, key, value, bias, query.requires_grad, dropout_p, is_causal, scale=scale
        )[0]
        return efficient
    return _ATTENTION(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)


def _with_cuda_attention(graph: Any) -> Any:
    """A copy of a captured graph (its tensors are shared) whose attention is dispatched as on CUDA."""
    twin = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
    twin.meta = dict(graph.meta)
    for node in twin.graph.nodes:
        if node.op == "call_function" and node.target is _ATTENTION:
            node.target = _attention_as_on_cuda
    twin.recompile()
    return twin
