"""Signals that ask the program to end: it says so, and ends at once, as what is under way on disk is undone by the next run.

An exception would not do: C code that calls Python swallows some.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGXCPU") if hasattr(signal, name)]
_interrupted = False


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


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed: what fails since then need not be anybody's fault."""
    return _interrupted


def _end(number: int, frame: FrameType | None) -> NoReturn:
    try:
        os.write(2, f"torchlint was ended by {signal.Signals(number).name}\n".encode())
    finally:
        os._exit(128 + number)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _interrupted
    _interrupted = True
    signal.default_int_handler(number, frame)
