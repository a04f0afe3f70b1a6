"""Writes what a traced run sees, one JSON object a line, each at the innermost line of the user's own code."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

from torchlint.messages.event import Event, Kind

_PACKAGE = os.path.realpath(Path(__file__).parents[2]) + os.sep
_STDLIB = tuple({os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")})
_LIBRARY_FOLDERS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}", f"{os.sep}torch{os.sep}")
# Plumbing between a call in torch and its operator: naming it would explain nothing.
_PLUMBING = ("torch/_", "torch/overrides.py", "torch/utils/_", "torch/nn/modules/module.py", "torch/autograd/")


class Place(NamedTuple):
    """A line of code; `file` is a real path."""

    file: str
    line: int
    function: str


@functools.cache
def real_path(filename: str) -> str:
    if not os.path.isabs(filename):
        try:
            return os.path.realpath(filename)
        except FileNotFoundError:  # the program has left its working directory for one that is gone
            return filename
    folder, name = os.path.split(filename)
    path = os.path.join(_real_folder(folder), name)
    return os.path.realpath(path) if os.path.islink(path) else path


@functools.cache
def _real_folder(folder: str) -> str:
    """By itself, since a program imports many files of a folder, and each part of a path is looked at."""
    return os.path.realpath(folder)


@functools.cache
def _torch_folder() -> str:
    torch = sys.modules.get("torch")
    return os.path.dirname(os.path.realpath(torch.__file__)) + os.sep if torch and torch.__file__ else _PACKAGE


@functools.cache
def is_user(filename: str) -> bool:
    """Whether code of that file is the user's: not torch, nor an installed package, the stdlib, torchlint or `<...>`."""
    if filename.startswith("<"):
        return False
    path = real_path(filename)
    if path.startswith((_PACKAGE, _torch_folder())):
        return False
    if any(folder in path for folder in _LIBRARY_FOLDERS[:2]):
        return False
    return not path.startswith(_STDLIB)


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


@functools.cache
def _place_of(filename: str, line: int, function: str) -> Place:
    return Place(real_path(filename), line, function)


def _place(frame: FrameType) -> Place:
    code = frame.f_code
    return _place_of(code.co_filename, frame.f_lineno, code.co_name)


def user_frame() -> Place | None:
    """The innermost line of the user's code now running in this thread."""
    for frame in _frames():
        if is_user(frame.f_code.co_filename):
            return _place(frame)
    return None


def caller() -> tuple[str, int]:
    """The innermost line outside torch and torchlint that now runs, the user's or another library's."""
    for frame in _frames():
        path = real_path(frame.f_code.co_filename)
        if not frame.f_code.co_filename.startswith("<") and not path.startswith((_PACKAGE, _torch_folder(), *_STDLIB)):
            return path, frame.f_lineno
    return "", 0


@functools.cache
def _library_name(filename: str) -> str:
    """`torch/nn/functional.py` of a library's file worth naming, "" of torch's plumbing, torchlint and `<...>`."""
    path = real_path(filename)
    if filename.startswith("<") or (path.startswith((_PACKAGE, *_STDLIB)) and "-packages" not in path):
        return ""
    for folder in _LIBRARY_FOLDERS:
        _, found, rest = path.rpartition(folder)
        if found:
            name = ("torch/" if folder == _LIBRARY_FOLDERS[2] else "") + rest.replace(os.sep, "/")
            return "" if name.startswith(_PLUMBING) else name
    return ""


@functools.cache
def _library(filename: str) -> str | None:
    """The library's file worth naming ("" of others), None of the user's own."""
    return None if is_user(filename) else _library_name(filename)


def library_line(file: str, line: int, function: str) -> str:
    """A library's line as `torch/nn/functional.py:6030 name`; "" of torch's plumbing, torchlint and `<...>`."""
    name = _library_name(file)
    return f"{name}:{line} {function}" if name else ""


@functools.cache
def _shown(place: Place) -> str:
    return f"{place.file}:{place.line} {place.function}"


def user_stack(limit: int = 8) -> tuple[str, ...]:
    """At most `limit` user frames, innermost first, as `file:line function`."""
    stack: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(stack) < limit:
        code = frame.f_code
        known = _CODES.get(id(code)) or _know(code)
        if known.library is None:
            stack.append(_shown((known.places.get(frame.f_lasti) or known.place(frame))[0]))
        frame = frame.f_back
    return tuple(stack)


_thread = threading.local()


@contextlib.contextmanager
def begun_at(place: Place | None) -> Iterator[None]:
    """What this thread does without a line of the user's own is of the line that started it."""
    _thread.begun = place
    try:
        yield
    finally:
        _thread.begun = None


class _Code:
    """What `here` knows of a code object: whose it is, and the places of the instructions that it met in it.

    Python finds the line of an instruction by counting from the first one of the function, each time.
    """

    __slots__ = ("code", "inside", "library", "lines", "places")

    def __init__(self, code: CodeType) -> None:
        self.code = code  # so that nothing else gets its identity
        self.library = _library(code.co_filename)
        self.places: dict[int, tuple[Place, str]] = {}
        self.lines: dict[int, str] = {}
        self.inside: dict[tuple[int, str], tuple[Place, str]] = {}

    def place(self, frame: FrameType) -> tuple[Place, str]:
        found = self.places[frame.f_lasti] = _place(frame), ""
        return found

    def via(self, frame: FrameType, via: str) -> tuple[Place, str]:
        found = self.inside[frame.f_lasti, via] = self.place(frame)[0], via
        return found

    def line(self, frame: FrameType) -> str:
        found = self.lines[frame.f_lasti] = f"{self.library}:{frame.f_lineno} {self.code.co_name}"
        return found


_CODES: dict[int, _Code] = {}
"""By identity: a code object's own hash is computed from all that is in it."""


def _know(code: CodeType) -> _Code:
    known = _CODES[id(code)] = _Code(code)
    return known


def here(above: int = 1) -> tuple[Place, str]:
    """The innermost line of the user's code and, where it is inside a library, the library's innermost line.

    The search begins `above` frames up: those below are the caller's own.
    """
    via = ""
    frame: FrameType | None = sys._getframe(above)
    while frame is not None:
        code = frame.f_code
        known = _CODES.get(id(code)) or _know(code)
        if known.library is None:
            if via:
                return known.inside.get((frame.f_lasti, via)) or known.via(frame, via)
            return known.places.get(frame.f_lasti) or known.place(frame)
        if known.library and not via:
            via = known.lines.get(frame.f_lasti) or known.line(frame)
        frame = frame.f_back
    return getattr(_thread, "begun", None) or Place("", 0, ""), via


class _Repeated:
    """How often an event of this step happened again, and with how many bytes."""

    __slots__ = ("count", "event", "size")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.count = self.size = 0


class _Counted:
    """How many operators of this step were at a place, and their bytes; the place is kept for its identity."""

    __slots__ = ("at", "count", "size")

    def __init__(self, at: tuple[Place, str]) -> None:
        self.at = at
        self.count = self.size = 0


_MOST_COUNTED = 2000
"""After how many that are counted they are written at the latest, for a process that is killed."""


class Recorder:
    """A line-buffered file of events; `step` is the number of steps finished so far.

    The first of several identical events of a step is written at once and the rest as one event with their count at
    the end of the step, so that not even a killed process loses an event; `torchlint.messages.event.read_events` adds them up.
    Safe to call from any thread. A forked process (a DataLoader worker) records nothing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.step = 0
        self.active = True
        self._started = time.perf_counter()
        self._file = self.path.open("a", buffering=1, encoding="utf-8", newline="\n")
        self._lock = threading.RLock()  # a signal handler may record while its own thread records
        self._repeats: dict[tuple[object, ...], _Repeated] = {}
        self._counted: dict[
            int, _Counted
        ] = {}  # by the identity of the place, whose own hash costs as much as the rest
        self._uncounted = _MOST_COUNTED
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._deactivate)

    def _deactivate(self) -> None:
        self.active = False

    def emit(self, event: Event) -> None:
        """Write `event` as it is."""
        self._write((event,))

    def _write(self, events: Iterable[Event]) -> None:
        """All at once: each time is a call of the system."""
        if self.active and (text := "".join([event.to_json() + "\n" for event in events])):
            with self._lock:
                self._file.write(text)

    def record(
        self,
        kind: Kind,
        *,
        name: str = "",
        detail: str = "",
        size: int = 0,
        count: int = 1,
        data: dict[str, object] | None = None,
        at: tuple[Place, str] | None = None,
    ) -> None:
        """Record that it happened now, at the innermost user line and, inside a library, at the library's line.

        `size` is in bytes and added up over repeats; `at` is what `here` said.
        """
        if not self.active:
            return
        place, via = at or here()
        key = (kind, place, name, detail, via)
        with self._lock:
            repeats = self._repeats.get(key)
            if repeats is not None:
                repeats.count += count
                repeats.size += size
                return
            if via:
                data = {**(data or {}), "via": via}
            event = Event(kind, *place, name, detail, count, size, self.step, data, user_stack())
            self._repeats[key] = _Repeated(event)
            self.emit(event)

    def count_operator(self, size: int, at: tuple[Place, str]) -> None:
        """Count an operator, of which there are many and that needs neither name nor stack: they are written once a step."""
        with self._lock:
            counted = self._counted.get(id(at))
            if counted is None:
                counted = self._counted[id(at)] = _Counted(at)
            counted.count += 1
            counted.size += size
            self._uncounted -= 1
            if not self._uncounted:
                self._write_counted()

    def _write_counted(self) -> None:
        counted, self._counted, self._uncounted = self._counted, {}, _MOST_COUNTED
        places: dict[tuple[Place, str], _Counted] = {}
        for one in counted.values():
            known = places.setdefault(one.at, one)
            if known is not one:  # another instruction of the line
                known.count += one.count
                known.size += one.size
        self._write(
            Event(
                "operator", *place, count=one.count, size=one.size, step=self.step, data={"via": via} if via else None
            )
            for (place, via), one in places.items()
        )

    def flush(self) -> None:
        """Write the repeats counted so far."""
        with self._lock:
            self._write_counted()
            repeats, self._repeats = self._repeats, {}
            self._write(replace(one.event, count=one.count, size=one.size) for one in repeats.values() if one.count)

    def end_step(self, name: str = "", detail: str = "") -> None:
        """One step is done: write its events, then the event `step`."""
        with self._lock:
            self.flush()
            self.step += 1
            seconds: dict[str, object] = {"seconds": round(time.perf_counter() - self._started, 6)}
            self.emit(Event("step", name=name, detail=detail, step=self.step, data=seconds))

    def close(self) -> None:
        """Write what is left; later events are dropped."""
        with self._lock:
            if self.active:
                self.flush()
                self.active = False
                self._file.close()
