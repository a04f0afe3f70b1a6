"""The standard streams: one may be closed, full, or a pipe that nobody reads any more.

It is imported before a run is printed again, so nothing here may import more than the interpreter has loaded already.
"""

from __future__ import annotations

import errno
import io
import os
import sys

from .failure import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, TextIO


class Closed(io.TextIOBase):
    """Stands for a stream that was closed when the program began; to write to it is an error, as for any other."""

    @property
    def buffer(self) -> NoReturn:
        self.write("")

    def write(self, text: str) -> NoReturn:
        raise Failure("standard output is closed")


def prepare() -> None:
    """Make the streams such that they can be written to, or tell why not."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        while os.open(os.devnull, os.O_RDWR) < 2:  # a file that is opened later must not be taken for one of them
            pass
        if sys.stderr is None:
            sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - it stays open to the end
        if sys.stdout is None:
            sys.stdout = Closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # characters that the terminal's encoding lacks are no reason to stop
            stream.reconfigure(errors="backslashreplace")


def write(stream: TextIO, text: str | bytes) -> None:
    """Write and flush. Nobody reading any more is no error: the exit code still says what was found.

    Raises Failure where it can't be written; the stream then takes what is left in it to nowhere.
    """
    try:
        put(stream, text)
        stream.flush()
    except BrokenPipeError:
        _drop(stream)
    except OSError as error:
        _drop(stream)
        name = "standard error" if stream is sys.stderr else "standard output"
        raise Failure(f"{name} can't be written: {error.strerror or error}") from None


def put(stream: TextIO, text: str | bytes) -> None:
    """Write all of it. A stream without a buffer (`python -u`) may write a part only, and says nothing of the rest."""
    if isinstance(text, bytes):
        stream.flush()
    elif isinstance(stream, io.TextIOWrapper) and isinstance(stream.buffer, io.RawIOBase):
        text = text.encode(stream.encoding, stream.errors or "strict")
    else:
        stream.write(text)
        return
    rest = memoryview(text)
    while rest:
        written = stream.buffer.write(rest)
        if not written:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        rest = rest[written:]


def say(text: str) -> None:
    """Say something on stderr, if anybody can hear it."""
    if sys.stderr is not None:
        try:
            print(text, file=sys.stderr, flush=True)
        except OSError:
            _drop(sys.stderr)


def finish(code: int) -> int:
    """Write what is left in the streams; the exit code, which is that of a failure where it can't be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            _drop(stream)
        except (OSError, ValueError) as error:
            _drop(stream)
            say(f"torchlint failed\n  Cause: its output can't be written: {error}")
            code = 2
    return code


def _drop(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
