"""A trace of torch.profiler as the events of a run: its waits, copies and kernels with the times that were measured.

What a profile of a real run says is joined to lines by its Python functions (`with_stack=True`); without them it has
times and no lines. Its first step has number 2, as the warm-up of a profiled run comes before it.
"""

from __future__ import annotations

import bisect
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ..messages.event import Event, Kind
from .profile_file import Recording, Span
from .profile_lines import FETCH, FRAME, Child, Function, Functions, child_of

WARM_UP = 2
_STEP = re.compile(r"ProfilerStep#(\d+)$")
_OPTIMIZER = re.compile(r"Optimizer\.(step|zero_grad)#")
_LOADER = "enumerate(DataLoader)"
_WAIT = re.compile(r"(cuda|hip)(Stream|Device|Event)Synchronize|cu(Stream|Ctx|Event)Synchronize")
_DEVICE_WAIT = re.compile(r"(cuda|hip)DeviceSynchronize|cuCtxSynchronize")
_COPY = re.compile(r"Memcpy (?P<from>H|D)to(?P<to>H|D)(?: \((?P<source>\w+) -> (?P<target>\w+)\))?")
_WAITING_COPY = re.compile(r"(cuda|hip)Memcpy(WithStream)?$")
_BUILT_IN = re.compile(r"<built-in (?:method|function) (\w+)")
_PACKAGES = re.compile(r".*?(?:site-packages|dist-packages|lib/python3\.\d+)/")
_PROFILER = ("torch/profiler/", "torch/autograd/profiler.py")
_PLUMBING = ("torch/_", "torch/overrides.py", "torch/utils/_", "torch/nn/modules/module.py", "torch/autograd/")
_BACKWARD = "<built-in method run_backward of"
_NAMES = {"is_nonzero": "bool", "_local_scalar_dense": "item", "_to_copy": "to"}


class Place(NamedTuple):
    """Where something happened: at one line, or somewhere in a function, on one of `lines`."""

    file: str = ""
    line: int = 0
    function: str = ""
    lines: tuple[int, ...] = ()


@dataclass(slots=True)
class _Call:
    """A direct call of a function of the user's, while it runs."""

    span: Span
    doing: str = ""
    host: float = 0.0
    happened: list[_Happened] = field(default_factory=list)


@dataclass(slots=True)
class _Running:
    """A function of the user's that ran once."""

    file: str
    function: Function
    began: bool
    calls: list[_Call] = field(default_factory=list)


@dataclass(slots=True)
class _Happened:
    """A wait, a copy, a fetch or launched kernels, within one call."""

    kind: Kind
    name: str
    at: float
    seconds: float
    via: str = ""
    detail: str = ""
    size: int = 0
    count: int = 1
    data: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """A read profile: its events, and what it can't tell."""

    events: tuple[Event, ...]
    device: str
    steps: int
    seconds: float
    """Of all steps, or of the whole trace where none is marked."""
    stacks: bool
    """Whether it has Python functions."""
    gpu: bool
    """Whether it saw a GPU at work."""
    moved: tuple[str, ...]
    """Files of the project that have another text than when the profile was made."""
    files: frozenset[str]
    """Those of whose functions the profile tells."""


def profile(recording: Recording, files: Iterable[Path]) -> Profile:
    """The events of a recording; `files` are the user's, whose lines they are joined to."""
    sources = _Sources(files, {span.name for span in recording.spans if span.kind == "python_function"})
    steps = _steps(recording.spans)
    gpu = {span.correlation: span for span in recording.spans if span.kind in _ON_GPU and span.correlation}
    threads: defaultdict[str, list[Span]] = defaultdict(list)
    for span in recording.spans:
        if span.kind not in _ON_GPU:
            threads[span.thread].append(span)
    end = max((span.end for span in recording.spans if span.kind == "cpu_op"), default=0.0)
    walked = [_Thread(sources, gpu, None if steps else end) for _ in threads]
    stacks = {name for name, spans in threads.items() if any(span.kind == "python_function" for span in spans)}
    backward: list[tuple[float, float, _Call]] = []
    for name, thread in sorted(zip(threads, walked, strict=True), key=lambda one: one[0] not in stacks):
        thread.walk(threads[name], backward if name not in stacks else [])
        backward.extend(thread.backward)
        backward.sort(key=lambda one: one[:2])
    table = _Table(steps)
    for thread in walked:
        for running in thread.ran:
            _tell(running, table, sure=bool(gpu))
        for happened in thread.loose:
            table.add(happened, Place(), happened.via)
    total = steps[-1].end - steps[0].start if steps else max(span.end for span in recording.spans)
    ends = [Event("step", step=WARM_UP, data={"seconds": round(steps[0].start, 9)})] if steps else []
    ends += [Event("step", step=WARM_UP + at + 1, data={"seconds": round(one.end, 9)}) for at, one in enumerate(steps)]
    told: dict[str, object] = {"profile": True, "gpu": bool(gpu), "stacks": bool(stacks)}
    events = (Event("start", name=recording.device or "no GPU", data=told), *ends, *table.events())
    return Profile(
        events, recording.device, len(steps), total, bool(stacks), bool(gpu), tuple(sorted(sources.moved)), sources.seen
    )


_ON_GPU = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})


def _steps(spans: Sequence[Span]) -> list[Span]:
    """The steps that the profile marks, in their order."""
    marked: dict[str, Span] = {}
    for span in spans:
        if span.kind in ("user_annotation", "cpu_op") and _STEP.match(span.name):
            marked.setdefault(span.name, span)
    return sorted(marked.values(), key=lambda span: span.start)


# --- threads -----------------------------------------------------------------------------------------------------


class _Thread:
    """What ran in a thread: functions of the user's, and what belongs to none of them."""

    def __init__(self, sources: _Sources, gpu: dict[int, Span], end: float | None) -> None:
        self._sources, self._gpu, self._end = sources, gpu, end
        self.ran: list[_Running] = []
        self.loose: list[_Happened] = []
        self.backward: list[tuple[float, float, _Call]] = []
        self._stack: list[tuple[Span, _Running | None, _Call | None]] = []
        self._marks: list[Span] = []

    def walk(self, spans: list[Span], backward: Sequence[tuple[float, float, _Call]]) -> None:
        """Go through the spans of the thread; what another thread's `backward()` has it do belongs to that."""
        spans.sort(key=lambda span: (span.start, -span.end))
        starts = [one[0] for one in backward]
        for number, span in enumerate(spans):
            while self._stack and self._stack[-1][0].end <= span.start:
                self._stack.pop()
            if span.kind == "user_annotation" or _STEP.match(span.name):
                self._mark(span)
                continue
            running, call = self._stack[-1][1:] if self._stack else (None, None)
            if running is not None and call is None:  # right below a function of the user's
                call = _Call(span)
                running.calls.append(call)
            if call is None and backward and (at := bisect.bisect_right(starts, span.start)):
                _, end, other = backward[at - 1]
                call = other if span.start < end else None
            if span.kind == "cuda_runtime":
                self._runtime(span, call, spans, number)
            elif span.kind == "python_function" and (entered := self._enter(span)) is not None:
                if call is not None:
                    call.host -= span.end - span.start
                self._stack.append((span, entered, None))
                continue
            elif call is not None and span.name.startswith(_BACKWARD):
                self.backward.append((span.start, span.end, call))
            self._stack.append((span, running, call))
        for running in self.ran:
            for call in running.calls:
                call.host += call.span.end - call.span.start

    def _enter(self, span: Span) -> _Running | None:
        """The function of the user's that a span is of."""
        found = self._sources.function(span.name)
        if found is None:
            return None
        running = _Running(*found)
        self.ran.append(running)
        return running

    def _mark(self, span: Span) -> None:
        """An annotation says what is done here; it may outlast the call that made it."""
        self._marks = [one for one in self._marks if one.end > span.start]
        self._marks.append(span)
        call = self._stack[-1][2] if self._stack else None
        if span.name.startswith(_LOADER):
            fetched = _Happened("data", "fetch", span.start, span.end - span.start)
            self._note(fetched, call)
            if call is not None:
                call.doing = call.doing or FETCH
        elif call is not None and (found := _OPTIMIZER.match(span.name)):
            call.doing = call.doing or found[1]

    def _note(self, happened: _Happened, call: _Call | None) -> None:
        if call is not None:
            call.happened.append(happened)
            return
        marks = [one.name for one in self._marks if one.start <= happened.at < one.end and not _STEP.match(one.name)]
        happened.via = happened.via or (marks[-1] if marks else "")
        self.loose.append(happened)

    def _runtime(self, span: Span, call: _Call | None, spans: Sequence[Span], number: int) -> None:
        started = self._gpu.get(span.correlation)
        seconds = span.end - span.start
        found = _COPY.match(started.name) if started is not None and started.kind == "gpu_memcpy" else None
        if started is not None and found is not None and found["from"] != found["to"]:
            self._copy(span, started, found, call, spans, number)
        elif started is not None:
            data: dict[str, object] = {"device": started.end - started.start}
            self._note(_Happened("time", "launch", span.start, seconds, data=data), call)
        elif _WAIT.match(span.name) and not self._waited_for_a_copy(spans, number) and not self._ending(span):
            operator = self._operator()
            kind: Kind = "sync" if operator else "synchronize"
            self._note(_Happened(kind, self._named(operator), span.start, seconds, self._via()), call)

    def _ending(self, span: Span) -> bool:
        """Whether the profiler itself waits, when it stops."""
        if any((found := FRAME.match(one.name)) and found["file"].startswith(_PROFILER) for one, *_ in self._stack):
            return True
        return self._end is not None and bool(_DEVICE_WAIT.match(span.name)) and span.start >= self._end

    def _operator(self) -> str:
        """The innermost operator that runs, "" if none does."""
        return next((one.name.rpartition("::")[2] for one, *_ in reversed(self._stack) if one.kind == "cpu_op"), "")

    def _outermost(self) -> str:
        """The outermost operator below the innermost Python function."""
        name = ""
        for one, *_ in reversed(self._stack):
            if one.kind != "cpu_op":
                break
            name = one.name.rpartition("::")[2]
        return name

    def _named(self, operator: str) -> str:
        """What a user calls it: the function without Python code that is called, else the operator."""
        for one, *_ in reversed(self._stack):
            if one.kind == "python_function":
                if found := _BUILT_IN.match(one.name):
                    return found[1].removeprefix("_cuda_")
                break
        name = self._outermost() or operator or "synchronize"
        return _NAMES.get(name, name)

    def _via(self) -> str:
        """The innermost function of a library worth naming, below the user's."""
        for one, running, call in reversed(self._stack):
            if running is not None and call is None:
                return ""
            if one.kind == "python_function" and (found := FRAME.match(one.name)):
                file = _PACKAGES.sub("", found["file"])
                if running is not None and file.endswith(".py") and not file.startswith(_PLUMBING):
                    return f"{file}:{found['line']} {found['function']}"
        return ""

    @staticmethod
    def _next_wait(spans: Sequence[Span], number: int) -> Span | None:
        """The wait that the runtime is asked for right after this."""
        for span in spans[number + 1 : number + 12]:
            if span.kind == "cuda_runtime":
                if _WAIT.match(span.name):
                    return span
                if "Memcpy" in span.name or "Launch" in span.name:
                    return None
        return None

    def _copy(
        self, span: Span, copied: Span, found: re.Match[str], call: _Call | None, spans: Sequence[Span], number: int
    ) -> None:
        wait = self._next_wait(spans, number)
        operator = next((one for one, *_ in reversed(self._stack) if one.kind == "cpu_op"), None)
        if wait is not None and operator is not None and wait.start >= operator.end:
            wait = None
        seconds = span.end - span.start + (wait.end - wait.start if wait else 0.0)
        name = operator.name.rpartition("::")[2] if operator else ""
        if found["from"] == "D" and name not in ("copy_", "_copy_from", ""):  # a value is read: `.item()`, `nonzero`
            self._note(_Happened("sync", self._named(name), span.start, seconds, self._via()), call)
            return
        host = found["source"] if found["from"] == "H" else found["target"]
        blocking = wait is not None or bool(_WAITING_COPY.match(span.name))
        data: dict[str, object] = {"blocking": blocking, "device": copied.end - copied.start}
        if host in ("Pinned", "Pageable"):
            data["pinned"] = host == "Pinned"
        detail = f"{(host or 'host').lower()}, {'blocking' if blocking else 'non_blocking'}"
        kind: Kind = "h2d" if found["from"] == "H" else "d2h"
        self._note(
            _Happened(kind, self._named(name), span.start, seconds, self._via(), detail, copied.bytes, data=data), call
        )

    def _waited_for_a_copy(self, spans: Sequence[Span], number: int) -> bool:
        """Whether a wait is told with the copy that it ends."""
        wait = spans[number]
        for at in range(number - 1, max(-1, number - 12), -1):
            span = spans[at]
            if span.kind == "cuda_runtime":
                started = self._gpu.get(span.correlation)
                moved = started is not None and started.kind == "gpu_memcpy" and _COPY.match(started.name)
                if not moved or moved["from"] == moved["to"]:
                    return False
                inside = [one for one, *_ in self._stack if one.kind == "cpu_op" and one.start <= span.start]
                return bool(inside) and wait.end <= inside[-1].end + 1e-6
        return False


# --- lines -------------------------------------------------------------------------------------------------------


def _tell(running: _Running, table: _Table, *, sure: bool) -> None:
    """What one run of a function did, at its lines."""
    if not running.calls:
        return
    children = [child_of(call.span.kind, call.span.name, call.doing) for call in running.calls]
    known = [at for at, child in enumerate(children) if child.how != "other"]
    function = running.function
    found: dict[int, tuple[int, ...]] = dict(
        zip(known, function.lines([children[at] for at in known], running.began), strict=True)
    )
    for at, call in enumerate(running.calls):
        lines = found.get(at, ())
        if len(lines) == 1:
            place = Place(running.file, lines[0], function.name)
            if sure:
                table.reached(place, call.span.start)
        else:
            place = Place(running.file, function.line, function.name, lines or tuple(function.all_lines))
        if call.host > 0 and children[at] != Child("other"):
            table.add(_Happened("time", "host", call.span.start, 0.0, data={"host": call.host}), place, "")
        for happened in call.happened:
            table.add(happened, place, happened.via)


class _Table:
    """Events, each once for each step and place with its count, bytes and seconds added up."""

    def __init__(self, steps: Sequence[Span]) -> None:
        self._starts = [step.start for step in steps]
        self._ends = [step.end for step in steps]
        self._events: dict[tuple[object, ...], tuple[Event, dict[str, float]]] = {}

    def step(self, at: float) -> int | None:
        """The step of a time, None for what is in none of those that are marked."""
        if not self._starts:
            return 0
        found = bisect.bisect_right(self._starts, at) - 1
        return WARM_UP + found if found >= 0 and at < self._ends[found] else None

    def reached(self, place: Place, at: float) -> None:
        if (step := self.step(at)) is not None:
            event = Event("line", place.file, place.line, step=step)
            self._events.setdefault(("line", place.file, place.line, step), (event, {}))

    def add(self, happened: _Happened, place: Place, via: str) -> None:
        if (step := self.step(happened.at)) is None:
            return
        name = "" if happened.kind == "time" else happened.name
        key = (happened.kind, place, name, happened.detail, via, step)
        numbers = {key: float(str(happened.data.get(key, 0.0))) for key in ("host", "device")}
        numbers["seconds"] = happened.seconds
        if happened.kind == "time":
            numbers["launches"] = float(happened.name == "launch")
        if (known := self._events.get(key)) is None:
            data: dict[str, object] = {
                key: happened.data[key] for key in ("pinned", "blocking") if key in happened.data
            }
            if via:
                data["via"] = via
            if place.lines:
                data["lines"] = list(place.lines)
            event = Event(
                happened.kind, place.file, place.line, place.function, name, happened.detail, 0, 0, step, data
            )
            known = self._events[key] = event, defaultdict(float)
        event, sums = known
        for what, number in numbers.items():
            sums[what] += number
        sums["count"] += happened.count
        sums["size"] += happened.size

    def events(self) -> Iterator[Event]:
        for event, sums in self._events.values():
            if event.kind == "line":
                yield event
                continue
            data = {**(event.data or {}), **{key: round(sums[key], 9) for key in _TIMES if sums.get(key)}}
            yield Event(
                event.kind, event.file, event.line, event.function, event.name, event.detail,
                int(sums["count"]), int(sums["size"]), event.step, data,
            )  # fmt: skip


_TIMES = ("seconds", "host", "device", "launches")


class _Sources:
    """The user's files, by the names that a profile has for them and for their functions."""

    def __init__(self, files: Iterable[Path], names: Iterable[str]) -> None:
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        for file in files:
            self._by_name[file.name].append(os.path.realpath(file))
        self._functions: dict[str, tuple[str, Function, bool]] = {}
        self.moved: set[str] = set()
        told: defaultdict[str, dict[str, tuple[str, int]]] = defaultdict(dict)
        for name in names:
            if (frame := FRAME.match(name)) and not name.startswith("<"):
                told[frame["file"]][name] = frame["function"], int(frame["line"])
        for named, frames in told.items():
            self._look(named.replace("\\", "/"), frames)
        self.seen = frozenset(found[0] for found in self._functions.values())

    def function(self, name: str) -> tuple[str, Function, bool] | None:
        """The file, the function and whether it was entered just then, None for one that is not the user's."""
        return self._functions.get(name)

    def _look(self, told: str, frames: dict[str, tuple[str, int]]) -> None:
        """Find the functions that a profile names of one file; a file that lacks one of them is not as it was."""
        paths, same = self._paths(told)
        for path in paths:
            functions = _read(path)
            if functions is None:
                continue
            looked = {name: functions.find(*frame) for name, frame in frames.items()}
            if all(looked.values()):
                self._functions.update({name: (path, *found) for name, found in looked.items() if found})
                return
            if same or any(found for name, found in looked.items() if frames[name][0] != "<module>"):
                self.moved.add(path)

    def _paths(self, told: str) -> tuple[list[str], bool]:
        """The user's files that it can be, and whether it is one of them by all of its name."""
        library = _PACKAGES.match(told)
        wanted = PurePosixPath(told[library.end() :] if library else told).parts
        if not wanted:
            return [], False
        agree = {path: _agreeing(Path(path).parts, wanted) for path in self._by_name.get(wanted[-1], ())}
        if library or not told.startswith("/"):  # shortened by torch: all that is left is below a folder of sys.path
            return [path for path, count in agree.items() if count == len(wanted)], True
        most = max(agree.values(), default=0)
        return [path for path, count in agree.items() if count == most], most == len(wanted)


def _read(path: str) -> Functions | None:
    try:
        return Functions(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _agreeing(path: Sequence[str], wanted: Sequence[str]) -> int:
    """How many parts of two paths are the same, from the end."""
    count = 0
    for one, other in zip(reversed(path), reversed(wanted), strict=False):
        if one != other:
            break
        count += 1
    return count
