"""Where files lie in their project: told alike whatever directory is worked in, and by whatever links they were named."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ..system import stamp


def project_root(start: Path) -> Path | None:
    """The directory of the project that a directory belongs to, as `stamp.project_root` finds it."""
    root = stamp.project_root(str(start.absolute()))
    return Path(root) if root is not None else None


def around(paths: Iterable[str]) -> Path:
    """The directory that all of the paths lie in, without links; the working directory where there is no path."""
    real = map(os.path.realpath, paths)
    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in real]
    return Path(os.path.commonpath(folders or [os.getcwd()]))


class Home:
    """The directory of a project, and the places of its files in it: `pkg/train.py`; of others the whole path."""

    def __init__(self, root: str | None = None) -> None:
        """The root is the working directory if none is given."""
        self.root = os.path.realpath(root or os.curdir)
        self._below = os.path.join(self.root, "")
        self._places: dict[str, str] = {}
        self._folders: dict[str, str] = {"": os.getcwd(), os.curdir: os.getcwd()}

    def __call__(self, path: str) -> str:
        """The place of a file, with forward slashes."""
        place = self._places.get(path)
        if place is None:
            place = self._places[path] = self._place(path)
        return place

    def _place(self, path: str) -> str:
        folder, name = os.path.split(path)
        real = os.path.join(self._folder(folder), name)
        if not real.startswith(self._below):
            real = os.path.realpath(path)  # a link that was named itself
        return real.removeprefix(self._below).replace(os.sep, "/")

    def _folder(self, folder: str) -> str:
        """A directory without links; each on the way is looked at once."""
        found = self._folders.get(folder)
        if found is None:
            above, name = os.path.split(folder)
            if not name:  # the root of the file system
                found = folder
            elif name == os.pardir:
                found = os.path.dirname(self._folder(above))
            else:
                found = os.path.join(self._folder(above), name)
                if os.path.islink(found):
                    found = os.path.realpath(found)
            self._folders[folder] = found
        return found
