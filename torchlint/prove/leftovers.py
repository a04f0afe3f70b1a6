"""Folders of runs that were killed: each running one holds a lock in its own, so that the next one removes the others."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path

_LOCK = "running"


def claim(folder: Path) -> int:
    """Lock a new folder for as long as this process lives; the descriptor to be closed at its end."""
    descriptor = os.open(folder / f"{_LOCK}.new", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.rename(folder / f"{_LOCK}.new", folder / _LOCK)  # nobody sees it before it is locked
    return descriptor


def remove(parent: Path, prefix: str) -> None:
    """Remove the folders there whose processes are gone; those of other users and whatever has no lock stay."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _remove(Path(entry.path))


def _remove(folder: Path) -> None:
    if folder.stat().st_uid != os.getuid():
        return
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
