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

import torchlint
from torchlint.trace.program.recorder import Recorder, caller

_GRACE = 2.0  # seconds a program may clean up before it is stopped again
_ATTEMPTS = 3
CALL = "call"
"""What a step is that ends with a call of an outermost module."""
CALLS_BEFORE_TRAINING = 64
"""So many calls are steps of a script that trains; what is called after them until then, as to make its data, is one."""


class Stop(BaseException):
    """Ends the program. Not an Exception, so that `except Exception` in the user's code lets it pass."""


class Budget:
    """Raises Stop in the program after `steps` steps of one kind or `seconds` seconds.

    Of a program that `trains` no number of calls is enough: its training is still to come.
    A program that swallows it (a bare `except:`) is stopped again at its next step and every two seconds; after three
    attempts `leave` ends the process.
    """

    def __init__(
        self, recorder: Recorder, steps: int, seconds: float, leave: Callable[[str], None], *, trains: bool = False
    ) -> None:
        self.reason = ""
        self._trains = trains
        self._kind = ""
        self._before = 0  # steps of other kinds
        self._recorder, self._steps, self._seconds, self._leave = recorder, steps, seconds, leave
        self._attempts = 0
        self._over = False

    def check(self, what: str = "") -> None:
        """To be called after each step, with what it was."""
        if what != self._kind:
            self._kind, self._before = what, self._recorder.step - 1
        enough = self._recorder.step - self._before >= self._steps
        if enough and not self._over and not (self._trains and what == CALL):
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


class Steps:
    """Says when a step of the program has ended: calls `after_step(what, where)`.

    A step is a step of the optimizer that has taken most of them: with two optimizers (a GAN) a step is one round of
    both; one that is no more (a fold's, one that was made anew) does not count. In a program that makes no optimizer, each backward pass is a step; where none is run either, each iteration
    of the loop around the outermost modules, which is seen when the line that called one calls one again. `explicit`
    switches all of that off: from the first `torchlint.step()` on, and for --step-at. Without `calls` no call counts,
    of a program that `trains` the first few.
    """

    def __init__(
        self,
        after_step: Callable[[str, str], None],
        *,
        explicit: bool = False,
        calls: bool = True,
        trains: bool = False,
    ) -> None:
        self._after_step = after_step
        self._explicit = explicit
        self._counts: weakref.WeakKeyDictionary[Optimizer, int] = weakref.WeakKeyDictionary()
        self._taken = False
        self._trains = not calls
        self._depth = 0
        self._callers: set[tuple[str, int]] = set()
        self._loop: tuple[str, int] | None = None
        self._calls_left = CALLS_BEFORE_TRAINING if trains else -1

    def made(self, optimizer: Optimizer) -> None:
        self._counts.setdefault(optimizer, 0)
        self._trains = True

    def taken(self, optimizer: Optimizer) -> None:
        self._taken = True
        most = max(self._counts.values(), default=0)
        self._counts[optimizer] = count = self._counts.get(optimizer, 0) + 1
        if count > most and not self._explicit:
            self._after_step("", "")

    def went_back(self) -> None:
        """A backward pass has ended."""
        self._trains = True
        if not self._explicit and not self._taken and not self._counts:
            self._after_step("backward", "")

    def told(self, what: str) -> None:
        """The program or the user says so."""
        self._explicit = True
        self._after_step(what, "")

    @property
    def by_calls(self) -> bool:
        """Whether calls of modules may be what counts."""
        return not self._explicit and not self._trains

    @contextlib.contextmanager
    def in_module(self) -> Iterator[None]:
        """A module is called inside."""
        if not self._depth:
            self._called(caller())
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def _called(self, place: tuple[str, int]) -> None:
        if self._loop is None and place in self._callers:
            self._loop = place
        self._callers.add(place)
        if place == self._loop and self._calls_left:
            self._calls_left -= 1
            self._after_step(CALL, f"{place[0]}:{place[1]}")

    @contextlib.contextmanager
    def in_compiled_code(self) -> Iterator[None]:
        """Compiled code runs inside. No hook tells of a compiled step: it shows in the versions of the parameters."""
        before = {optimizer: (count, _version(optimizer)) for optimizer, count in self._counts.items()}
        with self.in_module() if self.by_calls else contextlib.nullcontext(), _unobserved_modules():
            yield
        for optimizer, (count, version) in before.items():
            if self._counts[optimizer] == count and _version(optimizer) != version:
                self.taken(optimizer)


def _version(optimizer: Optimizer) -> int:
    """Grows with each change in place of the optimizer's parameters."""
    return sum(parameter._version for group in optimizer.param_groups for parameter in group["params"])


_call_module: Any = torch.nn.Module.__call__


def _unobserved_modules() -> contextlib.AbstractContextManager[object]:
    """Dynamo knows how a module is called by torch's own function."""
    return mock.patch.object(torch.nn.Module, "__call__", _call_module)


@contextlib.contextmanager
def count_steps(steps: Steps) -> Iterator[None]:
    """Tell `steps` what the program does."""
    real_init = Optimizer.__init__
    real_backward = torch.autograd.backward
    real_call: Any = torch.nn.Module.__call__

    def init(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        real_init(self, *args, **kwargs)
        steps.made(self)

    def backward(*args: Any, **kwargs: Any) -> None:
        real_backward(*args, **kwargs)
        steps.went_back()

    def step_taken(optimizer: Optimizer, _args: object, _kwargs: object) -> None:
        if not torch.compiler.is_compiling():  # tracing the count would be a graph break of our own
            steps.taken(optimizer)

    def call(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        if not steps.by_calls:
            return real_call(module, *args, **kwargs)
        with steps.in_module():
            return real_call(module, *args, **kwargs)

    hook = register_optimizer_step_post_hook(step_taken)
    with (
        mock.patch.object(Optimizer, "__init__", init),
        mock.patch.object(torch.autograd, "backward", backward),
        mock.patch.object(torch.nn.Module, "__call__", call) if steps.by_calls else contextlib.nullcontext(),
        mock.patch.object(torchlint, "_ended_step", lambda: steps.told("torchlint.step")),
    ):
        try:
            yield
        finally:
            hook.remove()
