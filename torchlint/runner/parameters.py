"""The parameters of a program, and what they are called."""

from __future__ import annotations

import gc

import torch
from torch.optim.optimizer import Optimizer


def parameters(optimizer: Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def names() -> dict[int, str]:
    """Of every parameter of every module that there is, by identity: `Net.layer.weight`."""
    # by type: the __class__ of a stand-in may be a property with an effect of its own
    modules = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.nn.Module)]
    inner = {id(child) for module in modules for child in module.children()}
    found: dict[int, str] = {}
    for root in modules:
        if id(root) not in inner:
            for name, parameter in root.named_parameters():
                found.setdefault(id(parameter), f"{type(root).__name__}.{name}")
    return found
