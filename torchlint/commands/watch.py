"""Linting again and again while files change (extra `watch`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from ..settings import config, discover
from ..settings.home import around, project_root
from ..system import streams
from ..system.failure import Failure
from ..system.printable import several_lines

_WAIT = 300
"""Milliseconds: how often the watcher says that nothing happened. The first time starts the first run, so that what
is saved during that run is seen."""
_CLEAR = "\x1b[2J\x1b[H"


def watch(paths: Iterable[str], once: Callable[[], int], *, clear: bool) -> int:
    """Call `once` now and after each change of a Python file or of a configuration at or around the paths.

    Ends when interrupted, with the last exit code. A Failure is printed, and waited for to be repaired.
    """
    try:
        from watchfiles import DefaultFilter
        from watchfiles import watch as changes
    except ImportError:
        from ..system import install

        raise Failure(f"watchfiles is not installed; it comes with: {install.command('watch', 'watchfiles')}") from None
    default = DefaultFilter()
    code = None
    try:
        folders = _folders(list(paths))
        events = changes(
            *folders, watch_filter=lambda change, path: _matters(path) and default(change, path), yield_on_timeout=True, rust_timeout=_WAIT
        )  # fmt: skip
        for changed in events:
            if changed or code is None:
                code = _run(once, clear=clear)
                print("Watching for changes; Ctrl+C ends.", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        pass
    return code or 0


def _run(once: Callable[[], int], *, clear: bool) -> int:
    if clear:
        sys.stdout.write(_CLEAR)
    try:
        return once()
    except Failure as failure:
        streams.say(f"torchlint failed\n  Cause: {several_lines(str(failure))}")
        return 2


def _folders(paths: list[str]) -> list[Path]:
    """The folders of the paths, and the project's: what it holds decides with, though it isn't linted."""
    for path in paths:
        if not os.path.exists(path):
            raise Failure(f"{path}: No such file or directory")
    found = {Path(path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))).absolute() for path in paths}
    root = project_root(around(paths))
    return sorted(found | ({root} if root else set()))


def _matters(path: str) -> bool:
    return path.endswith(discover.SUFFIXES) or os.path.basename(path) in (*config.FILES, ".gitignore")
