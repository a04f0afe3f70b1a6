"""What a step is: of an optimizer, else of a backward pass, else a call of an outermost module."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from torchlint.runner.child import Run
from torchlint.trace.stop import Steps, count_steps


@contextlib.contextmanager
def ticks(run: Run) -> Iterator[None]:
    """Let the run tick after each step, or after each outermost call of a module where the order says so; count both."""
    by_step = run.order.tick == "step"

    def stepped(_what: str, _where: str) -> None:
        run.steps += 1
        if by_step:
            run.tick()

    def called() -> None:
        run.forwards += 1
        if not by_step:
            run.tick()

    with count_steps(Steps(stepped, calls=False)), outermost_calls(called):
        yield


@contextlib.contextmanager
def outermost_calls(after: Callable[[], None]) -> Iterator[None]:
    depth = 0

    def enter(_module: object, _inputs: object) -> None:
        nonlocal depth
        depth += 1

    def leave(_module: object, _inputs: object, _output: object) -> None:
        nonlocal depth
        depth -= 1
        if depth == 0:
            after()

    entered = register_module_forward_pre_hook(enter)
    left = register_module_forward_hook(leave, always_call=True)
    try:
        yield
    finally:
        entered.remove()
        left.remove()
