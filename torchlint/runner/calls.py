"""Calls of outermost modules: those that the program makes by itself, not the modules inside each other."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch


@contextlib.contextmanager
def outermost_calls(
    before: Callable[[torch.nn.Module], None] = lambda _: None,
    after: Callable[[torch.nn.Module, object], None] = lambda _module, _output: None,
) -> Iterator[None]:
    """Tell of each of them before, and after it has given its output.

    Not by torch's hooks for all modules: those are inside of what is compiled, where Dynamo would trace them.
    """
    real: Callable[..., Any] = torch.nn.Module.__call__
    depth = 0

    def call(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        if torch.compiler.is_compiling() or depth:
            return real(self, *args, **kwargs)
        depth += 1
        try:
            before(self)
            output = real(self, *args, **kwargs)
        finally:
            depth -= 1
        after(self, output)
        return output

    with mock.patch.object(torch.nn.Module, "__call__", call):
        yield
