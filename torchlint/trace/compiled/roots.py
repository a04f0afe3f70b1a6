"""Which of the modules that a program calls by itself could be compiled as a whole."""

from __future__ import annotations

import torch


def is_worth_compiling(module: torch.nn.Module) -> bool:
    """A module with parameters that the program doesn't compile itself."""
    compiled = isinstance(module, torch._dynamo.OptimizedModule) or module._compiled_call_impl is not None
    return not compiled and next(module.parameters(), None) is not None
