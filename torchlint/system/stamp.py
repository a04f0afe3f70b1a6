"""Whether files and directories are as they were, asked as cheaply as it can be answered exactly.

The first thing that a cached run imports: nothing here may import more than the interpreter has loaded already.
"""

from __future__ import annotations

import errno
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    from _blake2 import blake2b  # what hashlib gives, without OpenSSL, whose import costs more than a cached run
except ImportError:  # a Python built without its own hashes
    from hashlib import blake2b

CACHE = ".torchlint_cache"
"""The directory of the cache, below the project's."""
_ROOT_MARKS = ("pyproject.toml", "torchlint.toml", ".torchlint.toml")
"""What stands in the directory of a project."""
_SET_UP = ("setup.py", "setup.cfg")
"""The same, where that is no package: those may have a module of that name."""
_ROOT_SIGNS = tuple(
    "LICENSE LICENSE.md LICENSE.txt README README.md README.rst README.txt requirements.txt environment.yml environment.yaml".split()
)
"""What mostly stands in the directory of a project, and in some below it."""
YOUNG = 2_000_000_000
"""How many nanoseconds after the last change a stamp is trusted: longer than any file system's clock ticks."""
_ON_INSTALLING = ("install", "get_started", "get-started", "getstarted", "getting")
"""How the name of a page on installing begins."""
_MANIFESTS = (
    *_ON_INSTALLING,
    *"pyproject.toml requirement req constraints setup env dockerfile .devcontainer.json readme training tutorial usage __init__.py".split(),
    *"pipfile pixi.toml uv.lock poetry.lock pdm.lock tox.ini".split(),
)
_ENVIRONMENTS = (".yml", ".yaml")
_IMPORTED = (".py", ".pyi", ".pyx", ".so", ".pyd")
_COMPILED = "__pycache__"
_SERVICES = {".circleci": "", ".github": "workflows"}
"""The folders of services that test a repository, and what they read below them."""
_WHOLE = frozenset(("requirements", ".devcontainer"))
"""The folders of which any file may say it."""
_PAGES = frozenset(("doc", "docs", "readme"))
"""The folders that a page on installing may lie in."""
_ASIDE = frozenset(
    (
        "conda",
        "conda-recipe",
        "conda.recipe",
        "env",
        "envs",
        "environment",
        "environments",
        "recipe",
        "scripts",
        "setup",
    )
)
"""The folders that an environment may lie in."""
_BELOW = _WHOLE | _PAGES | _ASIDE | _SERVICES.keys()
SIZE = 16
"""Bytes of a digest."""
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""How files are opened: to open a pipe nobody writes to would not end."""


def digest(*parts: bytes) -> bytes:
    """Hash of byte strings: in another order, or divided in another way, they give another one."""
    return signed(b"", *parts)


def signed(secret: bytes, *parts: bytes) -> bytes:
    """The same with a secret: nobody who does not know that can tell what it is."""
    hashed = blake2b(digest_size=SIZE, key=secret)
    for part in parts:
        hashed.update(b"%d:" % len(part))
        hashed.update(part)
    return hashed.digest()


def encoded(text: str) -> bytes:
    """Text that may hold the name of any file, as bytes."""
    return text.encode("utf-8", "surrogatepass" if os.name == "nt" else "surrogateescape")


def as_bytes(text: str) -> bytes:
    """A name as it would stand in a file; one that no file can hold (half of a character, a path that is no text) is in none."""
    return text.encode("utf-8", "surrogatepass")


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


def contents(path: str, most: int = -1) -> bytes:
    """The bytes of a file. Raises OSError, also for what is no file: a pipe or a device may never come to an end.

    `most`: how many bytes it may have.
    """
    descriptor = os.open(path, _READ)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            reason = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL
            raise OSError(reason, os.strerror(reason) if reason == errno.EISDIR else "not a regular file", path)
        if 0 <= most < found.st_size:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def content(path: str) -> str:
    """Hash of a file's bytes. Raises OSError."""
    return digest(contents(path)).hex()


def names(path: str) -> str:
    """Hash of the names in a directory and their kinds, less the cache. Raises OSError."""
    with os.scandir(path) as entries:
        found = [
            f"{entry.name}/{entry.is_dir(follow_symlinks=False):d}{entry.is_symlink():d}"
            for entry in entries
            if entry.name != CACHE
        ]
    return digest(*map(encoded, sorted(found))).hex()


def manifests(directory: str) -> list[str]:
    """The names in a directory that files may have which say what torch a project is for."""
    listed = _listed(directory)
    found = [name for name in listed if _may_state(name)]
    for folder in _WHOLE.intersection(listed):
        found += [f"{folder}/{name}" for name in _listed(os.path.join(directory, folder))]
    for folder in _PAGES.intersection(listed):
        names = _listed(os.path.join(directory, folder))
        found += [f"{folder}/{name}" for name in names if name.lower().startswith(_ON_INSTALLING)]
    for folder in _ASIDE.intersection(listed):
        names = _listed(os.path.join(directory, folder))
        found += [f"{folder}/{name}" for name in names if name.endswith(_ENVIRONMENTS)]
    for folder, below in _SERVICES.items():
        if folder in listed:
            names = _listed(os.path.join(directory, folder, below))
            found += [os.path.join(folder, below, name) for name in names if name.endswith(_ENVIRONMENTS)]
    return sorted(found)


def states_below(directory: str) -> bool:
    """Whether a directory has a folder of which such files count as its own."""
    return not _BELOW.isdisjoint(_listed(directory))


def _may_state(name: str) -> bool:
    return name.lower().startswith(_MANIFESTS) or name.endswith(_ENVIRONMENTS)


def marks_root(directory: str) -> bool:
    """Whether a project begins at a directory that no repository begins at."""
    if any(os.path.exists(os.path.join(directory, mark)) for mark in _ROOT_MARKS):
        return True
    set_up = any(os.path.exists(os.path.join(directory, mark)) for mark in _SET_UP)
    return set_up and not os.path.exists(os.path.join(directory, "__init__.py"))


def _is_like_root(directory: str) -> bool:
    """Whether a project looks as if it began at a directory, where nothing marks one: it was downloaded without its repository."""
    return any(os.path.exists(os.path.join(directory, sign)) for sign in _ROOT_SIGNS)


def upwards(directory: str) -> Iterator[str]:
    """A directory, by its absolute path, and those that it lies in."""
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def project_root(directory: str) -> str | None:
    """The directory of the project that a directory, by its absolute path, belongs to: the top of its repository, else the nearest
    one with a file of settings or a `setup.py`, else with a licence, a readme or requirements; never the home directory or the root.
    """
    home = os.path.expanduser("~")
    homes = (home, os.path.realpath(home))
    marked = like = None
    for one in upwards(directory):
        if one in homes or os.path.dirname(one) == one:
            break
        if os.path.exists(os.path.join(one, ".git")):
            return one
        if marked is None and marks_root(one):
            marked = one
        if like is None and _is_like_root(one):
            like = one
    return marked or like


def importable(directory: str) -> list[str]:
    """The names in a directory that an import may find: of folders, and of files that Python or what builds for it reads."""
    return [name for name in _listed(directory) if name.endswith(_IMPORTED) or not ("." in name or name == _COMPILED)]


def _listed(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []
