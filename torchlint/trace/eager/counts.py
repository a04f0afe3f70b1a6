"""Counts the operators of eager code and the bytes that they touch: what a fix saves, without a clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from torchlint.trace.eager import private
from torchlint.trace.eager.device import size_in_bytes
from torchlint.trace.eager.watching import Eager, computes, event_name, has_parts
from torchlint.trace.program.recorder import Recorder


class OperatorCounts(Eager):  # type: ignore[no-untyped-call]
    """Records each operator that computes something at the user's line it serves; views and new memory are none.

    On a virtual GPU, which sees the operators itself, that does the same.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if types and private.dispatch_themselves(types):  # what they are made of is seen
            return func(*args, **(kwargs or {})) if private.compiles() else NotImplemented
        if has_parts(func):
            return self.in_parts(func, args, kwargs or {})
        result = func(*args, **(kwargs or {}))
        if computes(func):
            with torch._C.DisableTorchFunction():
                name = event_name(func)
                if name and not _on_gpu((result, args)):
                    name = ""
                self._recorder.record("operator", name=name, size=touched((args, kwargs, result)))
        return result


def _on_gpu(value: object) -> bool:
    """Whether a tensor in a value is on a GPU."""
    if isinstance(value, (tuple, list)):
        return any(map(_on_gpu, value))
    return isinstance(value, torch.Tensor) and value.is_cuda


def touched(value: object) -> int:
    """The bytes of all tensors in a value."""
    if isinstance(value, torch.Tensor):
        return size_in_bytes(value)
    if isinstance(value, (tuple, list)):
        return sum(map(touched, value))
    return sum(map(touched, value.values())) if isinstance(value, dict) else 0
