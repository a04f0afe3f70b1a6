"""Reads Chrome traces as torch.profiler writes them, event by event: a file may be larger than the memory.

Such files come from other machines, and may be cut off, huge or something else altogether: whatever is wrong with one
is told in a sentence.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from math import isfinite
from typing import IO, Any, NamedTuple

from ..system.failure import Failure

_CHUNK = 1 << 20  # characters read at once
_LARGEST = 1 << 24  # characters of one event or other value
_MOST = 3_000_000  # events kept, at some 500 bytes each
_GZIP = b"\x1f\x8b"
_SPACE = re.compile(r"[ \t\r\n]*")
_CATEGORIES = {
    "operator": "cpu_op",
    "runtime": "cuda_runtime",
    "cuda_driver": "cuda_runtime",
    "kernel": "kernel",
    "memcpy": "gpu_memcpy",
    "memset": "gpu_memset",
}
"""Those of older torch versions, and of what counts as the same here."""
KINDS = frozenset(
    {"cpu_op", "python_function", "user_annotation", "cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset"}
)
_decoder = json.JSONDecoder(strict=False)


class Span(NamedTuple):
    """Something that took time: from `start` to `end`, in seconds since the first, on a thread or a stream."""

    kind: str
    name: str
    thread: str
    start: float
    end: float
    correlation: int
    """What a call of the runtime and what it started on the GPU have in common; 0 where there is none."""
    bytes: int


class Recording(NamedTuple):
    """What a file holds."""

    spans: list[Span]
    device: str
    """The GPU, "" if it was none or is not told."""


def read(path: str) -> Recording:
    """What a trace tells, plain or compressed. Failure for a file that is no such trace, or not a whole one."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            return _recording(path, gzip.GzipFile(fileobj=file) if packed else file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Failure(f"{path}: the compressed file is damaged or cut off") from error
    except OSError as error:
        raise Failure(f"{path}: {error.strerror or error}") from error


def _recording(path: str, data: gzip.GzipFile | io.BufferedReader) -> Recording:
    spans: list[Span] = []
    device = ""
    text = _Text(path, io.TextIOWrapper(data, "utf-8", "replace"))
    for key, value in text.members():
        if key == "deviceProperties":
            device = _device(value)
        elif key is None and (span := _span(value)) is not None:
            if len(spans) == _MOST:
                raise Failure(f"{path}: more than {_MOST:,} events; profile fewer steps")
            spans.append(span)
    if not text.any:
        raise Failure(f"{path}: no Chrome trace of torch.profiler: it holds no traceEvents")
    if not spans:
        raise Failure(f"{path}: the trace holds no events; did the profiled block run, and did prof.step() come often?")
    first = min(span.start for span in spans)
    return Recording([span._replace(start=span.start - first, end=span.end - first) for span in spans], device)


def _device(value: object) -> str:
    """The first GPU that is told: a process uses one as a rule."""
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            return str(one["name"])[:80]
    return ""


def _span(event: object) -> Span | None:
    if not isinstance(event, dict) or event.get("ph") != "X" or not isinstance(event.get("name"), str):
        return None
    category = str(event.get("cat", "")).lower()
    kind = _CATEGORIES.get(category, category)
    start, duration = _number(event.get("ts")), _number(event.get("dur", 0))
    if kind not in KINDS or start is None or duration is None or duration < 0:
        return None
    known = event.get("args")
    args = known if isinstance(known, dict) else {}
    correlation, size = _number(args.get("correlation", 0)), _number(args.get("bytes", 0))
    return Span(
        kind,
        event["name"],
        f"{event.get('pid')}/{event.get('tid')}",
        start / 1e6,
        (start + duration) / 1e6,
        int(correlation or 0),
        int(size or 0),
    )


def _number(value: object) -> float | None:
    """A number that can be reckoned with; older versions wrote times as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            found = float(value)
        except OverflowError:
            return None
        return found if isfinite(found) else None
    return None


class _Text:
    """A JSON document that is read piece by piece."""

    def __init__(self, path: str, file: IO[str]) -> None:
        self._path, self._file = path, file
        self._text = ""
        self._at = 0
        self._ended = False
        self.any = False
        """Whether a list of events was found."""

    def members(self) -> Iterator[tuple[str | None, Any]]:
        """The values of the outermost object by name, and each event of `traceEvents` under None."""
        opened = self._peek()
        if opened == "[":
            yield from self._events()
            return
        if opened != "{":
            raise Failure(f"{self._path}: no Chrome trace: it is not JSON")
        self._at += 1
        while self._peek() != "}":
            key = self._value()
            if not isinstance(key, str) or self._peek() != ":":
                raise self._broken()
            self._at += 1
            if key == "traceEvents" and self._peek() == "[":
                yield from self._events()
            else:
                yield key, self._value()
            self._comma("}")

    def _events(self) -> Iterator[tuple[None, Any]]:
        self.any = True
        self._at += 1
        while self._peek() != "]":
            yield None, self._value()
            self._comma("]")
        self._at += 1

    def _comma(self, end: str) -> None:
        if (found := self._peek()) == ",":
            self._at += 1
        elif found != end:
            raise self._broken()

    def _peek(self) -> str:
        """The next character that is no space."""
        while True:
            self._at = self._space()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                raise self._broken()

    def _space(self) -> int:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        return found.end()

    def _value(self) -> Any:
        """The value that begins here; more is read until it is whole."""
        self._peek()
        while True:
            try:
                value, end = _decoder.raw_decode(self._text, self._at)
            except RecursionError:
                raise Failure(f"{self._path}: no Chrome trace of torch.profiler: it is nested too deeply") from None
            except ValueError:
                if self._ended or len(self._text) - self._at > _LARGEST:
                    raise self._broken() from None
            else:
                if end < len(self._text) or self._ended:  # a number at the end may go on in the next piece
                    self._at = end
                    return value
            self._more()

    def _more(self) -> bool:
        """Read the next piece; whether there was one. A long value is read in pieces that grow with it."""
        kept = self._text[self._at :]
        new = self._file.read(max(_CHUNK, len(kept)))
        self._text, self._at = kept + new, 0
        self._ended = not new
        return bool(new)

    def _broken(self) -> Failure:
        if self._ended:
            return Failure(f"{self._path}: the trace is cut off: it ends within its events or before them")
        near = self._text[self._at : self._at + 40]
        return Failure(f"{self._path}: no valid JSON near {near!r}")
