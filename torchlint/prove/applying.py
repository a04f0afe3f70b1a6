"""Writing what was optimized into the user's tree, and taking it back: all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from torchlint.system import atomic
from torchlint.system.failure import Failure

Contents = Mapping[str, bytes | None]


def write(home: Path, before: Contents, after: Contents) -> list[str]:
    """Replace files that hold `before` by `after`; None is no file. Raises Failure, and then nothing has changed."""
    paths = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    for path in paths:
        if _read(home / path) != before.get(path):
            raise Failure(f"{path} has changed since; nothing was written")
    done: list[str] = []
    try:
        for path in paths:
            _put(home / path, after.get(path))
            done.append(path)
    except OSError as error:
        for path in done:
            with suppress(OSError):
                _put(home / path, before.get(path))
        raise Failure(f"{path}: {error.strerror}; nothing was written") from error
    return paths


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error


def _put(path: Path, contents: bytes | None) -> None:
    if contents is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(str(path), contents)
