"""How a run compiles: not at all, as the program does itself, or as an order says, whatever the program says."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest import mock

import torch
from torch._dynamo.callback import callback_handler
from torch._dynamo.utils import counters

from torchlint.runner.calls import outermost_calls
from torchlint.runner.child import Observe, Run
from torchlint.trace.compiled.roots import is_worth_compiling

_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "reduce-overhead": {"mode": "reduce-overhead"},
    "max-autotune": {"mode": "max-autotune"},
    "fullgraph": {"fullgraph": True},
    "dynamic": {"dynamic": True},
}
_KEPT = "TORCHINDUCTOR_CACHE_DIR"


def within(observe: Observe) -> Observe:
    """Observe a run that compiles as its order says."""

    @contextlib.contextmanager
    def both(run: Run) -> Iterator[None]:
        with compiling(run), observe(run):
            yield

    return both


@contextlib.contextmanager
def compiling(run: Run) -> Iterator[None]:
    """Every outermost module with parameters, and what the program compiles itself, in the mode of the order.

    What is no mode of torch.compile is a backend. Each mode has a cache of its own: the first run of one compiles it all.
    """
    mode = run.order.mode
    if mode == "eager":
        with torch.compiler.set_stance("force_eager"):
            yield
        return
    os.environ[_KEPT] = os.path.join(os.environ[_KEPT], mode)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_timed(run))
        if mode != "program":
            options = _OPTIONS.get(mode, {"backend": mode})
            real: Callable[..., Any] = torch.compile

            def compile_(model: Any = None, **_: Any) -> Any:
                return real(model, **options)

            def root(module: torch.nn.Module) -> None:
                if is_worth_compiling(module):
                    module.compile()

            stack.enter_context(mock.patch.object(torch, "compile", compile_))
            stack.enter_context(outermost_calls(before=root))
        yield


@contextlib.contextmanager
def _timed(run: Run) -> Iterator[None]:
    """Note how long compiling takes, and in which ticks; the compilers that it starts are not the program's processes."""
    begun = 0.0
    forks = 0

    def start(*_: object) -> None:
        nonlocal begun, forks
        begun, forks = time.monotonic(), run.sandbox.forks

    def end(*_: object) -> None:
        run.compiling += time.monotonic() - begun
        run.compiled_at.append(run.ticks + 1)
        run.sandbox.forks = forks

    def count() -> None:
        run.breaks = sum(counters["graph_break"].values())

    run.at_end.append(count)
    callback_handler.register_start_callback(start)
    callback_handler.register_end_callback(end)
    try:
        yield
    finally:
        callback_handler.remove_start_callback(start)
        callback_handler.remove_end_callback(end)
