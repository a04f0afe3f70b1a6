"""Keeps a program's writes in its copy: an audit hook refuses the others by name, and the kernel where it can."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable

from torchlint.runner import landlock

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DEVICES = "/dev"
_CACHES = (".cache", ".config", ".triton", ".nv", ".torch", ".matplotlib", ".local", ".keras", ".ipython")
_FORKS = frozenset({"os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen", "os.exec", "os.system"})


class Sandbox:
    """Where a program may write: beneath `top`, the copy, and the folders `writable`.

    The copy holds links to what was too big to copy. A link that is written through is replaced by a copy of its target
    first, so that the program finds what it expects and the original stays as it is.
    """

    def __init__(self, top: str, writable: Iterable[str]) -> None:
        self.outside: list[str] = []
        """What the program wanted to write outside, caches in the home directory left out."""
        self.forks = 0
        self._top = os.path.realpath(top)
        self._writable = [os.path.realpath(path) for path in writable]
        home = os.path.realpath(os.path.expanduser("~"))
        self._caches = [os.path.join(home, name) for name in _CACHES]
        self._caches += [os.path.realpath(path) for key in ("XDG_CACHE_HOME", "HF_HOME") if (path := os.getenv(key))]
        self._at_work = threading.local()

    def enter(self) -> None:
        """From now on; there is no way back in this process."""
        if landlock.available():
            with contextlib.suppress(OSError):
                landlock.restrict([self._top, *self._writable, _DEVICES])
        sys.addaudithook(self._audit)

    def check(self, path: object) -> None:
        """Raise PermissionError for a place that may not be written to, and note it."""
        if not isinstance(path, str | bytes | os.PathLike):
            return  # an open file
        name = os.path.abspath(os.fsdecode(path))
        real = os.path.realpath(name)
        if self._inside(real):
            return
        if _beneath(name, self._top):  # it leads out of the copy through one of its links
            self._unlink(name)
            if self._inside(os.path.realpath(name)):
                return
        if not any(_beneath(real, cache) for cache in self._caches) and name not in self.outside:
            self.outside.append(name)
        raise PermissionError(errno.EACCES, "torchlint lets this run write into its copy only", name)

    def _inside(self, real: str) -> bool:
        return any(_beneath(real, folder) for folder in (self._top, _DEVICES, *self._writable))

    def _unlink(self, name: str) -> None:
        """Replace the links on the way to a place in the copy by what they stand for."""
        at = self._top
        for part in os.path.relpath(name, self._top).split(os.sep):
            at = os.path.join(at, part)
            if not os.path.islink(at):
                continue
            target = os.path.realpath(at)
            os.unlink(at)
            if os.path.isdir(target):
                os.mkdir(at)
                for entry in os.listdir(target):
                    os.symlink(os.path.join(target, entry), os.path.join(at, entry))
            elif os.path.exists(target):
                shutil.copy2(target, at)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in _FORKS:
            self.forks += 1
            return
        watched = _EVENTS.get(event)
        if watched is None or getattr(self._at_work, "now", False):
            return
        self._at_work.now = True  # what the check itself does is not the program's
        try:
            for path in watched(arguments):
                self.check(path)
        finally:
            self._at_work.now = False


def _beneath(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _opened(arguments: tuple[object, ...]) -> list[object]:
    path, mode, flags = arguments
    writes = set("wax+") & set(mode) if isinstance(mode, str) else isinstance(flags, int) and flags & _WRITING
    return [path] if writes else []


def _given(path: object, folder: object = -1) -> object:
    """The path, made whole where it is given from an open folder; None where that folder is not to be found."""
    if folder in (-1, None) or not isinstance(path, str | bytes | os.PathLike):
        return path
    with contextlib.suppress(OSError):
        return os.path.join(os.readlink(f"/proc/self/fd/{folder}"), os.fsdecode(path))
    return None


def _is(path: object) -> bool:
    return isinstance(path, str | bytes | os.PathLike) and os.path.lexists(path)


def _existing(arguments: tuple[object, ...]) -> list[object]:
    """The first argument, if it is there: else the system itself will say that it isn't."""
    path = _given(arguments[0], arguments[-1] if len(arguments) > 1 else -1)
    return [path] if _is(path) else []


def _made(arguments: tuple[object, ...]) -> list[object]:
    path = _given(arguments[0], arguments[-1] if len(arguments) > 1 else -1)
    return [] if _is(path) else [path]


def _moved(arguments: tuple[object, ...]) -> list[object]:
    source, target, source_folder, target_folder = arguments
    return [path for path in (_given(source, source_folder),) if _is(path)] + [_given(target, target_folder)]


def _linked(arguments: tuple[object, ...]) -> list[object]:
    return [_given(arguments[1], arguments[-1])]


def _named(arguments: tuple[object, ...]) -> list[object]:
    return [arguments[0]] if _is(arguments[0]) else []


def _database(arguments: tuple[object, ...]) -> list[object]:
    name = arguments[0]
    return [] if _is(name) or name in (":memory:", "") or str(name).startswith("file:") else [name]


_EVENTS: dict[str, Callable[[tuple[object, ...]], list[object]]] = {
    "open": _opened,
    "os.remove": _existing,
    "os.rmdir": _existing,
    "os.mkdir": _made,
    "os.truncate": _named,
    "os.chmod": _named,
    "os.chown": _named,
    "os.utime": _named,
    "os.rename": _moved,
    "os.link": _linked,
    "os.symlink": _linked,
    "shutil.rmtree": _named,
    "sqlite3.connect": _database,
}
