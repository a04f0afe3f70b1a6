"""What went wrong in a run that went on."""

from __future__ import annotations

import os
from typing import NamedTuple

from .signals import was_interrupted


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


def fault(part: str, error: Exception, path: str, line: int = 0) -> FileError:
    """What is told of an exception in a part of torchlint while it looked at a place. Raises what nobody is to blame for."""
    if isinstance(error, MemoryError):
        raise error  # the next part would fail as well: it ends the run
    if was_interrupted():
        raise KeyboardInterrupt from error
    text = " ".join(str(error).split())
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return FileError(path, f"{part} failed: {what}{_raised(error)}", line, is_bug=True)


def _raised(error: Exception) -> str:
    """Where an exception was raised, as its traceback ends: `(facts/guards.py:97 in _test)`."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    if not frames:
        return ""
    file = frames[0].filename.removeprefix(os.path.join(os.path.dirname(os.path.dirname(__file__)), ""))
    return f" ({file}:{frames[0].lineno} in {frames[0].name})"
