"""Dynamo on the virtual GPU: the program's code is told `cuda:0`, the captured graphs are told `cpu`.

Compiled regions see plain CPU tensors, since Dynamo would trace the virtual GPU's own modes. What the program says
about devices is translated: in traced code by Dynamo itself, in the eager parts between graphs by a dispatch mode.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from torchlint.trace import private_inductor as private

CPU = torch.device("cpu")
_CUDA = re.compile(r"cuda(:\d+)?$")


def on_cpu(argument: Any) -> Any:
    """`argument`, with the CPU in place of a CUDA device."""
    if isinstance(argument, torch.device) and argument.type == "cuda":
        return CPU
    if isinstance(argument, str) and _CUDA.match(argument):
        return "cpu"
    return argument


def _rewrite_call(kind: str, target: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """A call that Dynamo records in its graph."""
    if kind == "call_method" and target == "cuda":
        return "to", (args[0], CPU), {}
    if kind in ("call_function", "call_method"):
        return target, tuple(map(on_cpu, args)), {name: on_cpu(value) for name, value in kwargs.items()}
    return target, args, kwargs


@contextlib.contextmanager
def cuda_in_dynamo(in_use: Callable[[], bool]) -> Iterator[None]:
    """Traced code sees its tensors on `cuda:0` while `in_use()`; its graphs always run on the CPU."""
    with private.dynamo_calls(_rewrite_call), private.dynamo_tensors_on_cuda(in_use):
        yield


class HardCodedDevices(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Runs on the CPU what the eager parts of a compiled region ask of CUDA by name.

    `Tensor.to("cuda")` arrives here as the meta device on a build without CUDA: its guard stands in for CUDA's
    (`private.allow_cuda_fake_tensors`).
    """

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Dynamo compiles under it."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = tree_map(on_cpu, kwargs or {})
        if func is torch.ops.aten._to_copy.default and args[0].device == CPU and kwargs.get("device") is not None:
            kwargs["device"] = CPU
        return func(*tree_map(on_cpu, args), **kwargs)
