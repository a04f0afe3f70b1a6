"""Signals that ask the program to end: it says so, and ends as soon as no file is half made.

What a signal that nobody can catch leaves on disk is undone by the next run. An exception would not do: C code that calls
Python swallows some.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGXCPU") if hasattr(signal, name)]
_interrupted = False
_holders: list[object] = []
"""Who has a file half made."""
_waiting: list[int] = []
"""The signals that came meanwhile."""


def catch() -> None:
    """End at these signals with a sentence, unless they are to be ignored (`nohup`)."""
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def leave() -> None:
    """Let signals end this process as they would any other: it is one of several, and has nothing to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for number in _ENDING:
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def held() -> Iterator[None]:
    """A signal that comes meanwhile takes effect afterwards: for what takes a moment, such as putting a file in its place."""
    holder = object()
    _holders.append(holder)
    try:
        yield
    finally:
        _holders.remove(holder)
        if _waiting and not _holders:
            number = _waiting[0]
            _waiting.clear()
            signal.raise_signal(number)


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed: what fails since then need not be anybody's fault."""
    return _interrupted


def _end(number: int, frame: FrameType | None) -> None:
    if _holders:
        _waiting.append(number)
        return
    try:
        os.write(2, f"torchlint was ended by {signal.Signals(number).name}\n".encode())
    finally:
        os._exit(128 + number)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _interrupted
    _interrupted = True
    if _holders:
        _waiting.append(number)
        return
    signal.default_int_handler(number, frame)
