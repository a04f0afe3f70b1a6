"""What torchlint keeps for its user outside of every project: the key that signs caches, and notes of unfinished writes.

A directory of the user's own (`$XDG_STATE_HOME/torchlint`, else `~/.local/state/torchlint`), closed to everybody else.
It is asked before a run is printed again, so nothing here may import more than the interpreter has loaded already.
"""

from __future__ import annotations

import os
import stat

from . import stamp

NAME = "torchlint"
UNFINISHED = "unfinished"
_KEY = "key"
_BYTES = 32
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def folder() -> str:
    """The directory, which need not be there. Raises OSError where this user can have none."""
    given = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_STATE_HOME", "")
    if os.path.isabs(given):
        return os.path.join(given, NAME)
    home = os.path.expanduser("~")
    if not os.path.isabs(home) or not os.path.isdir(home):
        raise OSError(f"there is no home directory {home!r}")
    return os.path.join(home, ".local", "state", NAME)


def made() -> str:
    """The directory, which is there now. Raises OSError where it can't be had, or is another user's."""
    path = folder()
    if not os.path.isdir(path):
        above = path
        while not os.path.exists(above):
            above = os.path.dirname(above)
        _check_owner(above, os.stat(above))  # what root made in a user's home would be closed to the user
        os.makedirs(path, 0o700)
    _check_owner(path, os.stat(path))
    return path


def key(*, make: bool = False) -> bytes:
    """The secret that signs what is kept. Raises OSError, with a sentence, where there is none to be had."""
    path = folder()
    _check_outside(path)
    path = os.path.join(path, _KEY)
    try:
        return _read(path)
    except FileNotFoundError:
        if not make:
            raise
    made()
    # Of two processes that come here at once, the last one's key stays; what the other one signs is worked out again.
    temporary = f"{path}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        os.write(descriptor, os.urandom(_BYTES))
    finally:
        os.close(descriptor)
    os.replace(temporary, path)
    return _read(path)


def unfinished() -> list[str]:
    """The notes of writes that are going on, or that a killed process left undone."""
    try:
        where = os.path.join(folder(), UNFINISHED)
        return [os.path.join(where, name) for name in os.listdir(where)]
    except OSError:
        return []


def _read(path: str) -> bytes:
    descriptor = os.open(path, _FLAGS)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size != _BYTES:
            raise OSError(f"{path} is no key of torchlint; delete it for a new one")
        _check_owner(path, found)
        if os.name != "nt" and stat.S_IMODE(found.st_mode) & 0o077:
            raise OSError(f"{path} can be read by others; delete it for a new one")
        return os.read(descriptor, _BYTES)
    finally:
        os.close(descriptor)


def _check_owner(path: str, found: os.stat_result) -> None:
    if os.name != "nt" and found.st_uid != os.geteuid():
        raise OSError(f"{path} belongs to another user")


def _check_outside(path: str) -> None:
    """A key that may have come with a repository proves nothing. A home that is kept in git is its user's own, and no project
    that lies in it brings a key to the home's place.
    """
    path, here = os.path.realpath(path), os.getcwd()
    home = os.path.realpath(os.path.expanduser("~"))
    directory, above = path, os.path.dirname(path)
    while directory != above:
        directory, above = above, os.path.dirname(above)
        in_git = os.path.exists(os.path.join(directory, ".git"))
        if directory == here or (in_git and not (directory == home and _is_project_below(here, home))):
            raise OSError(f"{path}, where its key would be, lies in the project {directory}")


def _is_project_below(here: str, home: str) -> bool:
    """Whether a directory is in a project that begins below the home directory, or in none of it."""
    while here != home:
        above = os.path.dirname(here)
        if here == above or os.path.exists(os.path.join(here, ".git")) or stamp.marks_root(here):
            return True
        here = above
    return False
