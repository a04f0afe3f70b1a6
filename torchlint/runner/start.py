"""Where training starts from: moved by a unit in the last place, written to a file, or taken from one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import Optimizer

from torchlint.messages.order import START, Order
from torchlint.runner.parameters import names, parameters


@contextlib.contextmanager
def starting(order: Order) -> Iterator[None]:
    """Do with the start what the order asks: when an optimizer is made, else when a module is first called."""
    if order.world != "nudged" and not order.keep_start and not order.start:
        yield
        return
    start = _Start(order)
    real_init = Optimizer.__init__

    def init(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
        real_init(optimizer, *args, **kwargs)
        known = names()
        start.at({known.get(id(one), str(number)): one for number, one in enumerate(parameters(optimizer))})

    def enter(module: torch.nn.Module, _inputs: object) -> None:
        start.at({f"{type(module).__name__}.{name}": one for name, one in module.named_parameters()})

    hook = register_module_forward_pre_hook(enter)
    with mock.patch.object(Optimizer, "__init__", init):
        try:
            yield
        finally:
            hook.remove()


class _Start:
    def __init__(self, order: Order) -> None:
        self._nudged = order.world == "nudged"
        self._keep = os.path.join(order.out, START) if order.keep_start else ""
        self._kept: list[Mapping[str, Any]] = []
        self._given: list[Mapping[str, Any]] = torch.load(order.start) if order.start else []
        self._known: set[int] = set()
        self._generator = torch.Generator().manual_seed(1)

    def at(self, named: Mapping[str, torch.Tensor]) -> None:
        """These parameters are about to be used, some of them for the first time."""
        new = {name: parameter for name, parameter in named.items() if id(parameter) not in self._known}
        if not new:
            return
        self._known |= {id(parameter) for parameter in new.values()}
        with torch.no_grad():
            if self._nudged:
                for parameter in new.values():
                    self._nudge(parameter)
            if self._keep:
                state = {name: parameter.detach().clone() for name, parameter in new.items()}
                self._kept.append({"parameters": state, "random": torch.get_rng_state()})
                torch.save(self._kept, self._keep)
            if self._given:
                given, *self._given = self._given
                for name, value in given["parameters"].items():
                    if name in new and new[name].shape == value.shape:
                        new[name].copy_(value)
                torch.set_rng_state(given["random"])

    def _nudge(self, parameter: torch.Tensor) -> None:
        """By one unit in the last place, up or down at random."""
        if parameter.is_floating_point():
            signs = torch.randint(0, 2, parameter.shape, generator=self._generator) * 2 - 1
            parameter.mul_(1 + torch.finfo(parameter.dtype).eps * signs.to(parameter))
