"""A world in which everything is computed in double precision: what differs there is no rounding."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from torchlint.messages.order import World

_LOW = frozenset({torch.float32, torch.float16, torch.bfloat16})
_CASTS: frozenset[Any] = frozenset({torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16})
_MODULE_CASTS = ("float", "half", "bfloat16")


@contextlib.contextmanager
def entered(world: World) -> Iterator[None]:
    """`float64` turns every lower precision that the program asks for, or is given, into double."""
    if world != "float64":
        yield
        return
    before = torch.get_default_dtype()
    module: Any = torch.nn.Module
    real_to, real_default = module.to, torch.set_default_dtype

    def to(self: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
        moved: torch.nn.Module = real_to(self, *map(_up, args), **{name: _up(value) for name, value in kwargs.items()})
        return moved

    with contextlib.ExitStack() as stack:
        real_default(torch.float64)
        stack.callback(real_default, before)
        patch = mock.patch.object
        stack.enter_context(patch(torch, "set_default_dtype", lambda dtype: real_default(_up(dtype))))
        stack.enter_context(patch(module, "to", to))
        for name in _MODULE_CASTS:
            stack.enter_context(patch(module, name, module.double))
        stack.enter_context(_without_autocast())
        stack.enter_context(_Double())
        yield


def _up(value: Any) -> Any:
    return torch.float64 if isinstance(value, torch.dtype) and value in _LOW else value


class _Double(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in _CASTS:
            function = torch.Tensor.double
        given = [_up(value) for value in args]
        result = function(*given, **{name: _up(value) for name, value in (kwargs or {}).items()})
        return tree_map(lambda leaf: _raised(leaf, given), result)


def _raised(value: Any, given: list[Any]) -> Any:
    """What came from outside in low precision (numpy, a file), in double; what was changed in place stays itself."""
    if isinstance(value, torch.Tensor) and value.dtype in _LOW and not any(value is one for one in given):
        return value.double()
    return value


@contextlib.contextmanager
def _without_autocast() -> Iterator[None]:
    kind: Any = torch.amp.autocast_mode.autocast
    real_init = kind.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        real_init(self, *args, **kwargs)
        self._enabled = False

    with mock.patch.object(kind, "__init__", init):
        yield
