"""What looks on at operators without being seen by the compiler, and which operators compute something."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from torchlint.messages.event import NAMED_OPERATORS
from torchlint.trace.eager import private

_WITHOUT_KERNEL = frozenset({"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty", "aten::detach",
                             "aten::lift_fresh", "aten::is_same_size", "aten::_local_scalar_dense", "aten::set_",
                             "aten::_unsafe_view", "aten::record_stream"})  # fmt: skip


class Watching(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode that Dynamo compiles past, as if it were not there."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def is_infra_mode(cls) -> bool:  # else Dynamo skips every frame (torch up to 2.9)
        return True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True


class Eager(Watching):  # type: ignore[no-untyped-call]
    """One that watches eager code only, at a place where each operator would else pass through a wrapper of Dynamo."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def in_parts(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator that is made of others so that this mode sees these; of nested tensors it has a kernel."""
        if any(isinstance(one, torch.Tensor) and one.is_nested for one in args):
            return func(*args, **kwargs)
        with self:
            return func.decompose(*args, **kwargs)


@functools.cache
def has_parts(func: object) -> bool:
    """Whether an operator is made of others; autograd takes it apart, so that it is seen itself in inference mode alone."""
    return isinstance(func, OpOverload) and private.is_composite(func)


@functools.cache
def computes(func: object) -> bool:
    """Whether an operator computes something."""
    if not isinstance(func, OpOverload):
        return False
    returns = func._schema.returns
    views = any(one.alias_info is not None and not one.alias_info.is_write for one in returns)
    return not views and func.namespace != "profiler" and func._schema.name not in _WITHOUT_KERNEL


@functools.cache
def event_name(func: object) -> str:
    """The name of the event of an operator on a device, "" of one that no rule asks for."""
    name = func._overloadpacket.__name__ if isinstance(func, OpOverload) and func.namespace == "aten" else ""
    return name if name in NAMED_OPERATORS else ""
