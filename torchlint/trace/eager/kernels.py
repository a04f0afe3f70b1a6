"""Operators whose kernels a program writes in Python (`torch.library`): a virtual GPU looks into them.

torch runs a kernel below all modes, so that what it calls would be seen by nobody. A kernel for CUDA runs with tensors of a
device, and where there is none that for the CPU, since one for CUDA may be in an extension that is not here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch._ops import OpOverload

from torchlint.trace.eager import private
from torchlint.trace.eager.device import VirtualGpu
from torchlint.trace.eager.device_api import Patch
from torchlint.trace.eager.tags import leaves

Kernel = Callable[..., Any]
_ANYWHERE = "CompositeExplicitAutograd"
_OF_TORCH = frozenset({"aten", "prims", "_c10d_functional", "c10d"})


def patches(gpu: VirtualGpu, modes: Callable[[], AbstractContextManager[object]]) -> Iterator[Patch]:
    register: Any = torch.library.Library.impl
    known: dict[str, dict[str, Kernel]] = {}  # by the operator and where it runs

    def seen(kernel: Kernel) -> Kernel:
        @functools.wraps(kernel)
        def run(*args: Any, **kwargs: Any) -> Any:
            if gpu.thread.paused:
                return kernel(*args, **kwargs)
            with private.with_function_modes(), modes():
                return kernel(*args, **kwargs)

        return run

    def chosen(name: str) -> Kernel:
        def run(*args: Any, **kwargs: Any) -> Any:
            place = "CUDA" if any(map(gpu.tags.is_cuda, leaves((*args, *kwargs.values())))) else "CPU"
            kernel = known[name].get(place) or known[name].get("CPU")
            if kernel is None:
                raise NotImplementedError(f"Could not run '{name}' with arguments from the 'CPU' backend.")
            return kernel(*args, **kwargs)

        return run

    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", *args: Any, **kwargs: Any) -> Any:
        name, key = _name(self, op_name), dispatch_key or self.dispatch_key
        namespace = name.partition("::")[0]
        if (
            key not in ("CPU", "CUDA", _ANYWHERE)
            or namespace in _OF_TORCH
            or not inspect.isfunction(fn)
            or args
            or kwargs
        ):
            return register(self, op_name, fn, dispatch_key, *args, **kwargs)
        gpu.written.add(name.partition(".")[0])
        if key == _ANYWHERE:
            return register(self, op_name, seen(fn), dispatch_key)
        kernels = known.setdefault(name, {})
        first = not kernels
        kernels[key] = seen(fn)
        return register(self, op_name, chosen(name), "CPU") if first else None

    yield Patch(torch.library.Library, "impl", impl)


def _name(library: Any, operator: Any) -> str:
    """`namespace::name.overload` of an operator that is given by its name, with the namespace or without, or as itself."""
    name = str(operator._name if isinstance(operator, OpOverload) else operator)
    return name if "::" in name else f"{library.ns}::{name}"
