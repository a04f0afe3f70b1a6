"""Linting again and again while files change (extra `watch`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable
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
        from watchfiles import Change, DefaultFilter
        from watchfiles import watch as changes
    except ImportError:
        from ..system import install

        raise Failure(f"watchfiles is not installed; it comes with: {install.command('watch', 'watchfiles')}") from None
    default = DefaultFilter()
    code = None
    try:
        folders = _folders(list(paths))
        code_in = _CodeIn(folders, default.ignore_dirs)
        events = changes(
            *folders, watch_filter=lambda change, path: code_in.matters(path, new=change is Change.added) and default(change, path), yield_on_timeout=True, rust_timeout=_WAIT
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


class _CodeIn:
    """The folders that hold code: one that is renamed or moved says so itself, and its files say nothing."""

    def __init__(self, folders: Iterable[Path], ignored: Collection[str]) -> None:
        self._ignored = ignored
        self._known: set[str] = set()
        for folder in folders:
            self._look(os.fspath(folder))

    def matters(self, path: str, *, new: bool) -> bool:
        """Whether a change there may be one of the code: of a file, or of a folder that comes with some or has held some."""
        if os.path.isdir(path):
            return new and self._look(path)
        if path.endswith(discover.SUFFIXES):
            self._add(os.path.dirname(path))
            return True
        return path in self._known or os.path.basename(path) in (*config.FILES, ".gitignore")

    def _look(self, folder: str) -> bool:
        """Look for code in a folder and all below it; whether there is some."""
        found = False
        for inner, folders, files in os.walk(folder):
            folders[:] = [name for name in folders if name not in self._ignored]
            if any(name.endswith(discover.SUFFIXES) for name in files):
                self._add(inner)
                found = True
        return found

    def _add(self, folder: str) -> None:
        while folder not in self._known:
            self._known.add(folder)
            folder = os.path.dirname(folder)
