"""What went wrong in a run that went on."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from .signals import was_interrupted

T = TypeVar("T")


class FileError(NamedTuple):
    """A file that could not be linted, or a part of torchlint that failed on it; the rest of the run went on."""

    path: str
    message: str
    line: int = 0
    """The line that it is about; 0 for the whole file."""
    is_bug: bool = False
    """Whether torchlint is to blame, which people may want to report."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


class Passing(BaseException):
    """What passes all code on its way to who asked; nobody's fault, and no end of the program."""


class EndedError(Exception):
    """What was to end the program, such as `sys.exit()`, raised by code that has no business to."""


def contained(call: Callable[[], T]) -> T:
    """What code of others gives. What it raises is an Exception, whatever it was, but for Ctrl-C and what only passes it."""
    try:
        return call()
    except (Exception, KeyboardInterrupt, Passing):
        raise
    except BaseException as error:
        text = str(error)
        what = f"{type(error).__name__}: {text}" if text else type(error).__name__
        raise EndedError(what).with_traceback(error.__traceback__) from error


def fault(part: str, error: Exception, path: str, line: int = 0) -> FileError:
    """What is told of an exception in a part of torchlint while it looked at a place. Raises what nobody is to blame for."""
    if isinstance(error, MemoryError):
        raise error  # the next part would fail as well: it ends the run
    if was_interrupted():
        raise KeyboardInterrupt from error
    text = " ".join(str(error).split())
    name = "" if isinstance(error, EndedError) else type(error).__name__
    what = f"{name}: {text}" if name and text else name or text
    return FileError(path, f"{part} failed: {what}{_raised(error)}", line, is_bug=True)


def _raised(error: Exception) -> str:
    """Where an exception was raised, as its traceback ends: `(facts/guards.py:97 in _test)`."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    if not frames:
        return ""
    file = frames[0].filename.removeprefix(os.path.join(os.path.dirname(os.path.dirname(__file__)), ""))
    return f" ({file}:{frames[0].lineno} in {frames[0].name})"
