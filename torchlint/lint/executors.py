"""Processes that work on items one by one: forks, or fresh interpreters.

Forking is for programs of one thread; the command line is one, an editor's server and callers of the API need not be.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import struct
import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, Protocol, TypeVar

from ..system import signals
from ..system.stack import with_frames

if TYPE_CHECKING:
    import subprocess
    from queue import SimpleQueue

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

Answers = Generator[tuple[int, "R | Died"], None, None]

LEAST_MEMORY = 400 << 20
"""Bytes that a process may come to hold even where little is free: fresh ones would have to find too much out again."""

_HEAD = struct.Struct("<Bq")
_ANSWER, _LAST_ANSWER, _DIED, _RAISED = range(4)
_READ = 1 << 20
_BOOT = "import sys; sys.path[:] = {path!r}; from torchlint.lint.executors import serve; serve()"


@dataclass(frozen=True, slots=True)
class Died:
    """What is there instead of an answer when the process that worked on an item has ended; `reason` is for people."""

    reason: str


class Workers(Protocol):
    """Processes that share something, and keep what they find out about it."""

    def map(self, work: Callable[[S, T], R], items: Sequence[T], where: Sequence[float]) -> Answers[R]:
        """What `work(shared, item)` gives, behind the place of the item, in the order in which it is there.

        `work` is a function of a module. What it raises is raised here. `where`, from 0 up to 1, says for each item what it
        is about: neighbours come to the same process each time, unless another one has nothing to do.
        """
        ...

    def close(self) -> None:
        """End them, whatever they do."""
        ...


class Executor(Protocol):
    """Where work is done."""

    def open(self, shared: Any) -> Workers:
        """Processes that know `shared`. They start when there is work."""
        ...


def local(jobs: int) -> Executor:
    """That many processes of this machine. Forks start at once; they are safe where this process has one thread only."""
    return Forked(jobs) if _is_alone() else Spawned(jobs)


def _is_alone() -> bool:
    """Whether this process is known to have no other thread, of Python's or of a library's; macOS has its own anywhere."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


class RemoteError(Exception):
    """The traceback of an exception in another process, as its cause."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Queue:
    """The places of items, a run of neighbours for each worker; one that has done with its own helps where most is left."""

    def __init__(self, where: Sequence[float], workers: int) -> None:
        self._runs: list[deque[int]] = [deque() for _ in range(workers)]
        for place, fraction in enumerate(where):
            self._runs[int(fraction * workers)].append(place)

    def take(self, worker: int) -> int | None:
        """The next place for a worker; None where none is left."""
        with suppress(IndexError):
            return self._runs[worker].popleft()
        longest = max(self._runs, key=len)
        with suppress(IndexError):
            return longest.pop()
        return None


# Forks


@dataclass(slots=True)
class _Fork:
    """A forked process: where it takes items, where its answers come from, and what has come of the next one."""

    pid: int
    items: int
    answers: int
    place: int = 0
    """The item it works on."""
    received: bytearray = field(default_factory=bytearray)

    def give(self, place: int, data: bytes) -> None:
        self.place = place
        self.received = bytearray()
        with suppress(BrokenPipeError):  # it has died: its answers end, which tells
            _write(self.items, data)

    def end(self) -> int:
        """Its exit code, less than 0 for a signal."""
        os.close(self.items)
        os.close(self.answers)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Forked:
    """Forks of this process: they know all that it knows when they start, nothing of `shared` is sent to them.

    One that has come to hold more than `memory` bytes makes room for a fresh one once it has answered.
    """

    def __init__(self, jobs: int, memory: int | None = None) -> None:
        self.jobs = jobs
        self.memory = memory

    def open(self, shared: Any) -> Workers:
        return _Forks(self.jobs, shared, _share(self.jobs) if self.memory is None else self.memory)


class _Forks:
    def __init__(self, jobs: int, shared: Any, memory: int) -> None:
        self._shared = shared
        self._memory = memory
        self._forks: list[_Fork | None] = [None] * jobs
        """By number; None where none runs."""

    def map(self, work: Callable[[S, T], R], items: Sequence[T], where: Sequence[float]) -> Answers[R]:
        import selectors

        queue = Queue(where, len(self._forks))
        with selectors.DefaultSelector() as selector:

            def occupy(number: int) -> None:
                place = queue.take(number)
                if place is not None:
                    fork = self._forks[number] or self._start(number)
                    selector.register(fork.answers, selectors.EVENT_READ, (number, fork))
                    fork.give(place, pickle.dumps((work, items[place]), pickle.HIGHEST_PROTOCOL))

            for number in range(len(self._forks)):
                occupy(number)
            while selector.get_map():
                for key, _ in selector.select():
                    number, fork = key.data
                    data = os.read(fork.answers, _READ)
                    fork.received += data
                    if data and not _is_whole(fork.received):
                        continue
                    selector.unregister(fork.answers)
                    place, received, code = fork.place, fork.received, 0
                    if not data or received[0] != _ANSWER:
                        self._forks[number] = None
                        code = fork.end()
                    occupy(number)
                    yield place, _opened(received) if data else Died(_reason(code))

    def _start(self, number: int) -> _Fork:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # what is in their buffers would be written twice
        items, give = os.pipe()
        answers, answer = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._serve(items, answer, [give, answers])
        os.close(items)
        os.close(answer)
        fork = self._forks[number] = _Fork(pid, give, answers)
        return fork

    def _serve(self, items: int, answer: int, foreign: list[int]) -> NoReturn:
        try:
            signals.leave()
            for fork in filter(None, self._forks):
                foreign += [fork.items, fork.answers]
            for descriptor in foreign:
                os.close(descriptor)
            with open(items, "rb") as source:
                _serve(source, answer, self._shared, self._memory)
            os._exit(0)
        except BrokenPipeError:
            os._exit(0)  # nobody waits for the answer
        finally:
            os._exit(1)  # nothing may leave this function: the stack below it is the parent's

    def close(self) -> None:
        for number, fork in enumerate(self._forks):
            if fork is not None:
                with suppress(ProcessLookupError):
                    os.kill(fork.pid, signal.SIGKILL)
                self._forks[number] = None
                fork.end()


# Fresh interpreters


class Spawned:
    """Fresh interpreters that import torchlint: `shared` and the items are pickled and sent through pipes.

    As for forks, `memory` is what one may come to hold.
    """

    def __init__(self, jobs: int, memory: int | None = None) -> None:
        self.jobs = jobs
        self.memory = memory

    def open(self, shared: Any) -> Workers:
        memory = _share(self.jobs) if self.memory is None else self.memory
        return _Interpreters(self.jobs, pickle.dumps((shared, memory), pickle.HIGHEST_PROTOCOL))


class _Interpreters:
    """Each is attended by a thread of this process while there is work."""

    def __init__(self, jobs: int, setting: bytes) -> None:
        self._setting = setting
        self._running: list[subprocess.Popen[bytes] | None] = [None] * jobs
        self._closed = False

    def map(self, work: Callable[[S, T], R], items: Sequence[T], where: Sequence[float]) -> Answers[R]:
        import queue
        import threading

        waiting = Queue(where, len(self._running))
        answers: SimpleQueue[tuple[int, bytes | Died]] = queue.SimpleQueue()
        lock = threading.Lock()

        def attend(number: int) -> None:
            while not self._closed:
                with lock:
                    place = waiting.take(number)
                if place is None:
                    break
                try:
                    answer = self._answer(number, pickle.dumps((work, items[place]), pickle.HIGHEST_PROTOCOL))
                except OSError as error:
                    answer = Died(f"it did not start: {error.strerror}")
                answers.put((place, answer))

        for number in range(len(self._running)):
            threading.Thread(target=attend, args=(number,), daemon=True).start()
        for _ in items:
            received: tuple[int, bytes | Died] | None = None
            while received is None:
                with suppress(queue.Empty):
                    received = answers.get(timeout=0.5)  # a wait without an end keeps Ctrl-C out on Windows
            place, answer = received
            yield place, answer if isinstance(answer, Died) else _opened(answer)

    def _answer(self, number: int, data: bytes) -> bytes | Died:
        process = self._running[number] or self._start(number)
        received = _asked(process, data)
        if received is not None and received[0] == _ANSWER:
            return received
        self._running[number] = None
        code = _ended(process)
        return received or Died(_reason(code))

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        import subprocess

        program = [sys.executable, "-I", "-c", _BOOT.format(path=sys.path)]
        process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._running[number] = process
        if self._closed:
            process.kill()
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.write(self._setting)
        return process

    def close(self) -> None:
        self._closed = True
        for process in filter(None, self._running):
            process.kill()
            _ended(process)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of an interpreter; its exit code."""
    assert process.stdin is not None and process.stdout is not None
    with suppress(OSError):
        process.stdin.close()
    code = process.wait()
    process.stdout.close()
    return code


def _asked(process: subprocess.Popen[bytes], data: bytes) -> bytes | None:
    """The answer of an interpreter, None where it ends instead."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(data)
        process.stdin.flush()
    except OSError:
        return None
    head = process.stdout.read(_HEAD.size)
    body = process.stdout.read(_HEAD.unpack(head)[1]) if len(head) == _HEAD.size else b""
    return head + body if _is_whole(head + body) else None


def serve() -> None:
    """Answer what comes on standard input until it ends."""
    signals.leave()
    answers = os.dup(1)
    os.dup2(2, 1)  # what somebody prints is no answer
    with open(0, "rb", closefd=False) as source:
        _serve(source, answers, *pickle.load(source))
    os._exit(0)


def _serve(source: BinaryIO, answers: int, shared: Any, memory: int) -> None:
    """Answer what comes until it ends."""
    while True:
        try:
            work, item = pickle.load(source)
        except EOFError:
            return
        _write(answers, _answered(lambda: with_frames(lambda: work(shared, item)), memory))  # noqa: B023 - called at once


# Answers on their way


def _answered(work: Callable[[], object], memory: int) -> bytes:
    """What a piece of work comes to, for the pipe."""
    try:
        content = work()
        kind = _ANSWER if _memory() < memory else _LAST_ANSWER
    except MemoryError:
        kind, content = _DIED, "out of memory"
    except Exception as error:  # noqa: BLE001 - it is raised where the answer is waited for
        kind, content = _RAISED, _portable(error)
    body = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    return _HEAD.pack(kind, len(body)) + body


def _portable(error: Exception) -> tuple[Exception, str]:
    import traceback

    text = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - whatever its class does with it
        return RuntimeError(f"{type(error).__name__}: {error}"), text
    return error, text


def _is_whole(received: bytes | bytearray) -> bool:
    return len(received) >= _HEAD.size and len(received) == _HEAD.size + _HEAD.unpack_from(received)[1]


def _opened(received: bytes | bytearray) -> Any:
    """The answer in its wrapping; raises what the work raised."""
    content = pickle.loads(memoryview(received)[_HEAD.size :])
    if received[0] == _DIED:
        return Died(content)
    if received[0] == _RAISED:
        error, text = content
        raise error from RemoteError(text)
    return content


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _reason(code: int) -> str:
    """Why a process that gave no answer has ended."""
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _memory() -> int:
    """The bytes of memory that this process holds; 0 where that can't be told."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _share(jobs: int) -> int:
    """The bytes of memory that each of some processes may come to hold, besides this one: a share of what is free."""
    free = [sys.maxsize]
    for file, pattern, unit in (
        ("/proc/meminfo", rb"MemAvailable: *(\d+) kB", 1024),
        ("/sys/fs/cgroup/memory.max", rb"(\d+)$", 1),
    ):
        with suppress(OSError), open(file, "rb") as source:
            free += [int(found[1]) * unit for found in [re.search(pattern, source.read())] if found]
    return max(LEAST_MEMORY, min(free) // (jobs + 1))
