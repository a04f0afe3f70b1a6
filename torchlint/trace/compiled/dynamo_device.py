"""Dynamo on the virtual GPU: the program's code is told `cuda:0`, the captured graphs are told `cpu`.

Compiled regions see plain CPU tensors, since Dynamo would trace the virtual GPU's own modes. What the program says
about devices is translated: in traced code by Dynamo itself, in the eager parts between graphs by a function mode.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from torchlint.trace.compiled import private
from torchlint.trace.eager import operators

CPU = torch.device("cpu")
_CUDA = re.compile(r"cuda(:\d+)?$")
_HOST = "torchlint: on the host"


def on_cpu(argument: Any) -> Any:
    """`argument`, with the CPU in place of a CUDA device."""
    if isinstance(argument, torch.device) and argument.type == "cuda":
        return CPU
    if isinstance(argument, str) and _CUDA.match(argument):
        return "cpu"
    return argument


def _is_of_streams(func: Any) -> bool:
    """Whether it is one of Dynamo's own operators for streams, events and `torch.cuda.synchronize`: they mean the GPU."""
    return isinstance(func, (OpOverload, OpOverloadPacket)) and str(func).startswith("streams.")


def _rewrite_call(kind: str, target: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """A call that Dynamo records in its graph."""
    if kind == "call_method" and target == "cuda":
        return "to", (args[0], CPU), {}
    if _is_of_streams(target):
        return target, args, kwargs
    if kind in ("call_function", "call_method"):
        return target, tuple(map(on_cpu, args)), {name: on_cpu(value) for name, value in kwargs.items()}
    return target, args, kwargs


def _asks_for_cpu(argument: Any) -> bool:
    return argument == "cpu" if isinstance(argument, str) else isinstance(argument, torch.device) and argument == CPU


def _mark_host(node: Any, kind: str, target: Any, args: Any, kwargs: Any) -> None:
    """Remember which values the program itself puts on the CPU."""
    if kind in ("call_function", "call_method") and (
        target == "cpu" or any(map(_asks_for_cpu, (*args[1:], *kwargs.values())))
    ):
        node.meta[_HOST] = True


def host_outputs(graph: Any) -> frozenset[int]:
    """The positions of those outputs of a captured graph that the program has put on the CPU."""
    on_host: set[Any] = set()
    for node in graph.graph.nodes:
        inputs = [value for value in node.all_input_nodes if _is_tensor(value)]
        if _HOST in node.meta or (inputs and all(value in on_host for value in inputs)):
            on_host.add(node)
    [output] = (node for node in graph.graph.nodes if node.op == "output")
    return frozenset(position for position, value in enumerate(tree_leaves(output.args)) if value in on_host)


def _is_tensor(node: Any) -> bool:
    return isinstance(node.meta.get("example_value"), torch.Tensor)


@contextlib.contextmanager
def cuda_in_dynamo(in_use: Callable[[], bool]) -> Iterator[None]:
    """Traced code sees its tensors on `cuda:0` while `in_use()`; its graphs always run on the CPU.

    What a graph keeps for its backward pass was made out of the virtual GPU's sight and carries no tag, so the virtual
    GPU refuses no mixed devices meanwhile (the eager pass of a trace does).
    """
    with (
        mock.patch.object(operators, "_check_same_device", lambda *args: None),
        private.rules_for_patched_functions(),
        private.generators_as_objects(),
        private.dynamo_calls(_rewrite_call, _mark_host),
        private.dynamo_tensors_on_cuda(in_use),
        private.modes_hidden_from_dynamo(EagerParts),
    ):
        yield


_ALLOCATING = frozenset(
    (torch.empty, torch.empty_like, torch.empty_strided, torch.Tensor.new_empty)
    if importlib.util.find_spec("triton")
    else ()
)
_DEVICE = torch.Tensor.device.__get__
_IS_CUDA = torch.Tensor.is_cuda.__get__  # type: ignore[attr-defined]


class EagerParts(TorchFunctionMode):
    """The eager parts of a compiled region, between its graphs: their tensors answer `cuda:0`, and stay on the CPU."""

    def __init__(self, in_use: Callable[[], bool]) -> None:
        super().__init__()
        self._in_use = in_use

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (_DEVICE, _IS_CUDA) and self._in_use() and func(*args) in (CPU, False):
            return private.CUDA_0 if func == _DEVICE else True
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func is torch.Tensor.cuda:
            func, args, kwargs = torch.Tensor.to, (args[0], CPU), {}
        if kwargs and kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        if func is torch.device or _is_of_streams(func):
            return func(*args, **(kwargs or {}))
        if func in _ALLOCATING:  # what a kernel of the user's, which can't run, was to write
            return func(*map(on_cpu, args), **{name: on_cpu(value) for name, value in (kwargs or {}).items()}).zero_()
        return func(*tuple(map(on_cpu, args)), **{name: on_cpu(value) for name, value in (kwargs or {}).items()})
