"""Graph breaks, recompiles and recompile limits, read from torch's structured trace log while the program runs.

The log (`torch.__trace`, the source of TORCH_TRACE and tlparse) tells every break; `torch._dynamo.explain` and the
process counters lose those whose graph prefix is empty, and carry no line.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from torchlint.messages.event import DYNAMO_FAILED, Event
from torchlint.trace.compiled import private
from torchlint.trace.program.recorder import is_user, library_line, real_path, user_frame, user_stack


class EventSink(Protocol):
    """What this half of the trace needs of a recorder."""

    @property
    def step(self) -> int: ...

    def emit(self, event: Event) -> None: ...


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a traceback, as the log prints it."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}"

    @property
    def definition(self) -> str:
        """A function and where it is defined, as `forward (/home/me/model.py:170)`."""
        return f"{self.function} ({self.file}:{self.line})"


_NOWHERE = Frame("", 0, "")


@dataclass(slots=True)
class GraphBreak:
    """One graph break at one user line; `frame_skipped` means that the whole frame runs eagerly, not only the line."""

    frames: tuple[Frame, ...]  # user frames, innermost first
    at: Frame  # the innermost frame of all, which may be a library's
    type: str
    identifier: str
    reason: str
    hint: str
    url: str
    frame_skipped: bool
    in_loop: bool
    via: str  # the library frame that broke, where the user's line only called it
    skipped: str = ""  # the frame that is skipped, which may be a caller of the line
    explained: bool = False  # whether torch._dynamo.explain lists it, too

    @property
    def key(self) -> tuple[str, int, str, str]:
        where = self.frames[0] if self.frames else _NOWHERE
        return where.file, where.line, self.identifier or self.type, self.via

    def event(self, step: int) -> Event:
        where = self.frames[0] if self.frames else _NOWHERE
        data: dict[str, object] = {
            "hint": self.hint,
            "type": self.type,
            "frame_skipped": self.frame_skipped,
            "in_loop": self.in_loop,
            "explained": self.explained,
            "url": self.url,
        }
        data |= {key: text for key, text in (("via", self.via), ("skipped", self.skipped)) if text}
        return Event(
            "graph_break",
            where.file,
            where.line,
            where.function,
            name=self.identifier or "GB?",
            detail=self.reason,
            step=step,
            data=data,
            stack=tuple(map(str, self.frames[:8])),
        )


# --- the log's text ----------------------------------------------------------------------------------------------

_HEADER = re.compile(r"^Graph break in user code at (.+):(\d+)$", re.MULTILINE)
_FRAME = re.compile(r'^ *File "(.+?)", line (\d+), in (.+)$', re.MULTILINE)
_URL = re.compile(r"https?://\S+/gb/gb(\d+)\.html")
_RESUMED = re.compile(r"^torch_dynamo_resume_in_(.+)_at_\d+$")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_REASON_START = re.compile(r"^(?:Graph Break )?Reason: ", re.MULTILINE)
_TRACEBACK_START = re.compile(
    r"^(?:User code traceback:|The graph break occurred in the following user code:)$", re.MULTILINE
)
_PYTHON_TRACEBACK = re.compile(r"^(?:Traceback \(most recent call last\):|NoneType: None)$", re.MULTILINE)
_SKIPPED = re.compile(r"Skipping the (?:function|frame)|torch\.compile will skip tracing the frame")
_LOOP = "graph break in loop"
_GUARD = re.compile(r"^(?:\d+/\d+: )?(.*?)\s*(?:#.*)?$")
_GUARD_PLACE = re.compile(r"# (\S+\.py):(\d+) in (\S+)\s*$")


def _function(name: str) -> str:
    """The function that a resumed part belongs to: Dynamo names those `torch_dynamo_resume_in_forward_at_12`."""
    resumed = _RESUMED.match(name)
    return resumed.group(1) if resumed else name


def frames_of(text: str) -> list[Frame]:
    """The frames of a printed traceback, outermost first, real paths."""
    return _frames((file, int(line), name.strip()) for file, line, name in _FRAME.findall(text))


def _frames(frames: Iterable[tuple[str, int, str]]) -> list[Frame]:
    """Frames as torch holds them, with real paths and the names of the program's functions."""
    return [
        Frame(file if file.startswith("<") else real_path(file), line, _function(name)) for file, line, name in frames
    ]


def user_frames(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """The user's frames, innermost first; all frames where none is the user's."""
    innermost_first = tuple(frames)[::-1]
    return tuple(frame for frame in innermost_first if is_user(frame.file)) or innermost_first


def _first_line(text: str) -> str:
    return _ADDRESS.sub("", text.strip().partition("\n")[0])


def _reason(text: str) -> tuple[str, str, str]:
    """The break's type, explanation and first hint. Each break prints `type`, then indented `Explanation:`, `Hint:`."""
    before, found, after = text.partition("\n  Explanation: ")
    lines = [line for line in before.splitlines() if line.strip()]
    if not found:
        return (_first_line(lines[0]) if lines else "", "", "")
    hints = re.findall(r"^  Hint: (.+)$", after.partition("\n*** While handling")[0], re.MULTILINE)
    explanation = _first_line(after.partition("\n")[0])  # torch has none for some
    return lines[-1].strip() if lines else "", explanation, hints[0].strip() if hints else ""


def parse_break(payload: str) -> GraphBreak:
    """Read one `dynamo_graph_break_reason` payload, as torch 2.6 and later print it."""
    traceback_start = _TRACEBACK_START.search(payload)
    head, tail = (
        (payload[: traceback_start.start()], payload[traceback_start.end() :]) if traceback_start else (payload, "")
    )
    printed = _PYTHON_TRACEBACK.search(tail)
    user_traceback, exception = (tail[: printed.start()], tail[printed.start() :]) if printed else (tail, "")
    start = _REASON_START.search(head)
    if start:
        text = head[start.end() :]
    else:  # a frame that could not be resumed tells its reason only in the exception below
        text = re.split(r"^torch\._dynamo\.exc\.\w+: ", exception, maxsplit=1, flags=re.MULTILINE)[-1]
    kind, explanation, hint = _reason(text.replace("Unsupported: ", "", 1))
    frames = frames_of(user_traceback)
    header = _HEADER.search(payload)
    if not frames and header:
        frames = [Frame(real_path(header.group(1)), int(header.group(2)), "")]
    return _break(frames, kind, explanation, hint, text, skipped=_SKIPPED.search(head) is not None)


def _inside(frame: Frame) -> str:
    return library_line(frame.file, frame.line, frame.function) or str(frame)


def _break(frames: list[Frame], kind: str, explanation: str, hint: str, text: str, *, skipped: bool) -> GraphBreak:
    url = _URL.search(text)
    user = user_frames(frames)
    return GraphBreak(
        frames=user,
        at=frames[-1] if frames else _NOWHERE,
        type=kind,
        identifier=f"GB{url.group(1)}" if url else identifier_of(kind),
        reason=explanation or kind,
        hint=hint,
        url=url.group() if url else "",
        frame_skipped=skipped,
        in_loop=_LOOP in text,
        via=_inside(frames[-1]) if frames and user and frames[-1] != user[0] else "",
    )


@lru_cache(maxsize=1)
def _registry() -> Mapping[str, str]:
    """Type text to id, from the registry of the installed torch; the lowest id where a text has several."""
    ids: dict[str, str] = {}
    for identifier, entries in sorted(private.graph_break_registry().items()):
        for entry in entries:
            ids.setdefault(str(entry.get("Gb_type", "")), identifier)
    return ids


def identifier_of(kind: str) -> str:
    """The GB id of a break's type text, "" where the installed torch's registry (2.8 and later) doesn't know it."""
    return _registry().get(kind, "")


def parse_reasons(payload: str) -> list[str]:
    """The reasons of one `recompile_reasons` payload, newest cache entry first."""
    if not payload.lstrip().startswith("["):
        return [payload]
    return [str(reason) for reason in json.loads(payload)]


def parse_guard(reason: str) -> tuple[str, tuple[Frame, ...]]:
    """The guard that failed, and the user frames that it names (innermost first; none for a shape guard)."""
    first, _, rest = reason.strip().partition("\n")
    match = _GUARD.match(first)
    guard = match.group(1) if match else first
    frames = frames_of(rest)
    place = _GUARD_PLACE.search(first)
    if not frames and place:  # a shortened path: the frame that recompiles knows the whole one
        frames = [Frame(place.group(1), int(place.group(2)), _function(place.group(3)))]
    return guard, user_frames(frames)


def _with_traced_frames(found: GraphBreak) -> GraphBreak:
    """The log leaves out the frame being traced where the break is in the library that it calls."""
    above = user_frame()
    traced = [frame for frame in reversed(_frames(private.traced_frames())) if is_user(frame.file)]
    outside = above is not None and found.frames[:1] == (Frame(above.file, above.line, _function(above.function)),)
    if traced and outside and traced[0] not in found.frames:
        found.frames = (*traced, *found.frames)
    return found


# --- the log as it comes -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class TraceLog:
    """Turns structured trace records into events.

    A break is reported for the outer frame and again for the inner one, and a frame may be skipped only in a later
    attempt: breaks wait in `pending` until `flush`, which the end of the outermost compiled call does.
    """

    sink: EventSink
    pending: dict[tuple[str, int, str, str], GraphBreak] = field(default_factory=dict)
    emitted: set[tuple[str, int, str, str, bool]] = field(default_factory=set)
    frames: dict[object, Frame] = field(default_factory=dict)
    guards: dict[object, list[str]] = field(default_factory=dict)
    of_compile: dict[tuple[object, object], list[GraphBreak]] = field(default_factory=dict)
    explained: set[Frame] = field(default_factory=set)

    def handle(self, metadata: Mapping[str, object], payload: str | None) -> None:
        """Read one record."""
        compile_id = metadata.get("frame_id"), metadata.get("frame_compile_id")
        artifact = metadata.get("artifact")
        metrics = metadata.get("compilation_metrics")
        if "dynamo_start" in metadata and (started := private.started_frame(metadata)):
            self._started(compile_id[0], *started)
        if isinstance(artifact, dict) and payload is not None:
            if artifact.get("name") == "dynamo_graph_break_reason":
                self._break(_with_traced_frames(parse_break(payload)), compile_id)
            elif artifact.get("name") == "recompile_reasons":
                self._recompile(parse_reasons(payload), compile_id)
        elif isinstance(metrics, dict):
            self._compiled(metrics, compile_id)

    def graph_made(self, graph: object) -> None:
        """A backend got `graph`: torch._dynamo.explain knows only the breaks that ended such a graph."""
        self.explained.update(_frames(private.break_after(graph))[-1:])

    def flush(self) -> None:
        """Emit the breaks seen since the last flush; one that was emitted before only if its frame is now skipped."""
        for found in self.pending.values():
            found.explained = found.at in self.explained
            if (*found.key, True) in self.emitted or (*found.key, found.frame_skipped) in self.emitted:
                continue
            self.emitted.add((*found.key, found.frame_skipped))
            self.sink.emit(found.event(self.sink.step))
        self.pending.clear()
        self.of_compile.clear()

    def _started(self, frame_id: object, file: str, line: int, function: str) -> None:
        self.frames[frame_id] = _frames([(file, line, function)])[0]

    def _break(self, found: GraphBreak, compile_id: tuple[object, object]) -> None:
        known = self.pending.setdefault(found.key, found)
        known.frame_skipped |= found.frame_skipped
        known.in_loop |= found.in_loop
        self.of_compile.setdefault(compile_id, []).append(known)

    def _recompile(self, reasons: list[str], compile_id: tuple[object, object]) -> None:
        frame = self.frames.get(compile_id[0], _NOWHERE)
        parsed = [parse_guard(reason) for reason in reasons]
        guards = [guard for guard, _ in parsed]
        self.guards[compile_id[0]] = guards
        places = next((frames for _, frames in parsed if frames), ())
        self._emit_recompile("recompile", guards[0] if guards else "", self._whole(places, frame), frame, guards)

    def _compiled(self, metrics: dict[str, object], compile_id: tuple[object, object]) -> None:
        file, line, function = (metrics.get(key) for key in ("co_filename", "co_firstlineno", "co_name"))
        if isinstance(file, str) and isinstance(line, int):
            self._started(compile_id[0], file, line, str(function))
        failure = metrics.get("fail_type")
        if failure is None:
            return
        reason = str(metrics.get("fail_reason") or "")
        if ("recompile" in reason and "limit" in reason) or "cache_size_limit" in reason:
            self._limit(reason, compile_id[0])
        elif compile_id in self.of_compile:
            if metrics.get("has_guarded_code") is False:
                for found in self.of_compile[compile_id]:
                    found.frame_skipped = True
                    found.skipped = found.skipped or self.frames.get(compile_id[0], _NOWHERE).definition
        elif failure == "Unsupported":
            self._break(self._silent_break(metrics, reason, compile_id[0]), compile_id)
        elif private.is_dynamo_error(str(failure)):
            frame = self.frames.get(compile_id[0], _NOWHERE)
            event = Event(
                "unsupported",
                frame.file,
                frame.line,
                frame.function,
                name=f"{DYNAMO_FAILED}{failure}",
                detail=_first_line(reason),
                step=self.sink.step,
            )
            self.sink.emit(event)

    def _silent_break(self, metrics: dict[str, object], reason: str, frame_id: object) -> GraphBreak:
        """A frame that Dynamo gave up without a graph break record."""
        file, line = metrics.get("fail_user_frame_filename"), metrics.get("fail_user_frame_lineno")
        frame = self.frames.get(frame_id, _NOWHERE)
        if isinstance(file, str) and isinstance(line, int):
            frame = Frame(real_path(file), line, frame.function)
        return _break([frame], *_reason(reason), reason, skipped=True)

    def _limit(self, reason: str, frame_id: object) -> None:
        frame = self.frames.get(frame_id, _NOWHERE)
        name = "accumulated_recompile_limit" if "accumulated" in reason else "recompile_limit"
        self._emit_recompile("recompile_limit", name, (frame,), frame, self.guards.get(frame_id, []))

    def _emit_recompile(self, kind: str, name: str, places: tuple[Frame, ...], frame: Frame, guards: list[str]) -> None:
        where = places[0] if places else frame
        limit = kind == "recompile_limit"
        self.sink.emit(
            Event(
                "recompile_limit" if limit else "recompile",
                where.file,
                where.line,
                where.function,
                name=name,
                detail="runs eagerly from now on where no compiled version fits" if limit else "",
                step=self.sink.step,
                data={"frame": frame.definition, "guards": guards},
                stack=(*map(str, places), *user_stack())[:8],  # from the guard to the call that it failed for
            )
        )

    def _whole(self, places: tuple[Frame, ...], frame: Frame) -> tuple[Frame, ...]:
        """`places` with a shortened path made whole; the recompiled frame itself where no guard names a line."""
        if not places:
            return (frame,)
        known = {other.file for other in self.frames.values()}
        inner = places[0]
        if os.path.isabs(inner.file):
            return places
        whole = next((file for file in known if file.endswith(os.sep + inner.file)), "")
        return (Frame(whole, inner.line, inner.function), *places[1:]) if whole else (frame,)


@contextmanager
def reading_trace_log(sink: EventSink) -> Iterator[TraceLog]:
    """Read the structured trace log inside the block; what is pending is emitted at its end."""
    log = TraceLog(sink)
    with private.structured_trace(log.handle):
        try:
            yield log
        finally:
            log.flush()
