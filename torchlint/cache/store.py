"""The cache on disk: one file for each kind of run, written whole, checked when read, and never missed when it is gone.

`.torchlint_cache/` hides itself from git (`.gitignore`) and from backups (`CACHEDIR.TAG`). What a file holds is only ever
used by the same torchlint, on the same Python, with the same settings: its name is made of them, and it says so inside.
It is signed, as a directory may come with a repository from anywhere: only what torchlint wrote for this user is believed.
It is JSON all the same: pickle would run it, marshal can be made to crash.
"""

from __future__ import annotations

import os
import stat
import sys

from ..system import state
from ..system.stamp import SIZE, contents, digest, signed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

LIMIT = 256 * 1024 * 1024
"""How many bytes of entries are kept; of more, the oldest go."""
_LONGEST = 4 * LIMIT
"""How many bytes of an entry are read: a longer one was not written by torchlint."""
_MAGIC = b"torchlint cache 2\n"
_MARK = b"torchlint cache "
"""What entries of every version begin with."""
_SUFFIX = ".entry"
_TAG = "CACHEDIR.TAG"
_IGNORE = ".gitignore"
_OWN = {
    _TAG: b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# This folder was made by torchlint. It can be deleted at any time.\n"
    b"# About cache directory tags see https://bford.info/cachedir/\n",
    _IGNORE: b"# Made by torchlint.\n*\n",
}
"""The files beside the entries, and what they say."""


class Cache:
    """The entries below one directory."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def load(self, key: bytes) -> Any:
        """What was saved under the key; None where there is nothing, or nothing whole."""
        body = self.read(key)
        if body is None:
            return None
        import json

        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            return None

    def save(self, key: bytes, entry: Any) -> None:
        """Keep something that JSON can hold. Raises OSError where that is not to be had; what was there stays."""
        import json

        self.write(key, json.dumps(entry, separators=(",", ":")).encode())

    def read(self, key: bytes) -> bytes | None:
        """The bytes that were written under the key; None where they are not there, not whole or not of this user."""
        try:
            data = contents(self._path(key), most=_LONGEST)
            secret = state.key()
        except OSError:
            return None
        start = len(_MAGIC) + 2 * SIZE
        body = data[start:]
        return body if data[:start] == _MAGIC + key + signed(secret, key, body) else None

    def write(self, key: bytes, body: bytes) -> None:
        """Keep some bytes. Raises OSError where that is not to be had; what was there stays."""
        from ..system import atomic

        secret = state.key(make=True)
        if refused := self.refused():
            raise OSError(refused)
        os.makedirs(self.directory, exist_ok=True)
        for name, text in _OWN.items():
            if not os.path.lexists(path := os.path.join(self.directory, name)):
                atomic.put(path, text)
        atomic.put(self._path(key), _MAGIC + key + signed(secret, key, body) + body)
        self._prune()

    def unsigned(self) -> str | None:
        """Why nothing can be signed, and so nothing is kept; None where it can be."""
        try:
            state.key(make=True)
        except OSError as error:
            return error.strerror or str(error)
        return None

    def refused(self) -> str | None:
        """Why torchlint must not keep anything in the directory; None where it may, or where there is none yet."""
        if os.path.islink(self.directory):
            return "it is a link; name the directory that it leads to"
        try:
            names = sorted(os.listdir(self.directory))
        except OSError:
            return None  # it is not there, or will be told when it is written
        if self._is_ours(_TAG):
            return None
        others = [name for name in names if not self._is_ours(name)]
        if not others:
            return None
        return f"it holds other files ({', '.join(others[:3])}{', ...' if len(others) > 3 else ''})"

    def clean(self) -> list[str] | None:
        """Delete what torchlint wrote, and the directory if that was all; the names of the files that are left.

        None where there was nothing. Raises OSError where the directory is not torchlint's, or can't be read or deleted.
        """
        from contextlib import suppress

        try:
            kind = os.lstat(self.directory).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISLNK(kind):
            raise OSError(f"{self.directory} is a link; name the directory that it leads to")
        if not stat.S_ISDIR(kind) or not self._was_written(_TAG):
            raise OSError(f"{self.directory} is no cache of torchlint")
        names = os.listdir(self.directory)
        others = sorted(name for name in names if not self._was_written(name))
        for name in names:
            if name not in _OWN and name not in others:
                os.unlink(os.path.join(self.directory, name))
        if not others:
            for name in reversed(_OWN):  # the tag goes last: what is half deleted can be deleted
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.directory, name))
            os.rmdir(self.directory)
        return others

    def _path(self, key: bytes) -> str:
        return os.path.join(self.directory, key.hex() + _SUFFIX)

    def _is_ours(self, name: str) -> bool:
        """Whether torchlint wrote the file, which is not so for what can't be read."""
        try:
            return self._was_written(name)
        except PermissionError:
            return False

    def _was_written(self, name: str) -> bool:
        """Whether torchlint wrote the file: by its name, and by what it holds. What has just gone is nobody's.

        Raises PermissionError where nobody lets us read it.
        """
        from ..system.atomic import is_temporary

        path = os.path.join(self.directory, name)
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return False
            if name in _OWN:
                return contents(path, most=1024) == _OWN[name]
            if not _is_entry(name):
                return is_temporary(name)
            start = _start(path, len(_MAGIC) + SIZE)
            return not start or (start.startswith(_MARK) and start[len(_MAGIC) :].hex() + _SUFFIX == name)
        except FileNotFoundError:
            return name not in _OWN
        except PermissionError:
            raise
        except OSError:
            return False

    def _prune(self) -> None:
        """Delete the oldest entries above the limit."""
        from contextlib import suppress

        found = []
        for name in os.listdir(self.directory):
            if _is_entry(name):
                path = os.path.join(self.directory, name)
                try:
                    known = os.lstat(path)
                except OSError:
                    continue
                found.append((known.st_mtime, known.st_size, name))
        total = 0
        for _, size, name in sorted(found, reverse=True):
            total += size
            if total > LIMIT and total > size and self._is_ours(name):
                with suppress(OSError):
                    os.unlink(os.path.join(self.directory, name))


def _is_entry(name: str) -> bool:
    stem = name.removesuffix(_SUFFIX)
    return name.endswith(_SUFFIX) and len(stem) == 2 * SIZE and not stem.strip("0123456789abcdef")


def _start(path: str, size: int) -> bytes:
    with open(path, "rb") as file:
        return file.read(size)


def identity() -> bytes:
    """Digest of this torchlint, its libcst and this Python: others may find something else."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return digest(sys.version.encode(), *_distribution(home, "torchlint"), *_distribution(_libcst(), "libcst"))


def _libcst() -> str:
    for folder in sys.path:
        if os.path.isfile(os.path.join(folder, "libcst", "__init__.py")):
            return os.path.join(folder, "libcst")
    from importlib.util import find_spec

    spec = find_spec("libcst")
    return os.path.dirname(spec.origin) if spec is not None and spec.origin else ""


def _distribution(package: str, name: str) -> list[bytes]:
    """The record of an installed package, which holds the hashes of its files; of one that is worked on, the files' stamps."""
    site = os.path.dirname(package)
    for entry in sorted(os.listdir(site or os.curdir)):
        if entry.startswith(f"{name}-") and entry.endswith(".dist-info"):
            try:
                with open(os.path.join(site, entry, "RECORD"), "rb") as file:
                    return [entry.encode(), file.read()]
            except OSError:
                continue
    folders = [package, *(os.path.join(site, folder) for folder in ("rules", "fixers") if name == "torchlint")]
    return sorted(_stamps(folders))


def _stamps(folders: Iterable[str]) -> Iterator[bytes]:
    for folder in folders:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            if entry.name.endswith((".py", ".json", ".html", ".css", ".js")):
                stat = entry.stat()
                yield f"{entry.path} {stat.st_size} {stat.st_mtime_ns}".encode("utf-8", "surrogateescape")
            elif not entry.name.startswith((".", "__")) and entry.is_dir():
                yield from _stamps([entry.path])
