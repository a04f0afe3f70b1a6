"""Which files to read: arguments and directories to Python files, without what git or the settings leave out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .config import Settings
from .failure import Failure
from .gitignore import Ignores, lines_of
from .home import Home, project_root
from .stamp import contents

if TYPE_CHECKING:
    from .replay import Witness

SUFFIXES = (".py", ".pyi", ".ipynb")
_GLOB = frozenset("*?[!/\\")


@dataclass(frozen=True)
class Found:
    """The files in order, each once, and what could not be looked into."""

    files: tuple[Path, ...]
    warnings: tuple[str, ...] = ()


def discover(paths: Iterable[Path | str], settings: Settings, witness: Witness | None = None) -> Found:
    """The Python files that the paths stand for, sorted within each directory; relative to the working directory if below it.

    A file that is named is taken whatever it is called, unless `force_exclude` leaves it out. A link that is named is
    followed; one that is found only to a file of the same project, and never to a directory. A file counts once, under
    whatever names it was given. What is no regular file is left out. `witness` is told what was looked at.
    Raises Failure for a path that isn't there, or can't be read like a file.
    """
    walk = _Walk(settings, witness)
    for path in paths:
        walk.add(_normal(str(path)))
    return walk.found()


def excluded(path: str, settings: Settings) -> bool:
    """Whether the settings exclude a file even if it is named."""
    return _Walk(settings).excluded_above(_normal(path))


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
        files = discover([self._root], self._settings, self._witness).files
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
    files: dict[str, str] = field(default_factory=dict)
    """Absolute path, without links, to the path to show."""
    links: list[str] = field(default_factory=list)
    """Those that were named."""
    found_links: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, path: str) -> None:
        if self.settings.force_exclude and self.excluded_above(path):
            return
        absolute, real = os.path.abspath(path), os.path.realpath(path)
        if self.witness is not None and real != absolute:
            self.witness.exact = False  # where a link leads changes elsewhere
        if os.path.isdir(path):
            self.directory(path, real, _inherited(real) if self.settings.respect_gitignore else [])
        elif os.path.isfile(path):
            if real == absolute:
                self.files.setdefault(absolute, path)
            else:
                self.links.append(path)
        elif os.path.exists(path):
            raise Failure(f"{path}: not a regular file")
        elif os.path.islink(path):
            raise Failure(f"{path}: the link leads nowhere")
        else:
            raise Failure(f"{path}: No such file or directory")

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
        if self.settings.respect_gitignore:
            names = {entry.name for entry in entries}
            if ".git" in names:
                ignores = self.ignore_file(absolute, os.path.join(".git", "info", "exclude"))
            if ".gitignore" in names and (ignores or _repository(absolute)):
                ignores = [*ignores, *self.ignore_file(absolute, ".gitignore")]
        for entry in entries:
            self.entry(path, absolute, entry, ignores)

    def entry(self, parent: str, above: str, entry: os.DirEntry[str], ignores: list[Ignores]) -> None:
        name = entry.name
        is_directory = entry.is_dir(follow_symlinks=False)
        if not (is_directory or name.endswith(SUFFIXES)) or name in self.names:
            return
        absolute = f"{above.rstrip(os.sep)}{os.sep}{name}"
        if self.patterns.verdict(absolute, name, is_directory) or _ignored(absolute, name, is_directory, ignores):
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
        return Found(tuple(map(Path, self.files.values())), tuple(self.warnings))

    @cached_property
    def names(self) -> frozenset[str]:
        """The exclude patterns that are names."""
        return frozenset(pattern for pattern in self.settings.exclude if not _GLOB.intersection(pattern))

    @cached_property
    def patterns(self) -> Ignores:
        """The other exclude patterns."""
        return Ignores(
            os.path.realpath(self.settings.root),
            [p for p in self.settings.exclude if p.strip() and _GLOB.intersection(p)],
        )

    def excluded_above(self, path: str) -> bool:
        """Whether a path that was named, or a directory it lies in, is excluded."""
        absolute, root = os.path.realpath(path), os.path.realpath(self.settings.root)
        below = absolute.removeprefix(os.path.join(root, ""))
        if absolute == root:
            return False
        return not self.names.isdisjoint(below.split(os.sep)) or self.patterns.covers(absolute, os.path.isdir(path))


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
        lines = lines_of(contents(os.path.join(base, name)))
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
