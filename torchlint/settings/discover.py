"""Which files to read: arguments and directories to Python files, without what git or the settings leave out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..system import stamp
from ..system.cached import cached_property
from ..system.failure import Failure
from ..system.fault import FileError
from .config import FILES, Settings, extends
from .gitignore import Ignores, lines_of
from .home import Home, project_root

if TYPE_CHECKING:
    from ..system.witness import Witness

SUFFIXES = (".py", ".pyi", ".ipynb")
_GLOB = frozenset("*?[!/\\")


class Found(NamedTuple):
    """The files in order, each once, and what could not be looked into; `errors` are the paths that are no files."""

    files: tuple[Path, ...]
    warnings: tuple[str, ...] = ()
    errors: tuple[FileError, ...] = ()


def discover(paths: Iterable[Path | str], settings: Settings, witness: Witness | None = None) -> Found:
    """The Python files that the paths stand for, sorted within each directory; relative to the working directory if below it.

    A file that is named is taken whatever it is called, unless `force_exclude` leaves it out. A link that is named is
    followed; one that is found only to a file of the same project, and never to a directory. A file counts once, under
    whatever names it was given. What is no regular file is left out. `witness` is told what was looked at.
    Raises ConfigError where the settings of a file can't be used.
    """
    walk = _Walk(settings, witness)
    for path in map(str, paths):
        if path:
            walk.add(_normal(path))
        else:  # a variable of a script that is not set
            walk.errors.append(FileError('""', "an empty path names no file"))
    return walk.found()


def excluded(path: str, settings: Settings) -> bool:
    """Whether the settings exclude a file even if it is named."""
    return _Exclude(settings.at(path)).covers(_normal(path))


class ProjectFiles(Sequence[Path]):
    """The Python files of a project less those that are linted anyway; looked for at first use."""

    def __init__(
        self, root: Path | None, linted: Iterable[Path], settings: Settings, witness: Witness | None = None
    ) -> None:
        self._witness = witness
        self._root = root
        self._linted = linted
        self._settings = settings

    @cached_property
    def _files(self) -> tuple[Path, ...]:
        if self._root is None:
            return ()
        home = Home(str(self._root))
        linted = {home(str(path)) for path in self._linted}
        walk = _Walk(self._settings, self._witness, linted=False)
        walk.add(_normal(str(self._root)))
        files = walk.found().files
        return tuple(path for path in files if home(str(path)) not in linted)

    def __getitem__(self, index: Any) -> Any:
        return self._files[index]

    def __len__(self) -> int:
        return len(self._files)


def _normal(path: str) -> str:
    """Without detours, and relative to the working directory if it lies there."""
    path, here = os.path.normpath(path), os.getcwd()
    return "." if path == here else path.removeprefix(os.path.join(here, ""))


@dataclass
class _Walk:
    settings: Settings
    witness: Witness | None = None
    linted: bool = True
    """Whether the files are to be linted, so that their settings must hold."""
    files: dict[str, str] = field(default_factory=dict)
    """Absolute path, without links, to the path to show."""
    links: list[str] = field(default_factory=list)
    """Those that were named."""
    found_links: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)
    excludes: dict[int, _Exclude] = field(default_factory=dict)
    """What settings leave out, by their identity."""

    def add(self, path: str) -> None:
        settings = self.settings.at(path)
        if settings.force_exclude and _Exclude(settings).covers(path):
            return
        absolute, real = os.path.abspath(path), os.path.realpath(path)
        if self.witness is not None and real != absolute:
            self.witness.exact = False  # where a link leads changes elsewhere
        if os.path.isdir(path):
            self.directory(path, real, _inherited(real) if self.settings.at_folder(path).respect_gitignore else [])
        elif os.path.isfile(path):
            if real == absolute:
                self.files.setdefault(absolute, path)
            else:
                self.links.append(path)
        elif os.path.exists(path):
            self.errors.append(FileError(path, "not a regular file"))
        elif os.path.islink(path):
            self.errors.append(FileError(path, "the link leads nowhere"))
        else:
            self.errors.append(FileError(path, "No such file or directory"))

    def directory(self, path: str, absolute: str, ignores: list[Ignores]) -> None:
        """Look into a directory that is shown as `path` and lies, without links, at `absolute`."""
        if self.witness is not None:
            self.witness.directory(absolute)
        try:
            with os.scandir(path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            self.warnings.append(f"{path}: {error.strerror}; nothing in it was looked at")
            return
        settings = self.settings.at_folder(path)
        names = {entry.name for entry in entries}
        if self.witness is not None:
            for name in names.intersection(FILES):
                self.witness.file(os.path.join(absolute, name))
                self.witness.exact &= not extends(os.path.join(absolute, name))
        if settings.respect_gitignore:
            if ".git" in names:
                ignores = self.ignore_file(absolute, os.path.join(".git", "info", "exclude"))
            if ".gitignore" in names and (ignores or _repository(absolute)):
                ignores = [*ignores, *self.ignore_file(absolute, ".gitignore")]
        if id(settings) not in self.excludes:
            self.excludes[id(settings)] = _Exclude(settings)
        for entry in entries:
            self.entry(path, absolute, entry, ignores, self.excludes[id(settings)])

    def entry(
        self, parent: str, above: str, entry: os.DirEntry[str], ignores: list[Ignores], exclude: _Exclude
    ) -> None:
        name = entry.name
        is_directory = entry.is_dir(follow_symlinks=False)
        if not (is_directory or name.endswith(SUFFIXES)) or name in exclude.names:
            return
        absolute = f"{above.rstrip(os.sep)}{os.sep}{name}"
        if exclude.names_path(absolute, name, is_directory) or _ignored(absolute, name, is_directory, ignores):
            return
        path = name if parent == "." else os.path.join(parent, name)
        if is_directory:
            self.directory(path, absolute, ignores)
        elif entry.is_file(follow_symlinks=False):
            self.files.setdefault(absolute, path)
        elif entry.is_symlink() and os.path.isfile(absolute):
            self.found_links.append(path)

    def ignore_file(self, base: str, name: str) -> list[Ignores]:
        path = os.path.join(base, name)
        if self.witness is not None and os.path.exists(path):
            self.witness.file(path)
        return _ignore_file(base, name)

    def found(self) -> Found:
        if self.witness is not None and (self.links or self.found_links or self.warnings):
            self.witness.exact = False  # where a link leads, and what may be read, changes elsewhere
        for link in (*self.links, *self.found_links):
            target = os.path.realpath(link)
            if target in self.files:
                continue
            if link in self.links or _same_project(link, target):
                self.files[target] = link
            else:
                self.warnings.append(f"{link}: the link leads out of the project and was not followed")
        if self.linted and self.settings.closest is not None:
            self.settings.closest.check(self.files)
        return Found(tuple(map(Path, self.files.values())), tuple(self.warnings), tuple(self.errors))


class _Exclude:
    """What the settings leave out."""

    def __init__(self, settings: Settings) -> None:
        self.root = os.path.realpath(settings.root)
        pairs = [(self.root, settings.exclude), *((os.path.realpath(base), of) for base, of in settings.exclude_below)]
        self.names = frozenset(pattern for _, listed in pairs for pattern in listed if not _GLOB.intersection(pattern))
        self.patterns = [
            Ignores(base, patterns)
            for base, listed in pairs
            if (patterns := [pattern for pattern in listed if pattern.strip() and _GLOB.intersection(pattern)])
        ]

    def names_path(self, path: str, name: str, is_directory: bool) -> bool:
        """Whether a pattern speaks of the path itself."""
        return any(patterns.verdict(path, name, is_directory) for patterns in self.patterns)

    def covers(self, path: str) -> bool:
        """Whether a path that was named, or a directory it lies in, is excluded."""
        absolute = os.path.realpath(path)
        below = absolute.removeprefix(os.path.join(self.root, ""))
        if absolute == self.root:
            return False
        is_directory = os.path.isdir(path)
        return not self.names.isdisjoint(below.split(os.sep)) or any(
            patterns.covers(absolute, is_directory) for patterns in self.patterns
        )


def _same_project(link: str, target: str) -> bool:
    """Whether a link leads to a file of the project that it lies in."""
    folder = Path(os.path.realpath(os.path.dirname(link) or os.curdir))
    return Path(target).is_relative_to(project_root(folder) or folder)


def _ignored(path: str, name: str, is_directory: bool, ignores: list[Ignores]) -> bool:
    """Whether git would ignore the path: the deepest file with something to say decides."""
    for patterns in reversed(ignores):
        verdict = patterns.verdict(path, name, is_directory)
        if verdict is not None:
            return verdict
    return False


def _ignore_file(base: str, name: str) -> list[Ignores]:
    try:
        lines = lines_of(stamp.contents(os.path.join(base, name)))
    except OSError:
        return []
    return [Ignores(base, lines)] if lines else []


def _repository(path: str) -> str | None:
    """The directory at or above an absolute path that git works in."""
    return next((str(d) for d in (Path(path), *Path(path).parents) if (d / ".git").exists()), None)


def _inherited(start: str) -> list[Ignores]:
    """What the directories above say; nothing if they say to ignore this one, for it was asked for by name."""
    repository = _repository(start)
    if repository is None or repository == start:
        return []
    ignores = _ignore_file(repository, os.path.join(".git", "info", "exclude"))
    for directory in _between(repository, start):
        ignores += _ignore_file(directory, ".gitignore")
    return [] if any(patterns.covers(start, True) for patterns in ignores) else ignores


def _between(top: str, bottom: str) -> Iterator[str]:
    """The directories from the top down to the one above the bottom."""
    parents = Path(bottom).parents
    return (str(d) for d in reversed(parents) if str(d) == top or Path(top) in d.parents)


def spare_code(path: str) -> None:
    """Refuse to write over Python code and settings: of `-o *.py` a shell makes the name of a file that was to be read.

    A repository may hold links, so what they lead to counts; one that leads out of the project is not followed.
    """
    real = os.path.realpath(path)
    if os.path.islink(path) and (root := _left(path, real)) is not None:
        raise Failure(f"{path} is a link to {real}, which is not in {root}: delete it, or write somewhere else")
    for name in (path, real):
        kind = "code" if name.endswith(SUFFIXES) else "a file of settings" if os.path.basename(name) in FILES else ""
        if kind and os.path.exists(path):
            what = f"{path} is {kind}" if name == path else f"{path} is a link to {real}, which is {kind}"
            raise Failure(f"{what}, which what is written there would replace")


def _left(link: str, real: str) -> str | None:
    """The project that a link is in and does not lead to a place of; None too where it leads to a device or a pipe."""
    if os.path.exists(real) and not os.path.isfile(real):
        return None
    folder, here = os.path.realpath(os.path.dirname(link)), os.getcwd()
    root = stamp.project_root(folder) or (here if Path(folder).is_relative_to(here) else None)
    return None if root is None or Path(real).is_relative_to(root) else root
