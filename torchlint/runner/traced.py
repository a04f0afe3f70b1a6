"""Counts what a run does, on a virtual GPU where there is none: the eager pass of a traced run, kept in the copy."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch

from torchlint.messages.job import Job
from torchlint.runner.child import Run
from torchlint.trace import child
from torchlint.trace.eager import observe
from torchlint.trace.program.recorder import Recorder
from torchlint.trace.program.stop import Steps, count_steps

EVENTS = "events.jsonl"


@contextlib.contextmanager
def traced(run: Run) -> Iterator[None]:
    """Write the events of what happens in the block to a file in the run's folder."""
    recorder = Recorder(os.path.join(run.order.out, EVENTS))
    job = Job(run.order.entry, run.order.args, "eager", str(recorder.path), steps=run.order.steps)
    run.at_end.append(recorder.close)

    def after_step(what: str, where: str) -> None:
        recorder.end_step(what, where)
        observe.record_memory(recorder)
        run.tick()

    with contextlib.ExitStack() as observation:
        steps = Steps(after_step, calls=False)
        observation.enter_context(count_steps(steps))
        child.enter(observation, job, recorder, torch.__version__, steps)
        yield
