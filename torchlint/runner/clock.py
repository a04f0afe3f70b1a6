"""Lock-step timing: the program waits before each block of steps until it is told to go on, and tells what it took."""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections.abc import Iterator

import torch

from torchlint.runner.child import Run, cuda_in_use, leave_process
from torchlint.runner.ticks import ticks

REPORT = struct.Struct("<Bdd")
MORE, OVER = 1, 0


class Clock:
    """`block` steps a report; 0 is one report after the first step and one at the end. On a GPU the device is waited for at the ends of a block only: waiting after each step
    would hide what a program gains by not waiting."""

    def __init__(self, go: int, told: int, block: int) -> None:
        self._go, self._told, self._block = go, told, block
        self._wall = self._cpu = 0.0

    def wait(self) -> None:
        """Until the next block may run; nobody left to tell it ends the process."""
        if not os.read(self._go, 1):
            leave_process(3)
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def report(self, kind: int) -> None:
        if cuda_in_use():
            torch.cuda.synchronize()
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        os.write(self._told, REPORT.pack(kind, wall, cpu))

    @contextlib.contextmanager
    def timing(self, run: Run) -> Iterator[None]:
        def after_tick() -> None:
            if run.ticks == 1 or (self._block and run.ticks % self._block == 0):
                self.report(MORE)
                self.wait()

        run.after_tick = after_tick
        run.at_end.append(lambda: self.report(OVER))
        with ticks(run):
            self.wait()
            yield
