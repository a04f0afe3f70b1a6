"""Starts the processes of a traced run and collects what they saw. It never imports torch: the children do."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from ..messages.event import Event, read_events
from ..messages.job import Job, Pass, Passes
from ..system.cached import cached_property

Tell = Callable[[Pass, int, float], None]

_TAIL = 64 * 1024  # bytes kept of each of stdout and stderr
_GRACE = 30.0  # seconds for importing torch and for cleaning up, on top of the job's own
_COMPILE_KINDS = frozenset({"graph_break", "recompile", "recompile_limit", "graph", "kernel", "cudagraph_skip"})
_NOT_RUN = frozenset({"no torch", "no entry", "unable"})
_ENDS_IT = frozenset({"no torch", "no entry", "interrupted"})
_EVERY = 0.5  # seconds between two looks at how far a process is
_BOTH_KINDS = frozenset({"unsupported", "error"})


@dataclass(frozen=True, slots=True)
class Child:
    """What one process left behind; `returncode` is negative for a signal, `output` and `errors` are tails."""

    run: Pass
    events: tuple[Event, ...]
    returncode: int
    output: str
    errors: str
    seconds: float
    killed: bool = False
    interrupted: bool = False

    @property
    def start(self) -> Event | None:
        return next((event for event in self.events if event.kind == "start"), None)

    @property
    def end(self) -> Event:
        """How it ended; a process that couldn't say so itself was killed or died."""
        for event in self.events:
            if event.kind == "end":
                return event
        if self.interrupted:
            return Event("end", name="interrupted", detail="by Ctrl-C")
        if self.killed:
            return Event(
                "end", name="killed", detail=f"it did not stop, and was killed after {self.seconds:.0f} seconds"
            )
        if self.returncode < 0:
            return Event("end", name="died", detail=_signal_name(-self.returncode))
        return Event("end", name="died", detail=f"exit code {self.returncode}")

    @property
    def failure(self) -> str:
        """Why the program did not do its work, "" where it ended well or was stopped by the run."""
        end = self.end
        if end.name == "error":
            return f"raised {end.detail}"
        if end.name in ("died", "killed"):
            return f"ended by {end.detail}" if end.name == "died" else end.detail
        if end.name == "exit" and (code := (end.data or {}).get("code", 0)) != 0:
            return f"ended with exit code {code}"
        return ""

    @property
    def asked(self) -> Event | None:
        """Where the program asked for input, None if it did not; a traced run gives none."""
        return next((event for event in self.events if event.kind == "input"), None)

    @property
    def steps(self) -> int:
        return max((event.step for event in self.events if event.kind == "step"), default=0)


@dataclass(frozen=True)
class Trace:
    """A traced run: its job (that of the eager child) and its children."""

    job: Job
    children: tuple[Child, ...]
    passes: Passes = "both"

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """Device events, lines and steps of the eager child, graph breaks and kernels of the compile child."""
        alone = len(self.children) == 1
        return tuple(
            event
            for child in self.children
            for event in child.events
            if _belongs(event, child.run) or (alone and event.kind == "step")
        )

    @property
    def compiles_nothing(self) -> bool:
        """Whether a compile pass was left out because the program compiles nothing."""
        return self.passes == "auto" and self.child("compile") is None

    def child(self, run: Pass) -> Child | None:
        return next((child for child in self.children if child.run == run), None)

    @property
    def observed(self) -> bool:
        """Whether the program ran at all."""
        return any(child.start is not None and child.end.name not in _NOT_RUN for child in self.children)


def trace(job: Job, passes: Passes = "both", tell: Tell = lambda run, steps, seconds: None) -> Trace:
    """Run the job's program once for each pass, one after the other, in the present directory.

    With `auto` the compile pass is left out where the eager one saw nothing compiled. `tell` hears now and then which
    pass is at which step after how many seconds.
    """
    runs: tuple[Pass, ...] = ("eager", "compile") if passes == "auto" or passes == "both" else (passes,)
    children: list[Child] = []
    for run in runs:
        if passes == "auto" and run == "compile" and not _may_compile(job, children[0]):
            break
        child = _spawn(replace(job, run=run), tell)
        children.append(child)
        if child.end.name in _ENDS_IT or child.start is None:
            break
    return Trace(job, tuple(children), passes)


def _may_compile(job: Job, eager: Child) -> bool:
    """Whether anything is left for a pass that compiles; a process that could not say so may have."""
    silent = not any(event.kind == "end" for event in eager.events)
    return job.whatif or silent or any(event.kind == "compiles" for event in eager.events)


def _belongs(event: Event, run: Pass) -> bool:
    return event.kind in _BOTH_KINDS or (event.kind in _COMPILE_KINDS) == (run == "compile")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _spawn(job: Job, tell: Tell) -> Child:
    with tempfile.TemporaryDirectory(prefix="torchlint-") as folder:
        job = replace(job, events=str(Path(folder, "events.jsonl")))
        Path(job.events).touch()
        order = Path(folder, "job.json")
        order.write_text(job.to_json(), "utf-8")
        # -P: the present directory is not on the path until the entry is run, so nothing in it shadows a module.
        safe_path = ["-P"] if sys.version_info >= (3, 11) else []
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, *safe_path, "-m", "torchlint.trace", str(order)],
            env=_environment(job),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = _Tail(process.stdout), _Tail(process.stderr)
        killed = interrupted = False
        with _killed_in_the_end(process), output, errors:
            look = _Progress(job.events, lambda steps: tell(job.run, steps, time.monotonic() - started))
            try:
                killed = not _wait(process, job.seconds + _GRACE, look)
            except KeyboardInterrupt:  # it reaches only this process: what was seen until now is the answer
                interrupted = True
            _kill_group(process)  # before the process is reaped: its number can't be another's yet
            returncode = process.wait()
        events = tuple(read_events(job.events))
        seconds = time.monotonic() - started
        return Child(job.run, events, returncode, output.text(), errors.text(), seconds, killed, interrupted)


class _Progress:
    """Counts the steps in a file of events that is still being written."""

    def __init__(self, path: str, tell: Callable[[int], None]) -> None:
        self._path, self._tell = path, tell
        self._read = self._steps = 0
        self._looked = time.monotonic()

    def __call__(self) -> None:
        if time.monotonic() - self._looked < _EVERY:
            return
        self._looked = time.monotonic()
        with open(self._path, "rb") as events:
            events.seek(self._read)
            new = events.read()
        self._read += len(new)
        self._steps += new.count(b'{"kind": "step"')
        self._tell(self._steps)


def _environment(job: Job) -> dict[str, str]:
    environment = dict(os.environ)
    if job.device == "virtual":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    if job.run == "compile":
        environment |= {
            "INDUCTOR_PROVENANCE": "1",
            "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
    return environment


def _wait(process: subprocess.Popen[bytes], seconds: float, look: Callable[[], None]) -> bool:
    """Whether the process ended within `seconds`; it is looked at meanwhile, and left unreaped where that can be done."""
    if not hasattr(os, "waitid"):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return True
        return False
    deadline = time.monotonic() + seconds
    pause = 0.01
    while time.monotonic() < deadline:
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
            return True
        look()
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)
    return False


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all that it has started in its session, unless it was already reaped."""
    if process.returncode is not None:
        return
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


@contextlib.contextmanager
def _killed_in_the_end(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    except BaseException:  # Ctrl-C reaches only the parent: the child has a session of its own
        _kill_group(process)
        process.wait()
        raise


class _Tail:
    """Reads a pipe to its end in a thread of its own and keeps the last bytes of it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._bytes = bytearray()
        self._cut = False
        self._thread = threading.Thread(target=self._read, daemon=True)

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while block := os.read(self._pipe.fileno(), _TAIL):
                self._bytes += block
                if len(self._bytes) > 2 * _TAIL:
                    self._cut = True
                    del self._bytes[:-_TAIL]

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join(2.0)  # a process in a session of its own may hold the pipe open
        if not self._thread.is_alive():
            self._pipe.close()

    def text(self) -> str:
        text = bytes(self._bytes[-_TAIL:]).decode("utf-8", "replace")
        return f"[...]{text}" if self._cut or len(self._bytes) > _TAIL else text
