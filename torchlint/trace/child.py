"""The child process: runs one entry once under observation, and ends by itself."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib.metadata
import io
import os
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from torchlint.messages.event import Event
from torchlint.messages.job import Job
from torchlint.trace.program.recorder import Recorder, is_user, real_path

if TYPE_CHECKING:
    from torchlint.trace.program.stop import Steps

_FAILED = 1
_NOT_RUN = 2


def run(job: Job) -> NoReturn:
    """Run the job; the process ends here, with the program's exit code."""
    faulthandler.enable()
    recorder = Recorder(job.events)
    observation = contextlib.ExitStack()
    end_process = os._exit

    def leave(code: int, name: str, detail: str = "") -> NoReturn:
        """Write what is left and end, whatever threads and exit handlers the program has left behind."""
        if recorder.active:  # else a forked process: nothing here is its own
            with contextlib.suppress(BaseException):
                observation.close()
            recorder.flush()
            recorder.emit(Event("imported", step=recorder.step, data={"files": _imported()}))
            recorder.emit(Event("end", name=name, detail=detail, step=recorder.step, data={"code": code}))
            recorder.close()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        end_process(code)
        raise AssertionError("unreachable")

    gc.disable()  # what torch and the observation are made of stays: see `_observe`
    try:
        import torch
    except ImportError as error:
        leave(_NOT_RUN, "no torch", str(error))
    os._exit = lambda status: leave(status, "exit", f"os._exit({status})")
    leave(*_observe(job, recorder, torch.__version__, observation, lambda why: leave(0, "stopped", why)))


def _observe(
    job: Job, recorder: Recorder, version: str, observation: contextlib.ExitStack, leave: Callable[[str], NoReturn]
) -> tuple[int, str, str]:
    """The exit code, the way the program ended and what to say of it."""
    from torchlint.trace.eager import observe
    from torchlint.trace.program import entry
    from torchlint.trace.program.stop import Budget, Steps, Stop, count_steps

    trains = entry.trains(job.entry)
    budget = Budget(recorder, job.steps, job.seconds, leave, trains=trains)
    facts = observe.DistributedFacts(recorder)

    def after_step(what: str, where: str) -> None:
        recorder.end_step(what, where)
        observe.record_memory(recorder)
        facts.ask()
        budget.check(what)

    steps = Steps(after_step, explicit=job.step_at is not None, trains=trains)
    # First, for the step to be counted before another hook of the observation does something after it.
    observation.enter_context(count_steps(steps))
    try:
        enter(observation, job, recorder, version, steps)
        if job.run == "eager":
            observation.enter_context(facts.observed())
    except ValueError as error:
        return _NOT_RUN, "no entry", str(error)
    except Exception as error:  # noqa: BLE001 - an unknown torch: the other pass may still work
        traceback.print_exc()
        return _NOT_RUN, "unable", f"this torch can't be observed: {type(error).__name__}: {error}"
    try:
        gc.freeze()  # the program's own objects are all that its collections look at
        gc.enable()
        with budget:
            _know_end_of_input(recorder)
            entry.run(job.entry, job.args, job.steps, lambda: steps.told("call"), lambda: recorder.step)
            _wait_for_threads()
    except Stop as stop:
        return 0, "stopped", str(stop)
    except SystemExit as stop:
        return _exit_code(stop), "exit", f"sys.exit({stop.code!r})" if stop.code is not None else "sys.exit()"
    except entry.EntryError as error:
        return _NOT_RUN, "no entry", str(error)
    except BaseException as error:  # noqa: BLE001 - whatever the program raised is what the report says
        if budget.reason:  # raised by the program's own cleaning up
            return 0, "stopped", budget.reason
        return _FAILED, "error", _record_error(recorder, error)
    return (0, "stopped", budget.reason) if budget.reason else (0, "finished", "")  # stopped in another thread


def _wait_for_threads() -> None:
    """As Python does at the end of a program: for those that are no daemons, and for pools."""
    shutdown: Callable[[], None] | None = getattr(threading, "_shutdown", None)
    if shutdown is not None:
        shutdown()


def enter(
    observation: contextlib.ExitStack,
    job: Job,
    recorder: Recorder,
    version: str,
    steps: Steps,
) -> None:
    """Put the device, the compiler and the rest under observation. ValueError for a job that can't be done."""
    import torch

    from torchlint.trace.eager import observe
    from torchlint.trace.program.imports import when_imported
    from torchlint.trace.program.reach import reached

    virtual = job.device == "virtual" or (job.device == "auto" and not torch.cuda.is_available())
    if job.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda: torch sees no GPU here; --device virtual needs none")
    if job.gpus > 1 and not virtual:
        raise ValueError("--gpus tells how many virtual GPUs there are; --device virtual asks for them")
    device = "cpu" if job.device == "cpu" else "virtual" if virtual else torch.cuda.get_device_name()
    recorder.emit(Event("start", name=device, detail=version, data=_environment(job)))
    if job.run == "compile":
        from torchlint.trace.compiled import private

        private.import_inductor()  # before it could meet a GPU that this build of torch has no code for
    work = None
    if job.device != "cpu":
        from torchlint.trace.eager.virtual import real_gpu, virtual_gpu
        from torchlint.trace.eager.work import WorkLog

        work = WorkLog(recorder) if job.work and job.run == "eager" else None
        if work is not None:
            observation.callback(work.tell)
            observation.enter_context(work.batches(job.batch))
        gpu = (
            virtual_gpu(
                recorder,
                compute=job.compute,
                target=job.target,
                work=work,
                counts=job.run == "eager",
                gpus=job.gpus,
            )
            if virtual
            else real_gpu(recorder, named=job.run == "eager")
        )
        observation.enter_context(gpu)
    if job.run == "eager":
        if not virtual:
            from torchlint.trace.eager.counts import OperatorCounts

            observation.enter_context(OperatorCounts(recorder))
        from torchlint.trace.eager.optimizers import optimizers

        observation.enter_context(optimizers(recorder, work))
        observation.enter_context(when_imported("torch._dynamo", lambda: _force_eager(observation, recorder)))
    else:
        from torchlint.trace.compiled.recording import compile_recording, cudagraph_skips

        keep = Path(job.keep) if job.keep else None
        observation.enter_context(
            compile_recording(
                recorder,
                target=job.target,
                keep=keep,
                whatif=job.whatif,
                virtual=virtual,
                in_compiled_code=steps.in_compiled_code,
            )
        )
        observation.enter_context(cudagraph_skips(recorder))
    if job.run == "eager":
        observation.enter_context(observe.data_waits(recorder))
        if job.shapes:
            observation.enter_context(observe.input_shapes(recorder))
    observation.enter_context(observe.python_warnings(recorder))
    watch = job.watch if job.run == "eager" else {}
    observation.enter_context(reached(recorder, watch, job.step_at, lambda: steps.told("line")))


def _force_eager(observation: contextlib.ExitStack, recorder: Recorder) -> None:
    """What the program has compiled runs eagerly, and that it has compiled something is told."""
    import torch

    from torchlint.trace.compiled import private
    from torchlint.trace.compiled.recording import compiled_code

    try:
        observation.enter_context(private.resettable())
        observation.enter_context(torch.compiler.set_stance("force_eager"))
        observation.enter_context(compiled_code(recorder))
    except Exception as error:  # noqa: BLE001 - an unknown torch: the program is in the midst of an import of its own
        recorder.record("unsupported", name="torch.compile", detail=f"{type(error).__name__}: {error}"[:200])


def _imported() -> list[str]:
    """The user's files behind the modules that the program has imported."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    return sorted({real_path(file) for file in files if isinstance(file, str) and is_user(file)})


class _NoInput(io.RawIOBase):
    """Standard input of a traced run, which is empty; that the program asked for some is recorded."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    def readinto(self, _buffer: object) -> int:
        self._recorder.record("input")
        return 0


def _know_end_of_input(recorder: Recorder) -> None:
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_NoInput(recorder)), encoding="utf-8")


def _environment(job: Job) -> dict[str, object]:
    def version(package: str) -> str:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return ""

    return {
        "run": job.run,
        "python": platform.python_version(),
        "triton": version("triton"),
        "target": job.target,
        "gpus": job.gpus,
    }


def _exit_code(stop: SystemExit) -> int:
    if isinstance(stop.code, str):
        print(stop.code, file=sys.stderr)
    return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else _FAILED


def _record_error(recorder: Recorder, error: BaseException) -> str:
    """Record where the user's code raised; the traceback goes to stderr without the frames of torchlint."""
    frames = traceback.extract_tb(error.__traceback__)
    text = "".join(traceback.format_exception_only(error)).strip()
    kept = [frame for frame in frames if not frame.filename.startswith(os.path.dirname(__file__))]
    print("Traceback (most recent call last):", file=sys.stderr)
    print("".join(traceback.format_list(kept)) + text, file=sys.stderr)
    place = next((frame for frame in reversed(frames) if is_user(frame.filename)), None)
    file, line, function = "", 0, ""
    if place is not None:
        file, line, function = real_path(place.filename), place.lineno or 0, place.name
    elif isinstance(error, SyntaxError) and error.filename and os.path.exists(error.filename):
        file, line = real_path(error.filename), error.lineno or 0
    recorder.emit(Event("error", file, line, function, type(error).__name__, text[-2000:], step=recorder.step))
    # the message may have several lines, and of a syntax error lines of the file come first
    lines = text.splitlines()
    name = type(error).__name__
    at = next((number for number, line in enumerate(lines) if line.partition(":")[0].endswith(name)), len(lines) - 1)
    more = lines[at].rstrip().endswith(":")  # a message that begins with an empty line
    return " ".join(line.strip() for line in lines[at : at + 1 + more])[:300]
