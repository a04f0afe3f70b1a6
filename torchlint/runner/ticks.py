"""What a step is: of an optimizer, else of a backward pass, else a call of an outermost module."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torchlint.runner.calls import outermost_calls
from torchlint.runner.child import Run
from torchlint.trace.program.stop import Steps, count_steps


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

    with count_steps(Steps(stepped, calls=False)), outermost_calls(after=lambda _module, _output: called()):
        yield
