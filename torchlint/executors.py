"""Processes that work on items one by one: forks, or fresh interpreters.

Forking is for programs of one thread; the command line is one, an editor's server and callers of the API need not be.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar

if TYPE_CHECKING:
    import subprocess
    from queue import SimpleQueue

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

Answers = Generator[tuple[int, "R | Died"], None, None]

MOST_MEMORY = 150 << 20
"""Bytes; a process that has come to hold more makes room for a fresh one once it has answered."""

_HEAD = struct.Struct("<Bq")
_PLACE = struct.Struct("<q")
_ANSWER, _LAST_ANSWER, _DIED, _RAISED = range(4)
_READ = 1 << 20
_BOOT = "import sys; sys.path[:] = {path!r}; from torchlint.executors import serve; serve()"


@dataclass(frozen=True, slots=True)
class Died:
    """What is there instead of an answer when the process that worked on an item has ended; `reason` is for people."""

    reason: str


class Executor(Protocol):
    """Where work is done."""

    def map(self, work: Callable[[S, T], R], shared: S, items: Sequence[T]) -> Answers[R]:
        """What `work(shared, item)` gives, behind the place of the item, in the order in which it is there.

        `work` is a function of a module. What it raises is raised here. Closing the iterator ends all that still runs.
        """
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


# Forks


@dataclass(slots=True)
class _Fork:
    """A forked process: where it takes items, where its answers come from, and what has come of the next one."""

    pid: int
    items: int
    answers: int
    place: int
    """The item it works on."""
    received: bytearray

    def give(self, place: int) -> None:
        self.place = place
        self.received = bytearray()
        with suppress(BrokenPipeError):  # it has died: its answers end, which tells
            os.write(self.items, _PLACE.pack(place))

    def end(self) -> int:
        """Its exit code, less than 0 for a signal."""
        os.close(self.items)
        os.close(self.answers)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Forked:
    """Forks of this process: they know all that it knows when `map` begins, and nothing is sent to them but numbers."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def map(self, work: Callable[[S, T], R], shared: S, items: Sequence[T]) -> Answers[R]:
        crew = _Crew(lambda place: work(shared, items[place]), len(items))
        try:
            yield from crew.answers(self.jobs)
        finally:
            crew.close()


class _Crew(Generic[R]):
    """The forks of one `map`."""

    def __init__(self, work: Callable[[int], R], count: int) -> None:
        self._work = work
        self._waiting = deque(range(count))
        self._forks: dict[int, _Fork] = {}

    def answers(self, jobs: int) -> Iterator[tuple[int, R | Died]]:
        import selectors

        with selectors.DefaultSelector() as selector:
            while self._waiting or self._forks:
                while self._waiting and len(self._forks) < jobs:
                    selector.register(self._start(self._waiting.popleft()), selectors.EVENT_READ)
                for key, _ in selector.select():
                    fork = self._forks[key.fd]
                    data = os.read(key.fd, _READ)
                    fork.received += data
                    if data and not _is_whole(fork.received):
                        continue
                    place, received = fork.place, fork.received
                    goes_on = bool(data and self._waiting) and received[0] == _ANSWER
                    if goes_on:
                        fork.give(self._waiting.popleft())
                    else:
                        selector.unregister(key.fd)
                        code = self._forks.pop(key.fd).end()
                    yield place, _opened(received) if data else Died(_reason(code))

    def _start(self, place: int) -> int:
        """A new fork that begins with an item."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # what is in their buffers would be written twice
        items, give = os.pipe()
        answers, answer = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._serve(items, answer, [give, answers])
        os.close(items)
        os.close(answer)
        fork = self._forks[answers] = _Fork(pid, give, answers, place, bytearray())
        fork.give(place)
        return answers

    def _serve(self, items: int, answer: int, foreign: list[int]) -> NoReturn:
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            for descriptor in foreign + [end for fork in self._forks.values() for end in (fork.items, fork.answers)]:
                os.close(descriptor)
            while place := os.read(items, _PLACE.size):
                _write(answer, _answered(lambda: self._work(_PLACE.unpack(place)[0])))
            os._exit(0)
        except BrokenPipeError:
            os._exit(0)  # nobody waits for the answer
        finally:
            os._exit(1)  # nothing may leave this function: the stack below it is the parent's

    def close(self) -> None:
        """End what still runs."""
        for fork in self._forks.values():
            with suppress(ProcessLookupError):
                os.kill(fork.pid, signal.SIGKILL)
        while self._forks:
            self._forks.popitem()[1].end()


# Fresh interpreters


class Spawned:
    """Fresh interpreters that import torchlint: `work`, `shared` and the items are pickled and sent through pipes."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def map(self, work: Callable[[S, T], R], shared: S, items: Sequence[T]) -> Answers[R]:
        import threading

        hall = _Hall(pickle.dumps((work, shared), pickle.HIGHEST_PROTOCOL), items)
        threads = [threading.Thread(target=hall.attend, daemon=True) for _ in range(min(self.jobs, len(items)))]
        for thread in threads:
            thread.start()
        try:
            for _ in items:
                place, received = hall.taken()
                yield place, received if isinstance(received, Died) else _opened(received)
        finally:
            hall.close()
            for thread in threads:
                thread.join()


class _Hall:
    """The interpreters of one `map`, each attended by a thread."""

    def __init__(self, setting: bytes, items: Sequence[object]) -> None:
        import queue

        self._setting = setting
        self._waiting = deque(enumerate(items))
        self._answers: SimpleQueue[tuple[int, bytes | Died]] = queue.SimpleQueue()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def taken(self) -> tuple[int, bytes | Died]:
        """The next answer."""
        import queue

        while True:
            with suppress(queue.Empty):
                return self._answers.get(timeout=0.5)  # a wait without an end keeps Ctrl-C out on Windows

    def attend(self) -> None:
        """Keep an interpreter busy as long as items wait."""
        process = None
        while not self._closed:
            try:
                place, item = self._waiting.popleft()
            except IndexError:
                break
            process = process or self._started()
            received = _asked(process, pickle.dumps(item, pickle.HIGHEST_PROTOCOL))
            if received is not None and received[0] == _ANSWER:
                self._answers.put((place, received))
                continue
            code = self._ended(process)
            process = None
            self._answers.put((place, Died(_reason(code)) if received is None else received))
        if process is not None:
            self._ended(process)

    def _started(self) -> subprocess.Popen[bytes]:
        import subprocess

        program = [sys.executable, "-I", "-c", _BOOT.format(path=sys.path)]
        process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._running.add(process)
        if self._closed:
            process.kill()
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(self._setting)
        return process

    def _ended(self, process: subprocess.Popen[bytes]) -> int:
        assert process.stdin is not None and process.stdout is not None
        with suppress(OSError):
            process.stdin.close()
        code = process.wait()
        process.stdout.close()
        self._running.discard(process)
        return code

    def close(self) -> None:
        """End what still runs."""
        self._closed = True
        for process in tuple(self._running):
            process.kill()


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
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    answers = os.dup(1)
    os.dup2(2, 1)  # what somebody prints is no answer
    source = open(0, "rb")  # noqa: SIM115 - to the end of the process
    work, shared = pickle.load(source)
    while source.peek(1):
        item = pickle.load(source)
        _write(answers, _answered(lambda: work(shared, item)))  # noqa: B023 - called at once
    os._exit(0)


# Answers on their way


def _answered(work: Callable[[], object]) -> bytes:
    """What a piece of work comes to, for the pipe."""
    try:
        content = work()
        kind = _ANSWER if _memory() < MOST_MEMORY else _LAST_ANSWER
    except MemoryError:
        kind, content = _DIED, "out of memory"
    except Exception as error:  # noqa: BLE001 - it is raised where the answer is waited for
        kind, content = _RAISED, _portable(error)
    body = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    return _HEAD.pack(kind, len(body)) + body


def _portable(error: Exception) -> tuple[Exception, str]:
    import traceback

    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - whatever its class does with it
        return RuntimeError(f"{type(error).__name__}: {error}"), traceback.format_exc()
    return error, "".join(traceback.format_exception(error))


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
