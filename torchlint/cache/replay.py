"""A run that would say the same again is not run: what it printed is printed again.

That is known when the command line, the environment and the terminal are the same, and every file and directory that the
run looked at is as it was. It is the first thing that is tried, so nothing here may be imported that is not loaded yet.
"""

from __future__ import annotations

import os
import sys

from ..system import stamp, streams
from ..system.stamp import CACHE, digest, encoded
from .store import Cache, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import TextIO

    from ..system.witness import Witness

ENVIRONMENT = (
    "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "TERM_PROGRAM", "WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "VTE_VERSION",
    "DOMTERM", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY", "TORCHLINT_OUTPUT_FORMAT",
    "TORCHLINT_OUTPUT_FILE", "TORCHLINT_CACHE_DIR", "HOME", "USERPROFILE",
)  # fmt: skip
"""The variables that what is printed may depend on."""
MOVED = 50
"""How many files may have moved stamps; with more, a run that notes the new stamps pays."""


def replay(arguments: Sequence[str]) -> int | None:
    """Print what the same run printed before; its exit code, None where it may say something else now."""
    directory = _directory(arguments)
    if directory is None:
        return None
    body = Cache(directory).read(_key(arguments))
    if body is None:
        return None
    try:
        head, _, rest = body.decode("utf-8", "surrogatepass").partition("\n")
        code, witnessed, out = map(int, head.split(" "))
        if not _stands(rest[:witnessed].split("\n")):
            return None
    except ValueError:
        return None
    for stream, text in ((sys.stdout, rest[witnessed : witnessed + out]), (sys.stderr, rest[witnessed + out :])):
        if text:
            streams.write(stream, text)
    return code


def _stands(lines: list[str]) -> bool:
    """Whether all that a Witness saw is as it was. Raises ValueError for what is no Witness's text."""
    files, directories, manifests, there = map(int, lines[0].split(" "))
    if len(lines) != 1 + files + directories + manifests + there or not (there and files + directories):
        raise ValueError(lines[0])
    at = 1 + files
    moved = 0
    try:
        for line in lines[1:at]:
            mark, content, path = line.split("\t", 2)
            stat = os.stat(path)
            if f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}" != mark:
                moved += 1
                if moved > MOVED or not content or stamp.content(path) != content:
                    return False
        for line in lines[at : at + directories]:
            mark, content, path = line.split("\t", 2)
            if stamp.stamp(path) != mark and stamp.names(path) != content:
                return False
    except OSError:
        return False
    at += directories
    for line in lines[at : at + manifests]:
        names, path = line.split("\t", 1)
        if "/".join(stamp.manifests(path)) != names:
            return False
    pairs = (line.split("\t", 1) for line in lines[at + manifests :])
    return all(os.path.exists(path) == (flag == "1") for flag, path in pairs)


def _directory(arguments: Sequence[str]) -> str | None:
    """The directory of the cache that a run with these arguments would most likely use."""
    if "-n" in arguments or "--no-cache" in arguments:
        return None
    for at, argument in enumerate(arguments):
        if argument == "--cache-dir" and at + 1 < len(arguments):
            return os.path.abspath(arguments[at + 1])
        if argument.startswith("--cache-dir="):
            return os.path.abspath(argument.partition("=")[2])
    if given := os.environ.get("TORCHLINT_CACHE_DIR"):
        return os.path.abspath(given)
    return os.path.join(_root(os.getcwd()), CACHE)


def _root(here: str) -> str:
    """The directory of the project around one, else the nearest one with a file of settings; else that one."""
    found = stamp.project_root(here)
    return found if found is not None else next(filter(_is_configured, stamp.upwards(here)), here)


def _is_configured(directory: str) -> bool:
    return any(os.path.exists(os.path.join(directory, name)) for name in (".torchlint.toml", "torchlint.toml"))


def _key(arguments: Sequence[str]) -> bytes:
    """Digest of all that a run depends on, less the files."""
    terminal = f"{sys.stdout.isatty():d}{sys.stderr.isatty():d}"
    values = [f"{name}={os.environ.get(name)}" for name in ENVIRONMENT]
    return digest(identity(), *map(encoded, (terminal, os.getcwd(), *values)), b"", *map(encoded, arguments))


class Recorder:
    """Keeps what is printed while it is entered, so that it can be printed again."""

    def __init__(self, witness: Witness) -> None:
        self.witness = witness

    def __enter__(self) -> None:
        self._before = sys.stdout, sys.stderr
        self._tees = _Tee(sys.stdout), _Tee(sys.stderr)
        sys.stdout, sys.stderr = self._tees

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout, sys.stderr = self._before

    def save(self, arguments: Sequence[str], code: int) -> None:
        """Keep what was printed for the next run, where all that it depends on is known. Raises OSError."""
        out, err = self._tees
        witnessed = self.witness.text()
        # A bar of progress is not to be shown again.
        if witnessed is None or out.failed or err.failed or "\r" in err.text or "\x1b" in err.text:
            return
        where = _directory(arguments)
        if where is not None and os.path.realpath(where) == os.path.realpath(self.witness.directory_of_cache):
            body = f"{code} {len(witnessed)} {len(out.text)}\n{witnessed}{out.text}{err.text}"
            Cache(where).write(_key(arguments), body.encode("utf-8", "surrogatepass"))


class _Tee:
    """A stream that remembers what is written to it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._written: list[str] = []
        self.failed = False

    @property
    def text(self) -> str:
        return "".join(self._written)

    def write(self, text: str) -> int:
        self._written.append(text)
        streams.put(self._stream, text)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            self.failed = True
            raise

    @property
    def buffer(self) -> object:
        """Bytes that are written past it can't be remembered."""
        self.failed = True
        return self._stream.buffer

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
