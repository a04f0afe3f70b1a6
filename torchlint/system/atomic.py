"""Files that are written whole or not at all, whatever happens to the process that writes them.

A new file is put in the place of the old one in one step, with its owner, mode and attributes. Where that would not be the
same file any more (another name is linked to it, or its owner can't be kept), its bytes are written over, with a backup.
Signals that ask the program to end wait for that. A note outside of the project says what is under way; the next run takes
away what a killed one left, or puts it back.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress

from . import signals, state
from .stamp import SIZE, digest, encoded

try:
    import fcntl
except ImportError:  # of Windows, where a file that is open can't be deleted anyway
    fcntl = None  # type: ignore[assignment]

_DEVICES = ("/dev/", "/proc/")
_PREFIX, _SUFFIX = ".torchlint-", ".tmp"
_BINARY = getattr(os, "O_BINARY", 0)


def put(path: str, data: bytes) -> None:
    """Put a new file in the place of whatever has that name, be it a link. Raises OSError."""
    with signals.held():
        _replace(path, data, None, lambda: None)


def write(path: str, data: bytes, *, ready: Callable[[], None] = lambda: None) -> None:
    """Make this what a file holds; it stays the same file to everybody else, and a link keeps pointing to it.

    `ready` is called just before the file is touched, and may raise. Raises OSError; the file is then as it was.
    """
    try:
        before = os.stat(path)
    except FileNotFoundError:
        before = None
    if before is not None and (not stat.S_ISREG(before.st_mode) or os.path.abspath(path).startswith(_DEVICES)):
        with open(path, "wb") as file:  # a device, a pipe or a stream, which have no place to be put in
            file.write(data)
        return
    path = os.path.realpath(path)
    with signals.held():
        if (before is not None and before.st_nlink > 1) or not _replace(path, data, before, ready):
            _overwrite(path, data, ready)


def sweep() -> None:
    """Take away what killed processes left, and put back what they were writing over."""
    for note in state.unfinished():
        with suppress(OSError, ValueError), open(note, "rb") as file:
            if _abandoned(file.fileno()):
                _undo(file.read())
                os.unlink(note)


def is_temporary(name: str) -> bool:
    """Whether a file of that name is one that is about to be put in the place of another."""
    middle = name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    return name == f"{_PREFIX}{middle}{_SUFFIX}" and len(middle) == 16 and not middle.strip("0123456789abcdef")


def _replace(path: str, data: bytes, before: os.stat_result | None, ready: Callable[[], None]) -> bool:
    """Put a new file in the place of the old one; False where it would not be like the old one."""
    temporary = os.path.join(os.path.dirname(path), f"{_PREFIX}{os.urandom(8).hex()}{_SUFFIX}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
    note = _Note(temporary)
    try:
        try:
            descriptor = os.open(temporary, flags, 0o666 if before is None else 0o600)
        except PermissionError:  # the file may be written, its directory may not
            if before is None:
                raise
            return False
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if before is not None:
                if not _alike(descriptor, path, before):
                    return False
                os.fsync(descriptor)  # a loss of power must not cost both
        ready()
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        note.done()
    return True


def _alike(descriptor: int, path: str, before: os.stat_result) -> bool:
    """Give a new file the owner, mode and attributes of the old one; whether all of that could be done."""
    if os.name == "nt":
        return True
    now = os.fstat(descriptor)
    try:
        if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
            os.fchown(descriptor, before.st_uid, before.st_gid)
        if hasattr(os, "listxattr"):
            wanted, known = _attributes(path), _attributes(descriptor)
            for name in known.keys() - wanted:
                os.removexattr(descriptor, name)
            for name, value in wanted.items() - known.items():
                os.setxattr(descriptor, name, value)
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
    except OSError:
        return False
    return True


def _attributes(file: str | int) -> dict[str, bytes]:
    """What is attached to a file; nothing where the file system has no such thing."""
    try:
        names = os.listxattr(file)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENOSYS):
            return {}
        raise
    return {name: os.getxattr(file, name) for name in names}


def _overwrite(path: str, data: bytes, ready: Callable[[], None]) -> None:
    """Write over the bytes of a file; they are put back where that fails."""
    with open(path, "r+b", buffering=0) as file:
        before = file.read()
        note = _Note(path, before, data)
        try:
            ready()
        except BaseException:
            note.done()
            raise
        try:
            _fill(file.fileno(), data)
        except BaseException:
            _fill(file.fileno(), before)  # where not even that can be done, the note stays for the next run
            note.done()
            raise
        note.done()


def _fill(descriptor: int, data: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


# Notes


class _Note:
    """Says that a file is made, or that one that held `before` is written over by `after`; locked by who does that."""

    def __init__(self, path: str, before: bytes | None = None, after: bytes = b"") -> None:
        self._path: str | None = None
        self._descriptor: int | None = None
        try:
            self._write(path, before, after)
        except OSError as error:
            self.done()
            if before is not None:
                reason = error.strerror or error
                raise OSError(f"it has other names or another owner, and no backup can be made ({reason})") from None

    def _write(self, path: str, before: bytes | None, after: bytes) -> None:
        where = os.path.join(state.made(), state.UNFINISHED)
        os.makedirs(where, 0o700, exist_ok=True)
        self._path = os.path.join(where, os.urandom(8).hex())
        self._descriptor = descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.name != "nt" and not os.fstat(descriptor).st_nlink:
            raise OSError("another process has just swept it away")
        name = encoded(os.path.abspath(path))
        head = b"%d %d\n" % (len(name), -1 if before is None else len(before))
        body = b"".join((head, name, before or b"", after))
        with open(descriptor, "wb", closefd=False) as file:
            file.write(digest(body) + body)
        if before is not None:
            os.fsync(descriptor)

    def done(self) -> None:
        """There is nothing left to undo."""
        path, descriptor = self._path, self._descriptor
        if descriptor is not None:
            os.close(descriptor)
        if path is not None:
            with suppress(OSError):
                os.unlink(path)
        self._path = self._descriptor = None


def _abandoned(descriptor: int) -> bool:
    """Whether the process that wrote a note has ended."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _undo(note: bytes) -> None:
    """Undo what a note says. Of one that is not whole, nothing was begun. Raises OSError."""
    body = note[SIZE:]
    if digest(body) != note[:SIZE]:
        return
    head, _, rest = body.partition(b"\n")
    name, before = map(int, head.split(b" "))
    path = os.fsdecode(rest[:name])
    if before < 0:
        if is_temporary(os.path.basename(path)):
            with suppress(FileNotFoundError):
                os.unlink(path)
        return
    old, new = rest[name : name + before], rest[name + before :]
    with suppress(FileNotFoundError), open(path, "r+b", buffering=0) as file:
        if _is_torn(file.read(), old, new):
            _fill(file.fileno(), old)


def _is_torn(now: bytes, old: bytes, new: bytes) -> bool:
    """Whether a file holds the start of what was to be written, and behind it what was there before."""
    if now in (old, new):
        return False
    pairs = enumerate(zip(now, new, strict=False))
    same = next((at for at, (one, other) in pairs if one != other), min(len(now), len(new)))
    return now[same:] == old[same:]
