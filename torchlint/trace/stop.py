"""Counts steps and ends the program when it has taken enough of them, or enough time."""

from __future__ import annotations

import contextlib
import signal
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any
from unittest import mock

import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from torchlint.trace.recorder import Recorder

_GRACE = 2.0  # seconds a program may clean up before it is stopped again
_ATTEMPTS = 3


class Stop(BaseException):
    """Ends the program. Not an Exception, so that `except Exception` in the user's code lets it pass."""


class Budget:
    """Raises Stop in the program after `steps` steps or `seconds` seconds.

    A program that swallows it (a bare `except:`) is stopped again at its next step and every two seconds; after three
    attempts `leave` ends the process.
    """

    def __init__(self, recorder: Recorder, steps: int, seconds: float, leave: Callable[[str], None]) -> None:
        self.reason = ""
        self._recorder, self._steps, self._seconds, self._leave = recorder, steps, seconds, leave
        self._attempts = 0
        self._over = False

    def check(self) -> None:
        """To be called after each step."""
        if self._recorder.step >= self._steps and not self._over:
            self._stop(f"after {self._recorder.step} steps")

    def _stop(self, reason: str) -> None:
        self.reason = self.reason or reason
        self._attempts += 1
        if self._attempts > _ATTEMPTS:
            self._leave(f"{self.reason}; it caught the request to stop {_ATTEMPTS} times")
        self._set_timer(_GRACE)
        raise Stop(self.reason)

    def _ring(self, _signal: int, _frame: FrameType | None) -> None:
        if not self._over:
            self._stop(f"after {self._seconds:g} seconds")

    @staticmethod
    def _set_timer(seconds: float) -> None:
        if hasattr(signal, "setitimer"):  # elsewhere the parent's hard stop is the only one
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def __enter__(self) -> None:
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, self._ring)
        self._set_timer(self._seconds)

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """The program is over: nothing is to be stopped any more."""
        self._over = True
        self._set_timer(0.0)


@contextlib.contextmanager
def count_steps(after_step: Callable[[], None]) -> Iterator[None]:
    """Call `after_step` whenever the program has finished a step.

    A step is a step of the optimizer that has taken most of them: with two optimizers (a GAN) a step is one round of
    both. In a program that makes no optimizer, each backward pass is a step.
    """
    counts: weakref.WeakKeyDictionary[Optimizer, int] = weakref.WeakKeyDictionary()
    most = 0
    real_init = Optimizer.__init__
    real_backward = torch.autograd.backward
    made = False

    def init(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        nonlocal made
        made = True
        real_init(self, *args, **kwargs)

    def backward(*args: Any, **kwargs: Any) -> None:
        real_backward(*args, **kwargs)
        if not made:
            after_step()

    def step_taken(optimizer: Optimizer, _args: object, _kwargs: object) -> None:
        nonlocal most
        if torch.compiler.is_compiling():  # a compiled step: tracing the count would be a graph break of our own
            return
        counts[optimizer] = count = counts.get(optimizer, 0) + 1
        if count > most:
            most = count
            after_step()

    hook = register_optimizer_step_post_hook(step_taken)
    with mock.patch.object(Optimizer, "__init__", init), mock.patch.object(torch.autograd, "backward", backward):
        try:
            yield
        finally:
            hook.remove()
