"""The cache on disk: one file for each kind of run, written whole, checked when read, and never missed when it is gone.

`.torchlint_cache/` hides itself from git (`.gitignore`) and from backups (`CACHEDIR.TAG`). What a file holds is only ever
used by the same torchlint, on the same Python, with the same settings: its name is made of them, and it says so inside.
It is JSON, as a directory may come with a repository from anywhere: pickle would run it, marshal can be made to crash.
"""

from __future__ import annotations

import os
import sys

from .stamp import SIZE, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

LIMIT = 64 * 1024 * 1024
"""How many bytes of entries are kept; of more, the oldest go."""
HOUR = 3600.0
"""How many seconds nobody needs to write an entry."""
_MAGIC = b"torchlint cache 1\n"
_SUFFIX = ".entry"
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder was made by torchlint. It can be deleted at any time.\n"
    "# About cache directory tags see https://bford.info/cachedir/\n"
)


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
        """The bytes that were written under the key; None where they are not there, or not whole."""
        try:
            with open(self._path(key), "rb") as file:
                data = file.read()
        except OSError:
            return None
        start = len(_MAGIC) + 2 * SIZE
        body = data[start:]
        return body if data[:start] == _MAGIC + key + digest(body) else None

    def write(self, key: bytes, body: bytes) -> None:
        """Keep some bytes. Raises OSError where that is not to be had; what was there stays."""
        self._prepare()
        path = self._path(key)
        temporary = f"{path}.{os.getpid()}"
        try:
            with open(temporary, "wb") as file:
                file.write(_MAGIC + key + digest(body) + body)
            os.replace(temporary, path)
        except OSError:
            _remove(temporary)
            raise
        self._prune()

    def clean(self) -> bool:
        """Delete the directory; whether there was one. Raises OSError where it is not torchlint's or can't be deleted."""
        if not os.path.isdir(self.directory):
            return False
        if not os.path.isfile(os.path.join(self.directory, "CACHEDIR.TAG")):
            raise OSError(f"{self.directory} is no cache of torchlint")
        for name in os.listdir(self.directory):
            os.unlink(os.path.join(self.directory, name))
        os.rmdir(self.directory)
        return True

    def _path(self, key: bytes) -> str:
        return os.path.join(self.directory, key.hex() + _SUFFIX)

    def _prepare(self) -> None:
        if os.path.isfile(os.path.join(self.directory, "CACHEDIR.TAG")):
            return
        os.makedirs(self.directory, exist_ok=True)
        for name, text in ((".gitignore", "# Made by torchlint.\n*\n"), ("CACHEDIR.TAG", _TAG)):
            with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
                file.write(text)

    def _prune(self) -> None:
        """Delete the oldest entries above the limit, and what writers that were killed left behind."""
        found = []
        for name in os.listdir(self.directory):
            path = os.path.join(self.directory, name)
            try:
                stat = os.stat(path)
            except OSError:
                continue
            found.append((stat.st_mtime, stat.st_size, path))
        newest, total = max(found, default=(0.0, 0, ""))[0], 0
        for modified, size, path in sorted(found, reverse=True):
            kept = path.endswith(_SUFFIX)
            total += size if kept else 0
            if (kept and total > LIMIT and total > size) or (_SUFFIX in path and not kept and modified < newest - HOUR):
                _remove(path)


def _remove(path: str) -> None:
    """Delete a file, if it can be."""
    from contextlib import suppress

    with suppress(OSError):
        os.unlink(path)


def identity() -> bytes:
    """What stands for this torchlint, its libcst and this Python: what one of them found, another one need not find."""
    home = os.path.dirname(os.path.abspath(__file__))
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
            if entry.name.endswith((".py", ".json")):
                stat = entry.stat()
                yield f"{entry.path} {stat.st_size} {stat.st_mtime_ns}".encode("utf-8", "surrogateescape")
            elif not entry.name.startswith((".", "__")) and entry.is_dir():
                yield from _stamps([entry.path])
