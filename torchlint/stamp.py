"""Whether files and directories are as they were, asked as cheaply as it can be answered exactly.

The first thing that a cached run imports: nothing here may import more than the interpreter has loaded already.
"""

from __future__ import annotations

import os
import time

try:
    from _blake2 import blake2b  # what hashlib gives, without OpenSSL, whose import costs more than a cached run
except ImportError:  # a Python built without its own hashes
    from hashlib import blake2b

CACHE = ".torchlint_cache"
"""The directory of the cache, below the project's."""
YOUNG = 2_000_000_000
"""How many nanoseconds after the last change a stamp is trusted: longer than any file system's clock ticks."""
_MANIFESTS = ("pyproject.toml", "requirements", "setup.", "environment")
SIZE = 16
"""Bytes of a digest."""


def digest(*parts: bytes) -> bytes:
    """What stands for some bytes, in their order and with their borders."""
    hashed = blake2b(digest_size=SIZE)
    for part in parts:
        hashed.update(b"%d:" % len(part))
        hashed.update(part)
    return hashed.digest()


def encoded(text: str) -> bytes:
    """Text that may hold the name of any file, as bytes."""
    return text.encode("utf-8", "surrogatepass" if os.name == "nt" else "surrogateescape")


def stamp(path: str) -> str:
    """What changes whenever a file changes, or a directory's list of names: size, times and inode. Raises OSError."""
    stat = os.stat(path)
    return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}"


def lasting(path: str) -> str:
    """The stamp; "" where the last change is so young that the next one may not move it. Raises OSError."""
    now = time.time_ns()
    stat = os.stat(path)
    if max(stat.st_mtime_ns, stat.st_ctime_ns) >= now - YOUNG:
        return ""
    return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}"


def content(path: str) -> str:
    """What stands for the bytes of a file. Raises OSError."""
    with open(path, "rb") as file:
        return digest(file.read()).hex()


def names(path: str) -> str:
    """What stands for the names in a directory and their kinds, less the cache. Raises OSError."""
    with os.scandir(path) as entries:
        found = [
            f"{entry.name}/{entry.is_dir(follow_symlinks=False):d}{entry.is_symlink():d}"
            for entry in entries
            if entry.name != CACHE
        ]
    return digest(*map(encoded, sorted(found))).hex()


def manifests(directory: str) -> list[str]:
    """The names in a directory that files may have which say what torch a project is for."""
    found = _listed(directory)
    if "requirements" in found:
        found += [f"requirements/{name}" for name in _listed(os.path.join(directory, "requirements"))]
    return [name for name in found if name.startswith(_MANIFESTS)]


def _listed(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []
