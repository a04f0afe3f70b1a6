"""One run: a forked process enters the copy, is put under observation, runs the entry, and ends."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import torch

from torchlint.messages.order import CACHES, Done, End, Order
from torchlint.runner.places import enter_copy, imported, strangers
from torchlint.runner.sandbox import Sandbox
from torchlint.trace.program import entry as program

SEED = 20261120
"""Of every random stream that the program leaves open, the same in every run."""
RESULT = "done.json"

leave_process = os._exit  # what the program puts in its place is not asked


class Run:
    """What is known of the run while it goes on."""

    def __init__(self, order: Order, before: frozenset[str]) -> None:
        self.order = order
        self.ticks = 0
        self.steps = 0
        self.forwards = 0
        self.compiles = False
        self.compiling = 0.0
        self.compiled_at: list[int] = []
        self.breaks = 0
        self.reached: set[str] = set()
        self.after_tick: Callable[[], None] = lambda: None
        self.at_end: list[Callable[[], None]] = []
        """What is still to be written down when the program is over, however that comes."""
        self._started = time.monotonic()
        self._before = before
        self._pid = os.getpid()
        self._lock = threading.Lock()
        kept = [folder for name in CACHES if (folder := os.getenv(name))]
        self.sandbox = Sandbox(order.area, [*order.writable, order.out, *kept])

    @property
    def forked(self) -> bool:
        """Whether this is a process that the program has started: nothing in it counts."""
        return os.getpid() != self._pid

    def tick(self) -> None:
        """The program has done one more step; the last one asked for ends it."""
        if self.forked:
            return
        self.ticks += 1
        if self.ticks >= self.order.steps:
            self.leave("stopped", f"after {self.ticks} steps")
        self.after_tick()

    def leave(self, end: End, detail: str = "", code: int = 0) -> NoReturn:
        """Write down how it ended and end the process: a program that catches everything can't catch this."""
        if self.forked:
            leave_process(code)
        with self._lock:
            for write in self.at_end:
                write()
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            done = self._done(end, detail, code)
            path = Path(self.order.out, RESULT)
            path.with_suffix(".part").write_text(done.to_json(), "utf-8")
            path.with_suffix(".part").replace(path)
            leave_process(0)
        raise AssertionError("unreachable")

    def _done(self, end: End, detail: str, code: int) -> Done:
        cuda = cuda_in_use()
        peak = torch.cuda.max_memory_allocated() if cuda else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return Done(
            end,
            detail,
            code,
            ticks=self.ticks,
            seconds=time.monotonic() - self._started,
            peak=int(peak),
            forks=self.sandbox.forks,
            steps=self.steps,
            forwards=self.forwards,
            cuda=cuda,
            compiles=self.compiles,
            compiling=self.compiling,
            compiled_at=tuple(dict.fromkeys(self.compiled_at)),
            breaks=self.breaks,
            reached=tuple(sorted(self.reached)),
            outside=tuple(self.sandbox.outside),
            modules=tuple(name for name in sys.modules if name.startswith("torch.") and name not in self._before),
            files=tuple(imported(self.order)),
            strangers=tuple(strangers(self.order)),
        )


def cuda_in_use() -> bool:
    in_use: Callable[[], bool] = torch.cuda.is_initialized
    return in_use()


Observe = Callable[[Run], contextlib.AbstractContextManager[object]]


def run(order: Order, observe: Observe) -> NoReturn:
    """Do what the order says under that observation; the process ends here."""
    before = frozenset(sys.modules)
    one = Run(order, before)
    try:
        _streams(order)
        enter_copy(order)
        one.sandbox.enter()
        _settle(order)
        with contextlib.ExitStack() as stack:
            stack.enter_context(_noted(one))
            stack.enter_context(observe(one))
            _seed()
            program.run(order.entry, order.args, order.steps, one.tick, lambda: one.ticks)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        one.leave("exit", str(stop.code) if isinstance(stop.code, str) else f"exit code {code}", code)
    except program.EntryError as error:
        one.leave("no entry", str(error), 2)
    except BaseException as error:  # noqa: BLE001 - whatever the program raised is what is reported
        _show(error)
        text = "".join(traceback.format_exception_only(error)).strip()
        one.leave("refused" if one.sandbox.outside else "error", f"{text[:400]}{_place(error)}", 1)
    one.leave("finished")


def _streams(order: Order) -> None:
    """Standard input is empty, the two others go to files of the run."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, name, mode in (
        (0, os.devnull, os.O_RDONLY),
        (1, f"{order.out}/stdout", flags),
        (2, f"{order.out}/stderr", flags),
    ):
        opened = os.open(name, mode, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))


def _settle(order: Order) -> None:
    sys.dont_write_bytecode = True
    temporary = Path(order.out, "tmp")
    temporary.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = str(temporary)
    tempfile.tempdir = None  # the warm process may have asked before
    torch.set_num_threads(order.threads)


def _seed() -> None:
    random.seed(SEED)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(SEED)
    torch.manual_seed(SEED)


@contextlib.contextmanager
def _noted(one: Run) -> Iterator[None]:
    """Note what decides how the program can be measured: whether it compiles; saving to a path is checked like opening."""
    compile_: Any = torch.compile
    save: Any = torch.save

    def noted(*arguments: Any, **keywords: Any) -> Any:
        one.compiles = True
        return compile_(*arguments, **keywords)

    def checked(thing: Any, target: Any, *arguments: Any, **keywords: Any) -> Any:
        one.sandbox.check(target)  # torch opens it itself, which no audit hook is told of
        return save(thing, target, *arguments, **keywords)

    with mock.patch.object(torch, "compile", noted), mock.patch.object(torch, "save", checked):
        yield


def _show(error: BaseException) -> None:
    here = os.path.dirname(os.path.dirname(__file__))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(here)]
    text = "".join([*traceback.format_list(frames), *traceback.format_exception_only(error)])
    print(f"Traceback (most recent call last):\n{text}", file=sys.stderr, end="")


def _place(error: BaseException) -> str:
    """`, at train.py:12`, where the program's own code raised it."""
    top = os.path.realpath(os.getcwd())
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = os.path.realpath(frame.filename)
        if path.startswith(top + os.sep):
            return f", at {os.path.relpath(path, top)}:{frame.lineno}"
    return ""
