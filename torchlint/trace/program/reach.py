"""Which of the watched lines ran, and in which step."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any, Protocol

from torchlint.messages.event import Event
from torchlint.trace.program.recorder import real_path

_NONE: frozenset[int] = frozenset()


class Sink(Protocol):
    """What is told of a line."""

    @property
    def step(self) -> int: ...

    def emit(self, event: Event) -> None: ...


class _Watch:
    """The watched lines of each code object, and the event of each of them at most once a step."""

    def __init__(
        self,
        recorder: Sink,
        watch: Mapping[str, Sequence[int]],
        step_at: tuple[str, int] | None,
        on_step: Callable[[], None],
    ) -> None:
        self._recorder = recorder
        self._told = {file: frozenset(lines) for file, lines in watch.items()}
        self._step_at, self._on_step = step_at, on_step
        self._watch = dict(self._told)
        if step_at is not None:
            self._watch[step_at[0]] = self._told.get(step_at[0], _NONE) | {step_at[1]}
        self._files: dict[str, frozenset[int]] = {}
        # By identity: hashing a code object reads all of it. The reference keeps the id from being used again.
        self._codes: dict[int, tuple[CodeType, frozenset[int]]] = {}
        self._seen: set[tuple[str, int]] = set()
        self._step = 0

    def lines(self, code: CodeType) -> frozenset[int]:
        filename = code.co_filename
        watched = self._files.get(filename)
        if watched is None:
            watched = self._files[filename] = self._watch.get(real_path(filename), _NONE)
        if not watched:
            return _NONE
        if id(code) not in self._codes:
            own = {line for *_, line in code.co_lines() if line is not None}
            self._codes[id(code)] = code, watched & own
        return self._codes[id(code)][1]

    def hit(self, code: CodeType, line: int) -> None:
        file = real_path(code.co_filename)
        if (file, line) == self._step_at:
            self._on_step()
        if line not in self._told.get(file, _NONE):
            return
        if self._step != self._recorder.step:
            self._step = self._recorder.step
            self._seen.clear()
        if (code.co_filename, line) not in self._seen:
            self._seen.add((code.co_filename, line))
            self._recorder.emit(Event("line", file, line, code.co_name, step=self._recorder.step))


@contextlib.contextmanager
def _by_tracing(watch: _Watch) -> Iterator[None]:
    def called(frame: FrameType, _event: str, _argument: object) -> Any:
        return in_watched if watch.lines(frame.f_code) else None

    def in_watched(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line" and frame.f_lineno in watch.lines(frame.f_code):
            watch.hit(frame.f_code, frame.f_lineno)
        return in_watched

    threading.settrace(called)
    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)


@contextlib.contextmanager
def _by_monitoring(watch: _Watch) -> Iterator[None]:
    monitoring: Any = vars(sys)["monitoring"]  # unknown to type checkers of Python 3.10
    events = monitoring.events
    tool = next((free for free in (4, 3) if monitoring.get_tool(free) is None), None)
    if tool is None:
        raise RuntimeError("no free id in sys.monitoring")

    def started(code: CodeType, _offset: int) -> object:
        if watch.lines(code):
            monitoring.set_local_events(tool, code, events.LINE)
            return None
        return monitoring.DISABLE

    def ran(code: CodeType, line: int) -> object:
        if line in watch.lines(code):
            watch.hit(code, line)
            return None
        return monitoring.DISABLE

    monitoring.use_tool_id(tool, "torchlint")
    monitoring.register_callback(tool, events.PY_START, started)
    monitoring.register_callback(tool, events.LINE, ran)
    monitoring.set_events(tool, events.PY_START)
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)


def reached(
    recorder: Sink,
    watch: Mapping[str, Sequence[int]],
    step_at: tuple[str, int] | None = None,
    on_step: Callable[[], None] = lambda: None,
) -> contextlib.AbstractContextManager[None]:
    """Record a `line` event when a watched line (by real path) runs, once a step; `on_step` whenever `step_at` does.

    Only functions that hold a watched line are traced: by sys.settrace before Python 3.12, by sys.monitoring since.
    """
    if not watch and step_at is None:
        return contextlib.nullcontext()
    lines = _Watch(recorder, watch, step_at, on_step)
    return _by_monitoring(lines) if sys.version_info >= (3, 12) else _by_tracing(lines)
