"""Copies of the user's project for runs to take place in: the project itself is only ever read.

Files that git knows or would know are copied; what it ignores, and what is big, is linked, and becomes a copy where a
program writes to it (torchlint.runner.sandbox). The folders beside the project are linked beside the copy.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from torchlint.settings.home import project_root
from torchlint.system.failure import Failure
from torchlint.system.git import Repository

from . import leftovers

if TYPE_CHECKING:
    from typing_extensions import Self

Overlay = Mapping[str, bytes | None]
"""What is different in a version: new contents by relative path, None for a file that is gone."""

_PREFIX = "torchlint-"
_BIG = 2 * 2**20
_CROWDED = 2000
_NEIGHBOURS = 200
_SKIPPED = frozenset(
    {".git", "__pycache__", ".torchlint", ".torchlint_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)


@dataclass(frozen=True)
class Project:
    """A folder with a program: relative paths of the files to copy, and of files and folders to link."""

    home: Path
    copied: tuple[str, ...]
    linked: tuple[str, ...]

    @classmethod
    def around(cls, folder: Path, needed: str = "") -> Project:
        """The repository around a folder; else its nearest parent that looks like a project, or the folder itself.

        `needed` is a file that has to be among those that are copied.
        """
        folder = folder.resolve()
        try:
            known = cls._known(Repository.around(folder))
        except Failure:
            known = None
        if known is not None and (not needed or os.path.relpath(os.path.realpath(needed), known.home) in known.copied):
            return known
        return cls._walked(project_root(folder) or folder)

    @classmethod
    def _known(cls, repository: Repository) -> Project:
        home = repository.top.resolve()
        copied: list[str] = []
        linked = [".git"]
        for path in repository.present():
            (copied if _small(home / path) else linked).append(path)
        linked += repository.ignored()
        return cls(
            home,
            tuple(copied),
            tuple(path for path in linked if not _SKIPPED.intersection(Path(path).parts[:1]) or path == ".git"),
        )

    @classmethod
    def _walked(cls, home: Path) -> Project:
        copied: list[str] = []
        linked: list[str] = []
        for folder, folders, files in os.walk(home):
            below = os.path.relpath(folder, home)
            if below != "." and ("pyvenv.cfg" in files or len(files) > _CROWDED):
                linked.append(below)
                folders.clear()
                continue
            for name in [name for name in folders if name in _SKIPPED or os.path.islink(os.path.join(folder, name))]:
                folders.remove(name)
                if name not in _SKIPPED:
                    linked.append(os.path.normpath(os.path.join(below, name)))
            for name in files:
                path = os.path.normpath(os.path.join(below, name))
                (copied if _small(home / path) else linked).append(path)
        return cls(home, tuple(copied), tuple(linked))

    def relative(self, path: Path) -> str:
        """A path below the project, relative to it. Raises Failure for another one."""
        resolved = path.resolve()
        if not resolved.is_relative_to(self.home):
            raise Failure(f"{path} is not in {self.home}")
        return resolved.relative_to(self.home).as_posix()


def _small(path: Path) -> bool:
    return not path.is_symlink() and path.is_file() and path.stat().st_size <= _BIG


class Workspace:
    """A folder in the system's temporary one that holds the frozen project and its copies; gone at the end of the context."""

    def __init__(self) -> None:
        self._projects: dict[Path, Path] = {}
        self._made = 0

    def __enter__(self) -> Self:
        leftovers.remove(Path(tempfile.gettempdir()), _PREFIX)
        try:
            self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
            self._claim = leftovers.claim(self.folder)
        except OSError as error:
            raise Failure(f"no temporary folder could be made: {error.strerror}") from error
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._claim)

    def freeze(self, project: Project) -> None:
        """Keep the project as it is now: all copies are made of that."""
        base = self._projects[project.home] = self.folder / f"project{len(self._projects)}"
        base.mkdir()
        for path in project.copied:
            with suppress(FileNotFoundError):  # deleted meanwhile, or not checked out
                _copy(project.home / path, base / path)

    def frozen(self, project: Project, path: str) -> bytes | None:
        """The contents of a file as they were then, None if it was not there or not copied."""
        with suppress(OSError):
            return (self._projects[project.home] / path).read_bytes()
        return None

    def tree(self, project: Project, overlay: Overlay) -> Tree:
        """One more copy, with that different."""
        self._made += 1
        return Tree(project, self._projects[project.home], self.folder / f"tree{self._made}", dict(overlay))

    def output(self) -> Path:
        """A new empty folder for what a run leaves."""
        self._made += 1
        made = self.folder / f"run{self._made}"
        made.mkdir()
        return made


@dataclass
class Tree:
    """One copy of a project in an area of its own, `area`, in which a program may write."""

    project: Project
    _base: Path
    area: Path
    _overlay: dict[str, bytes | None]
    _fresh: dict[str, _Stamp] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = self.area / (self.project.home.name or "project")
        self.root.mkdir(parents=True)
        self._beside()
        for path in self.project.linked:
            _link(self.project.home / path, self.root / path)
        for folder, _, files in os.walk(self._base):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), self._base)
                if path not in self._overlay:
                    _copy(Path(folder, name), self.root / path)
        for path in self._overlay:
            self._lay(path)
        self._fresh = dict(self._listed())

    def _beside(self) -> None:
        """The neighbours of the project, for programs that read `../data`."""
        with suppress(OSError), os.scandir(self.project.home.parent) as neighbours:
            found = [one for one in neighbours if one.name != self.root.name and not one.name.startswith(".")]
            for one in found if len(found) <= _NEIGHBOURS else ():
                _link(Path(one.path), self.area / one.name)

    def _lay(self, path: str) -> None:
        contents = self._overlay[path]
        target = self.root / path
        if target.is_symlink() or (contents is None and target.exists()):
            target.unlink()
        if contents is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents)
            with suppress(OSError):
                shutil.copymode(self.project.home / path, target)

    def reset(self) -> None:
        """Undo what a run has written."""
        found = dict(self._listed())
        for path in sorted(found.keys() - self._fresh.keys(), reverse=True):
            place = self.area / path
            if found[path].kind == "folder":
                place.rmdir()
            else:
                place.unlink()
        for path, stamp in self._fresh.items():
            if found.get(path) != stamp:
                self._restore(path, stamp)
        self._fresh = dict(self._listed())

    def _restore(self, path: str, stamp: _Stamp) -> None:
        place = self.area / path
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        below = os.path.relpath(place, self.root)
        if stamp.kind == "link":
            _link(Path(stamp.target), place)
        elif stamp.kind == "folder":
            place.mkdir()
        elif below in self._overlay:
            self._lay(below)
        else:
            _copy(self._base / below, place)

    def written(self) -> dict[str, Path]:
        """The files that a run has made or changed, by their paths as the program sees them."""
        return {
            os.path.relpath(self.area / path, self.root): self.area / path
            for path, stamp in self._listed()
            if stamp.kind == "file" and self._fresh.get(path) != stamp
        }

    def _listed(self) -> Iterator[tuple[str, _Stamp]]:
        """Everything in the area, folders before what is in them."""
        for folder, folders, files in os.walk(self.area):
            for name in [*folders, *files]:
                place = os.path.join(folder, name)
                path = os.path.relpath(place, self.area)
                if os.path.islink(place):
                    yield path, _Stamp("link", os.readlink(place))
                elif os.path.isdir(place):
                    yield path, _Stamp("folder")
                else:
                    stat = os.stat(place)
                    yield path, _Stamp("file", "", stat.st_size, stat.st_mtime_ns)


class _Stamp(NamedTuple):
    """What tells whether something in a copy is as it was."""

    kind: Literal["file", "folder", "link"]
    target: str = ""
    size: int = 0
    modified: int = 0


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _link(source: Path, target: Path) -> None:
    with suppress(FileExistsError):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)
