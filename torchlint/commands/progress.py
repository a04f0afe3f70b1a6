"""A bar on the terminal while a long run goes on; nothing in a pipe, nothing in a short one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from typing_extensions import Self

DELAY = 1.0
"""Seconds before the bar shows."""
_EVERY = 0.1
"""Seconds between two drawings."""


class Bar:
    """Call it with how many of how many files are done, and close it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._started = time.monotonic()
        self._drawn = 0.0
        self._shown: tuple[Progress, TaskID] | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._shown is None:
            if not self._stream.isatty() or time.monotonic() - self._started < DELAY:
                return
            # rich costs more to import than most runs take
            from rich.console import Console
            from rich.progress import Progress

            # without a thread that draws: a process with threads can't be forked safely
            progress = Progress(console=Console(file=self._stream), transient=True, auto_refresh=False)
            progress.start()
            self._shown = progress, progress.add_task("Linting", total=total)
        progress, task = self._shown
        progress.update(task, completed=done, total=total)
        if done == total or time.monotonic() - self._drawn >= _EVERY:
            progress.refresh()
            self._drawn = time.monotonic()

    def close(self) -> None:
        """Clear the line."""
        if self._shown is not None:
            self._shown[0].stop()


class Line:
    """One line on the terminal that says how far a long run is; nothing in a pipe."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = 0

    def __enter__(self) -> Self:
        return self

    def __call__(self, text: str) -> None:
        if self._stream.isatty():
            self._stream.write(f"\r{text.ljust(self._shown)}")
            self._stream.flush()
            self._shown = len(text)

    def __exit__(self, *_: object) -> None:
        """Clear it."""
        if self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._stream.flush()
