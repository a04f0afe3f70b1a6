"""A project kept warm between edits: what an editor asks again and again, answered from what is known already.

The engine of questions (`query.database`) knows what each answer was made of, as for the cache on disk: after an edit only
that is asked again which depends on the file. So what a session says of a file is what `torchlint check` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from ..cache.links import Index
from ..facts.module import Module
from ..facts.taken import Others
from ..lint.run import Result, lint, lint_project
from ..program.files import normal
from ..program.scripts import importing, scripts
from ..rule.analysis import Analysis
from ..settings.config import Settings
from ..settings.discover import ProjectFiles, excluded
from ..settings.home import project_root
from ..system.stamp import contents
from ..text.source import Source
from ..torch_api.version import Range
from .open_file import OpenModule
from .warm import File, Stop, Warm


class Session:
    """The files below one root, what editors hold in place of them, and the facts of the last look.

    Paths are those that `torchlint check`, run in the root, would print. The working directory must be the root while a
    method runs. For one thread.
    """

    def __init__(self, root: Path, settings: Settings, *, loose: bool = False) -> None:
        self.root = root
        self.settings = settings
        self.loose = loose
        """Whether the root is no project: its files are looked at with those that are open, and nothing else is read."""
        self._buffers: dict[str, bytes] = {}
        self._broken: dict[str, bytes] = {}
        """Buffers that do not parse; the project keeps the last text that did."""
        self._files: dict[str, File] = {}
        self._project: Warm | None = None
        self._is_warm = False
        self._torch: Mapping[str, Range | None] = {}
        """What is said of the torch of the files in some folders, as last read."""

    @property
    def warm(self) -> bool:
        """Whether a look has come to its end, so that a glance is quick."""
        return self._project is not None and self._is_warm

    @property
    def known(self) -> int:
        """How many files have been read."""
        return len(self._files)

    # Files

    def edit(self, path: str, data: bytes) -> None:
        """Take what an editor holds in place of the file on disk."""
        self._buffers[path] = data
        self._broken.pop(path, None)
        before = self._files.get(path)
        try:
            source = Source.of(path, data)
            if before is not None and self._in_place(before, source):
                return
            kind = OpenModule if source.__class__ is Source else Module
            module = kind(source, *self._name(path))
        except Exception:  # noqa: BLE001 - a look at it will tell
            self._broken[path] = data
            return
        if before is not None and before.module is not None and before.source is not None and before.source.raw == data:
            before.stamp = data
            return
        self._files[path] = File(data, source, None, module)
        self._changed(path)

    def _in_place(self, file: File, source: Source) -> bool:
        """Whether a file has taken an edit that leaves most of it as it is."""
        project, module = self._project, file.module
        if project is None or not isinstance(module, OpenModule) or source.path not in project.parsed:
            return False
        changed = module.take(source)
        if changed is None:
            return False
        file.stamp, file.source = source.raw, source
        try:
            project.take_part(module, changed)
        except BaseException:
            self._project = None
            raise
        return True

    def close(self, path: str) -> None:
        """Go back to the file on disk; the next look reads it."""
        self._buffers.pop(path, None)
        self._broken.pop(path, None)

    def _changed(self, path: str) -> None:
        """A file has another text now."""
        if self._project is not None and path in self._project.paths:
            self._project.take(path)
        else:  # a new file: what imports lead to it is to be found out
            self._project = None

    def configure(self, settings: Settings) -> None:
        """Other settings from now on."""
        self.settings = settings
        self._project = None

    def excluded(self, path: str) -> bool:
        """Whether the settings leave the file out."""
        return excluded(path, self.settings)

    def is_current(self) -> bool:
        """Whether the files on disk are those that were read, less what editors hold."""
        return all(file.stamp == _stamp(path) for path, file in self._files.items() if path not in self._buffers)

    def source(self, path: str) -> Source | None:
        """The file that a finding or a related place is in."""
        if path in self._broken:
            try:
                return Source.of(path, self._broken[path])
            except Exception:  # noqa: BLE001 - a look at it tells
                return None
        file = self._files.get(path) or self.read(path)
        return file.source

    def read(self, path: str) -> File:
        """The file as it is now: the editor's last good text, or the disk's."""
        known = self._files.get(path)
        stamp = known.stamp if known is not None and path in self._buffers else _stamp(path)
        if known is None or known.stamp != stamp:
            known = self._files[path] = _read(path, stamp)
        return known

    def others(self, path: str) -> Others:
        """What gives the other files of the project that hold a word; scripts that are no modules are looked for once."""
        beside = lru_cache(maxsize=1)(lambda: () if self.loose else tuple(importing(scripts(str(self.root)))))

        def holding(word: bytes) -> Iterator[Source]:
            for other in self.paths([path]):
                source = self.source(other) if other != path else None
                if source is not None and word in source.data:
                    yield source
            yield from (source for source in beside() if word in source.data)

        return holding

    def _name(self, path: str) -> tuple[str, bool]:
        if self._project is not None:
            return self._project.name(path)
        known = self._files.get(path)
        return (known.module.name, known.module.is_package) if known and known.module else (Path(path).stem, False)

    # Findings

    def glance(self, path: str) -> Result:
        """The findings of one file after an edit, at once: the disk is not asked what else has changed."""
        if path in self._broken or self._project is None or path not in self._files:
            return self.look([path])[path]
        return self._lint(self._project, [path], self._torch)

    def look(self, paths: Sequence[str], stop: Stop = lambda: False) -> dict[str, Result]:
        """The findings of some files. Raises Interrupted once `stop` says so."""
        good = [path for path in paths if path not in self._broken]
        found = {path: lint({path: data}, self.settings) for path, data in self._broken.items() if path in paths}
        if good:
            project = self._current(good)
            project.look_anew()
            project.stop = stop
            try:
                found.update(_by_path(self._lint(project, good, {}), good))
            finally:
                project.stop = lambda: False
            self._is_warm = True
        return found

    def _current(self, linted: Sequence[str]) -> Warm:
        """The project with the files as they are now."""
        paths = self.paths(linted)
        if self._project is None or self._project.paths != sorted(paths, key=self._project.home):
            self._project = Warm(self.read, paths)
        for path, file in list(self._files.items()):
            if path not in self._buffers and file.stamp != _stamp(path):
                del self._files[path]
                self._project.take(path)
        return self._project

    def _lint(self, project: Warm, paths: Sequence[str], torch: Mapping[str, Range | None]) -> Result:
        """The findings of some files of a project, where that is known of its torch."""
        for path in paths:
            project.module(path)
        analysis = Analysis(project, self.settings)
        project.ask_again(analysis)
        analysis.know_torch(torch)
        before, index = project.index, Index(analysis, self.settings)
        if before is not None:
            project.renew(lambda atom: index.is_other(before, atom))
        project.index = index
        _ = index.renames, index.step_index  # before an edit makes others of them
        result = lint_project(project, paths, self.settings, analysis=analysis)
        self._torch = analysis.known_torch
        if project.faults:
            self._project = None  # what failed may go right the next time
        return result

    def paths(self, linted: Iterable[str]) -> list[str]:
        """Every file of the project, from the disk and from editors; what is gone is forgotten."""
        if self.loose:
            return sorted({*linted, *self._buffers.keys() & self._files.keys()})
        files = ProjectFiles(Path.cwd(), (), self.settings)
        context = ProjectFiles(project_root(Path()), files, self.settings)
        known = {normal(str(path)) for path in (*files, *context)}
        known.update(linted, (path for path in self._buffers if path in self._files))
        for path in self._files.keys() - known:
            del self._files[path]
        return sorted(known)


def _stamp(path: str) -> object:
    try:
        stat = os.stat(path)
    except OSError as error:
        return error.strerror
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _read(path: str, stamp: object) -> File:
    try:
        return File(stamp, Source.of(path, contents(path)), None)
    except Exception as error:  # noqa: BLE001 - it costs this file, and who asks for it is told
        return File(stamp, None, error)


def _by_path(result: Result, paths: Sequence[str]) -> dict[str, Result]:
    return {
        path: replace(
            result,
            findings=tuple(finding for finding in result.findings if finding.path == path),
            errors=tuple(error for error in result.errors if error.path == path or error.path not in paths),
            files=1,
        )
        for path in paths
    }
