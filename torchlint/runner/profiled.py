"""A run under torch's own profiler, for people to look at."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch

from torchlint.messages.order import PROFILE
from torchlint.runner.child import Run
from torchlint.runner.ticks import ticks


@contextlib.contextmanager
def profiled(run: Run) -> Iterator[None]:
    """Write a trace of the block in Chrome's format to the run's folder."""
    profile = torch.profiler.profile()

    def write() -> None:
        profile.stop()
        profile.export_chrome_trace(os.path.join(run.order.out, PROFILE))

    run.at_end.append(write)
    profile.start()
    with ticks(run):
        yield
