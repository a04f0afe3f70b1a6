"""Writes down the numbers of a run: losses, gradients, parameters, outputs, random streams, step by step."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy
import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from torchlint.messages.event import Event
from torchlint.runner import tensors
from torchlint.runner.calls import outermost_calls
from torchlint.runner.child import Run, cuda_in_use
from torchlint.runner.parameters import names, parameters
from torchlint.runner.start import starting
from torchlint.runner.ticks import ticks
from torchlint.runner.worlds import entered
from torchlint.trace.program.reach import reached

RECORD = "record.json"
SKETCHES = "sketches.npy"
_OUTPUTS = 2000


@contextlib.contextmanager
def recorded(run: Run) -> Iterator[None]:
    """Record what happens in the block, in the world that the order names."""
    recording = _Recording(run)
    run.at_end.append(recording.write)
    watch = reached(_Lines(run), run.order.watch)
    with entered(run.order.world), starting(run.order), recording.observed(), ticks(run), watch:
        yield


class _Lines:
    """Notes the watched lines that run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def step(self) -> int:
        return self._run.ticks

    def emit(self, event: Event) -> None:
        self._run.reached.add(f"{event.file}:{event.line}")


class _Recording:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._losses: list[tuple[int, float, str]] = []
        self._rows: list[dict[str, Any]] = []
        self._outputs: list[dict[str, Any]] = []
        self._random: list[str] = []
        self._sketches: list[torch.Tensor] = []
        self._kept = 0
        self._names: dict[int, str] = {}
        self._roots: dict[int, torch.nn.Module] = {}
        self._optimizers = self._calls = 0

    @contextlib.contextmanager
    def observed(self) -> Iterator[None]:
        real_init, real_backward = Optimizer.__init__, torch.autograd.backward

        def init(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            self._optimizers += 1
            real_init(optimizer, *args, **kwargs)

        def backward(roots: Any, *args: Any, **kwargs: Any) -> None:
            for root in [roots] if isinstance(roots, torch.Tensor) else list(roots):
                if root.numel() == 1:
                    loss = float(root.detach().double())
                    self._losses.append((self._run.ticks + 1, loss, tensors.dtype_name(root)))
            real_backward(roots, *args, **kwargs)
            if not self._optimizers:
                self._without_optimizer()

        hooks = (
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        )
        with (
            outermost_calls(self._enter, self._leave),
            mock.patch.object(Optimizer, "__init__", init),
            mock.patch.object(torch.autograd, "backward", backward),
        ):
            try:
                yield
            finally:
                for hook in hooks:
                    hook.remove()

    def _before_step(self, optimizer: Optimizer, _args: object, _kwargs: object) -> None:
        held = parameters(optimizer)
        self._row("gradients", held, (parameter.grad for parameter in held))

    def _after_step(self, optimizer: Optimizer, _args: object, _kwargs: object) -> None:
        held = parameters(optimizer)
        self._row("parameters", held, held)
        self._random.append(random_state())

    def _without_optimizer(self) -> None:
        """After a backward pass of a program that makes no optimizer: what its modules hold."""
        held = [parameter for root in self._roots.values() for parameter in root.parameters()]
        self._row("gradients", held, (parameter.grad for parameter in held))
        self._row("parameters", held, held)
        self._random.append(random_state())

    def _row(self, what: str, held: Sequence[torch.Tensor], values: Iterable[torch.Tensor | None]) -> None:
        if any(id(one) not in self._names for one in held):
            self._names |= names()
        self._rows.append(
            {
                "step": self._run.ticks + 1,
                "what": what,
                "names": [self._names.get(id(one), f"parameter {number}") for number, one in enumerate(held)],
                "tensors": [self._keep(value) for value in values],
            }
        )

    def _keep(self, tensor: torch.Tensor | None) -> tuple[str, float, int, int]:
        """Digest, norm, and where its sketch begins and how long it is. Nothing and zeros are the same: both move nothing."""
        if tensor is None:
            return "", 0.0, 0, 0
        with torch._C.DisableTorchFunction(), torch.no_grad():
            value = tensors.plain(tensor)
            norm = float(tensors.real(value).norm()) if value.numel() else 0.0
            if norm == 0.0:
                return "", 0.0, 0, 0
            folded = tensors.sketch(value)
            self._sketches.append(folded)
            at, self._kept = self._kept, self._kept + len(folded)
            return tensors.digest(value), norm, at, len(folded)

    def _enter(self, module: torch.nn.Module) -> None:
        self._roots.setdefault(id(module), module)

    def _leave(self, module: torch.nn.Module, output: object) -> None:
        self._calls += 1
        for leaf in tensors.inside(output) if len(self._outputs) < _OUTPUTS else ():
            self._outputs.append(
                {
                    "step": self._run.ticks + 1,
                    "name": f"output of {type(module).__name__}",
                    "training": module.training,
                    "kind": f"{tensors.dtype_name(leaf)} {list(leaf.shape)}",
                    "tensor": self._keep(leaf),
                }
            )

    def write(self) -> None:
        """At the end, with what the modules hold then."""
        state = {
            f"{type(root).__name__}.{name}": tensor
            for root in self._roots.values()
            for name, tensor in [*root.named_parameters(), *root.named_buffers()]
        }
        end = {
            "step": self._run.ticks,
            "what": "state at the end",
            "names": list(state),
            "tensors": [self._keep(tensor) for tensor in state.values()],
        }
        record = {
            "losses": self._losses,
            "rows": [*self._rows, end],
            "outputs": self._outputs,
            "calls": self._calls,
            "random": [*self._random, random_state()],
        }
        out = self._run.order.out
        with torch._C.DisableTorchFunction():
            sketches = torch.cat(self._sketches) if self._sketches else torch.zeros(0, dtype=torch.float64)
            numpy.save(os.path.join(out, SKETCHES), sketches.numpy())
        Path(out, RECORD).write_text(json.dumps(record), "utf-8")


def random_state() -> str:
    """Of all random streams: torch's, the GPU's if it is in use, Python's and numpy's."""
    digest = hashlib.sha256(torch.get_rng_state().numpy().tobytes())
    if cuda_in_use():
        digest.update(torch.cuda.get_rng_state().numpy().tobytes())
    digest.update(repr(random.getstate()).encode())
    digest.update(
        repr([part.tolist() if isinstance(part, numpy.ndarray) else part for part in numpy.random.get_state()]).encode()
    )
    return digest.hexdigest()[:16]
