"""The warm process: imports torch once, forks a process for each run, and answers with how they ended.

Requests come as JSON, one a line, on standard input, answers go the same way to what was standard output. The end of
the requests is the end of everything: nobody is left who would want to know.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import random
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import torch._dynamo  # noqa: F401 - the first step of an optimizer imports it

from torchlint.messages.order import Done, Order
from torchlint.runner import child, clock, modes, profiled, recording, traced

_WORLDS: dict[str, child.Observe] = {"traced": traced.traced, "profiled": profiled.profiled}
_WORD = 65536
"""Bytes that a run needs at most to say how it ended."""
_PAUSE = 0.02
_CHILD_SUBREAPER = 36


def serve() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an import prints is no answer
    _adopt_orphans()
    server = _Server()
    for line in server.requests():
        answers.write(json.dumps(server.answer(json.loads(line))) + "\n")
        answers.flush()


class _Gone(Exception):
    """The parent has closed its end."""


@dataclass
class _Child:
    """A forked run; `go` and `told` are the ends of its clock, where it has one."""

    order: Order
    pid: int
    started: float
    go: int = -1
    told: int = -1


class _Server:
    def __init__(self) -> None:
        self._buffer = b""

    def requests(self) -> Iterator[bytes]:
        while True:
            while b"\n" not in self._buffer:
                block = os.read(0, 65536)
                if not block:
                    return
                self._buffer += block
            line, _, self._buffer = self._buffer.partition(b"\n")
            yield line

    def answer(self, request: dict[str, Any]) -> Any:
        orders = [Order.of(order) for order in request.get("orders", ())]
        try:
            if request["do"] == "record":
                return self._record(orders, request["at_once"])
            if request["do"] == "lockstep":
                return self._lockstep(orders, random.Random(request["seed"]), request["block"])
            if request["do"] == "import":
                return _import(request["modules"])
        except _Gone:
            os._exit(0)
        raise AssertionError(request["do"])

    # --- recorded runs: side by side, as nobody looks at the clock --------------------------------------------------

    def _record(self, orders: list[Order], at_once: int) -> list[dict[str, Any]]:
        waiting = list(enumerate(orders))
        running: dict[int, _Child] = {}
        done: dict[int, Done] = {}
        with self._ended(running):
            while waiting or running:
                while waiting and len(running) < at_once:
                    number, order = waiting.pop(0)
                    running[number] = _fork(order, _observed)
                for number, one in list(running.items()):
                    if (ended := self._poll(one)) is not None:
                        done[number] = ended
                        del running[number]
                self._listen([], _PAUSE)
        return [json.loads(done[number].to_json()) for number in range(len(orders))]

    # --- timed runs: all at once, one step of one of them at a time -------------------------------------------------

    def _lockstep(self, orders: list[Order], chance: random.Random, block: int) -> list[dict[str, Any]]:
        live: dict[int, _Child] = {}
        seconds: dict[int, list[tuple[float, float]]] = {number: [] for number in range(len(orders))}
        done: dict[int, Done] = {}
        with self._ended(live):
            for number in chance.sample(range(len(orders)), len(orders)):
                live[number] = _timed(orders[number], block, live.values())
            while live:
                for number in chance.sample(sorted(live), len(live)):
                    one = live[number]
                    over = self._step(one, seconds[number])
                    if over:
                        done[number] = self._wait(one)
                        os.close(one.go)
                        os.close(one.told)
                        del live[number]
        results = []
        for number in range(len(orders)):
            wall, cpu = (
                (tuple(column) for column in zip(*seconds[number], strict=True)) if seconds[number] else ((), ())
            )
            results.append(json.loads(replace(done[number], wall=wall, cpu=cpu).to_json()))
        return results

    def _step(self, one: _Child, seconds: list[tuple[float, float]]) -> bool:
        """Let a run take its next block of steps; whether it is over."""
        with contextlib.suppress(BrokenPipeError):
            os.write(one.go, b"g")
        while True:
            left = one.started + one.order.seconds - time.monotonic()
            if left <= 0:
                return True
            if one.told in self._listen([one.told], min(left, 1.0)):
                break
            if _has_ended(one.pid):
                return True
        report = os.read(one.told, clock.REPORT.size)
        if len(report) < clock.REPORT.size:
            return True
        kind, wall, cpu = clock.REPORT.unpack(report)
        seconds.append((wall, cpu))
        return bool(kind == clock.OVER)

    # --- processes --------------------------------------------------------------------------------------------------

    def _listen(self, descriptors: list[int], seconds: float) -> list[int]:
        """Which of these can be read within that time; raises _Gone when the parent is."""
        ready, _, _ = select.select([0, *descriptors] if not self._buffer else descriptors, [], [], seconds)
        if 0 in ready:
            block = os.read(0, 65536)
            if not block:
                raise _Gone
            self._buffer += block
        return [one for one in ready if one]

    def _wait(self, one: _Child) -> Done:
        while (done := self._poll(one)) is None:
            self._listen([], _PAUSE)
        return done

    def _poll(self, one: _Child) -> Done | None:
        """How a run ended, None while it goes on; one that has used up its time is killed."""
        seconds = time.monotonic() - one.started
        if not _has_ended(one.pid):
            if seconds <= one.order.seconds:
                return None
            _end(one.pid)
            return Done("killed", f"it was not done after {one.order.seconds:g} seconds", 1, seconds=seconds)
        status, usage = _end(one.pid)
        with contextlib.suppress(OSError, ValueError):
            done = Done.of(json.loads(Path(one.order.out, child.RESULT).read_text("utf-8")))
            return replace(done, seconds=seconds, usage=usage)
        code = os.waitstatus_to_exitcode(status)
        return Done("died", _last_word(code, one.order.out), code, seconds=seconds)

    @contextlib.contextmanager
    def _ended(self, running: dict[int, _Child]) -> Iterator[None]:
        try:
            yield
        except BaseException:
            for one in running.values():
                _end(one.pid)
            raise


def _last_word(code: int, folder: str) -> str:
    """Why a run has left no word itself; one that has filled the disk could not."""
    if shutil.disk_usage(folder).free < _WORD:
        return f"no space is left on the device of {os.path.dirname(folder)}, where runs write"
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _end(pid: int) -> tuple[int, float]:
    """End a run's process and all that it has started; its status, and the CPU seconds of all of them."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    seconds = usage.ru_utime + usage.ru_stime
    with contextlib.suppress(ChildProcessError):
        while True:  # its orphans have become ours
            _, _, usage = os.wait4(-pid, 0)
            seconds += usage.ru_utime + usage.ru_stime
    return status, seconds


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _adopt_orphans() -> None:
    """Processes whose parent ends become children of this one, so that their time can be counted (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)


def _observed(order: Order) -> NoReturn:
    observe = _WORLDS.get(order.world, recording.recorded)
    child.run(order, modes.within(observe))


def _fork(order: Order, work: Callable[[Order], NoReturn], close: Iterable[int] = ()) -> _Child:
    started = time.monotonic()
    pid = os.fork()
    if pid:
        return _Child(order, pid, started)
    try:
        os.setsid()
        for descriptor in close:
            os.close(descriptor)
        work(order)
    finally:
        os._exit(70)
    raise AssertionError("unreachable")


def _timed(order: Order, block: int, others: Any) -> _Child:
    go_read, go_write = os.pipe()
    told_read, told_write = os.pipe()
    beside = [end for other in others for end in (other.go, other.told)]

    def work(order: Order) -> NoReturn:
        child.run(order, modes.within(clock.Clock(go_read, told_write, block).timing))

    one = _fork(order, work, [go_write, told_read, *beside])
    os.close(go_read)
    os.close(told_write)
    return replace(one, go=go_write, told=told_read)


def _import(modules: list[str]) -> list[str]:
    """What every run has imported itself so far is imported here once; parts of torch only."""
    done = []
    for name in modules:
        if name.startswith("torch.") and name not in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
                done.append(name)
    return done
