"""What a run looked at in the file system, noted so that a later run can tell whether all of it is as it was."""

from __future__ import annotations

import os

from . import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ABOVE = (
    ".git", ".gitignore", ".torchlint.toml", "torchlint.toml", "pyproject.toml", "setup.py", "setup.cfg", "__init__.py",
)  # fmt: skip
"""What is looked for in each directory above the files."""
_READ = ABOVE[1:5]
"""Those of them that are read."""


class Witness:
    """What a run looked at. `exact` is false where it may have looked at more than is noted here."""

    def __init__(self) -> None:
        self.exact = True
        self.directory_of_cache = ""
        self.files: dict[str, tuple[str, str]] = {}
        """Stamp ("" where it can't be trusted) and digest."""
        self.directories: dict[str, tuple[str, str]] = {}
        """Of those that were walked: stamp ("" where it can't be trusted) and what stands for the names."""
        self.manifests: dict[str, str] = {}
        """Of directories: the names in it that may name torch."""
        self.there: dict[str, bool] = {}

    def directory(self, path: str) -> None:
        """A directory that is about to be walked."""
        try:
            self.directories[path] = (stamp.lasting(path), stamp.names(path))
        except OSError:
            self.exact = False

    def file(self, path: str) -> None:
        """A file that was read or is about to be."""
        try:
            self.files[path] = (stamp.lasting(path), stamp.content(path))
        except OSError:
            self.exact = False

    def text_beside(self, path: str, most: int) -> None:
        """A file that is read if it has no more than `most` bytes."""
        try:
            if os.path.getsize(path) <= most:
                self.file(path)
            else:
                self._unread(path)
        except OSError:
            self.exact = False

    def passed_over(self, path: str) -> None:
        """What is called like a file that would be read, and is none: a link that leads nowhere, or a pipe."""
        self.there[path] = os.path.exists(path)
        if self.there[path]:
            self._unread(path)

    def _unread(self, path: str) -> None:
        """What is there and not looked into: it is another thing as soon as its stamp has moved."""
        try:
            self.files[path] = (stamp.lasting(path), "")
        except OSError:
            self.exact = False

    def manifest(self, directory: str) -> None:
        """A directory where a file that names torch was looked for."""
        if directory not in self.directories or stamp.states_below(directory):
            self.manifests[directory] = "/".join(stamp.manifests(directory))

    def above(self, paths: Iterable[str]) -> None:
        """The directories above some paths, where a project's files were looked for."""
        todo = {os.path.abspath(path) for path in paths}
        while todo:
            directory = todo.pop()
            if os.path.join(directory, ABOVE[0]) in self.there:
                continue
            for name in ABOVE:
                path = os.path.join(directory, name)
                self.there[path] = os.path.exists(path)
                if name in _READ and os.path.isfile(path):
                    self.file(path)
            exclude = os.path.join(directory, ".git", "info", "exclude")
            self.there[exclude] = os.path.exists(exclude)
            if self.there[exclude]:
                self.file(exclude)
            if os.path.dirname(directory) != directory:
                todo.add(os.path.dirname(directory))

    def text(self) -> str | None:
        """All of it, to be asked again by `_stands`; None where that can't be written."""
        lines = [f"{len(self.files)} {len(self.directories)} {len(self.manifests)} {len(self.there)}"]
        for table in (self.files, self.directories):
            lines += [f"{mark}\t{content}\t{path}" for path, (mark, content) in table.items()]
        lines += [f"{names}\t{path}" for path, names in self.manifests.items()]
        lines += [f"{there:d}\t{path}" for path, there in self.there.items()]
        text = "\n".join(lines)
        return text if self.exact and text.count("\n") == len(lines) - 1 else None
