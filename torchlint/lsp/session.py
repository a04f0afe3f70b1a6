"""A project kept warm between edits: what an editor asks again and again, answered from what is known already.

`glance` looks at one edited file with the answers that other files gave before; `look` works every answer out anew from
the parsed files, as the command line does, and can be interrupted. What `look` says is what `torchlint check` says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from ..facts.evaluate import Evaluator
from ..facts.module import Class, Function, Module
from ..lint.run import Result, lint, lint_project
from ..program.project import Project, Sought, normal
from ..settings.config import Settings
from ..settings.discover import ProjectFiles, excluded
from ..settings.home import project_root
from ..system.stamp import as_bytes, contents
from ..text.source import Source


class Interrupted(BaseException):
    """A look was given up because its answer is not wanted any more. Not an Exception: no rule may swallow it."""


_NAMES = frozenset(("definition", "canonical", "is module"))
"""Questions about what files bring to each other by name."""
T = TypeVar("T", Function, Class)
Stop = Callable[[], bool]
"""Whether a look should be given up."""


@dataclass(slots=True)
class _File:
    """A file as last read: `stamp` says whether it is still the same, `module` is its tree once somebody asked."""

    stamp: object
    source: Source | None
    error: Exception | None
    module: Module | None = None
    own_words: frozenset[bytes] | None = None
    import_text: bytes | None = None


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
        self._files: dict[str, _File] = {}
        self._project: _Warm | None = None

    @property
    def warm(self) -> bool:
        """Whether a look has come to its end, so that a glance is quick."""
        return self._project is not None

    @property
    def known(self) -> int:
        """How many files have been read."""
        return len(self._files)

    # Files

    def edit(self, path: str, data: bytes) -> None:
        """Take what an editor holds in place of the file on disk."""
        self._buffers[path] = data
        self._broken.pop(path, None)
        try:
            source = Source.of(path, data)
            module = Module(source, *self._name(path))
        except Exception:  # noqa: BLE001 - a look at it will tell
            self._broken[path] = data
            return
        before = self._files.get(path)
        self._files[path] = _File(data, source, None, module)
        if before is not None and before.module is not None:
            _adopt(before.module, module)
        if self._project is not None:
            self._project.replace(path, before.module if before is not None else None, module)

    def close(self, path: str) -> None:
        """Go back to the file on disk; the next look reads it."""
        self._buffers.pop(path, None)
        self._broken.pop(path, None)

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

    def read(self, path: str) -> _File:
        """The file as it is now: the editor's last good text, or the disk's."""
        known = self._files.get(path)
        stamp = known.stamp if known is not None and path in self._buffers else _stamp(path)
        if known is None or known.stamp != stamp:
            known = self._files[path] = _read(path, stamp)
        return known

    def others(self, path: str, word: bytes) -> Iterator[Source]:
        """The other files of the project that hold a word."""
        for other in self.paths([path]):
            source = self.source(other) if other != path else None
            if source is not None and word in source.data:
                yield source

    def _name(self, path: str) -> tuple[str, bool]:
        if self._project is not None:
            return self._project.name(path)
        known = self._files.get(path)
        return (known.module.name, known.module.is_package) if known and known.module else (Path(path).stem, False)

    # Findings

    def glance(self, path: str) -> Result:
        """The findings of one file after an edit, at once: facts of other files are those of the last look."""
        if path in self._broken or self._project is None or path not in self._project.parsed:
            return self.look([path])[path]
        return lint_project(self._project, [path], self.settings)

    def look(self, paths: Sequence[str], stop: Stop = lambda: False) -> dict[str, Result]:
        """The findings of some files, exactly. Raises Interrupted once `stop` says so."""
        good = [path for path in paths if path not in self._broken]
        found = {path: lint({path: data}, self.settings) for path, data in self._broken.items() if path in paths}
        if good:
            project = _Warm(self, self.paths(good), stop)
            for path in good:
                project.module(path)
            result = lint_project(project, good, self.settings)
            self._project = project
            found.update(_by_path(result, good))
        return found

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


class _Warm(Project):
    """A project that takes the parsed files of a session."""

    def __init__(self, session: Session, paths: Sequence[str], stop: Stop) -> None:
        super().__init__({path: lambda: b"" for path in paths})
        self._session = session
        self._stop = stop
        self._kept: dict[str, _File] = {}
        self._searches: dict[Sought, list[str] | None] = {}

    def mentioning(self, sought: Sought) -> list[str] | None:
        if sought not in self._searches:
            self._searches[sought] = super().mentioning(sought)
        return self._searches[sought]

    def _file(self, path: str) -> _File:
        """The file as it was when this project first asked for it."""
        if path not in self._kept:
            self._pause()
            self._kept[path] = self._session.read(path)
        return self._kept[path]

    def name(self, path: str) -> tuple[str, bool]:
        """The dotted name of a file, and whether it is a package."""
        return self._name(path)

    def source(self, path: str) -> Source | None:
        if path not in self._sources:
            file = self._file(path)
            self._sources[path] = file.source
            if file.error is not None:
                self.unread(path, file.error)
        return self._sources[path]

    def module(self, path: str) -> Module | None:
        if path not in self._modules:
            self._pause()
            self._modules[path] = self._parsed(path)
        return self._modules[path]

    def _parsed(self, path: str) -> Module | None:
        source = self.source(path)
        if source is None:
            return None
        file = self._file(path)
        name = self._name(path)
        if file.module is None or (file.module.name, file.module.is_package) != name:
            file.module = self.parse(source, *name)
        return file.module

    def own_words(self, path: str) -> frozenset[bytes]:
        file = self._file(path)
        if file.own_words is None:
            file.own_words = super().own_words(path)
        return file.own_words

    def import_text(self, path: str) -> bytes:
        file = self._file(path)
        if file.import_text is None:
            file.import_text = super().import_text(path)
        return file.import_text

    def evaluator(self, function: Function) -> Evaluator:
        self._pause()
        return super().evaluator(function)

    def _pause(self) -> None:
        if self._stop():
            raise Interrupted

    def replace(self, path: str, before: Module | None, module: Module) -> None:
        """Take an edited file in: what was known of its own functions is forgotten, and who calls what it mentions."""
        self._stop = lambda: False
        uses = {sought: self.may_use(path, sought) for sought in self._searches}
        self._sources[path] = module.source
        self._modules[path] = module
        self.errors.pop(path, None)
        if path not in self.paths or before is None:
            self._session.configure(self._session.settings)  # a new file: what imports lead to it is to be found out
            return
        own = (before, module)
        for function in [function for function in self._evaluators if function.module in own]:
            del self._evaluators[function]
        others = _NAMES if _skeleton(before) != _skeleton(module) else frozenset[str]()
        self._database.forget(lambda key: key[0] in others or self._is_stale(key, own))
        self._held.clear()
        self._holders.clear()
        if others:
            self.__dict__.pop("_heirs", None)
        imports, words = self.import_text(path), self.own_words(path)
        del self._kept[path]
        if imports != self.import_text(path):
            self._import_words.pop(path, None)
            self._module_importers.clear()
            self.__dict__.pop("_importers", None)
            self.__dict__.pop("renames", None)
        for sought, used in uses.items():
            if used != self.may_use(path, sought):
                del self._searches[sought]
        if words != self.own_words(path):
            self.__dict__.pop("_callable_words", None)
            self.__dict__.pop("_definers", None)

    def _is_stale(self, key: tuple[Any, ...], own: tuple[Module, Module]) -> bool:
        kind, owner = key[0], key[1]
        if isinstance(owner, Module):
            return owner in own or (kind == "named" and any(as_bytes(key[2]) in one.source.data for one in own))
        if not isinstance(owner, Function | Class):
            return False
        if owner.module in own:
            return True
        name = (
            owner.cls.name
            if isinstance(owner, Function) and owner.name == "__init__" and owner.cls is not None
            else owner.name
        )
        return kind == "sites" and any(as_bytes(name) in module.source.data for module in own)


def _stamp(path: str) -> object:
    try:
        stat = os.stat(path)
    except OSError as error:
        return error.strerror
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _read(path: str, stamp: object) -> _File:
    try:
        return _File(stamp, Source.of(path, contents(path)), None)
    except Exception as error:  # noqa: BLE001 - it costs this file, and who asks for it is told
        return _File(stamp, None, error)


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


def _skeleton(module: Module) -> object:
    """What other files can see of a module without reading its functions."""
    return (
        module.name,
        [function.qualname for function in module.functions],
        [(klass.qualname, [_text(module, base) for base in klass.node.bases]) for klass in module.classes],
        module.imports,
        module.stars,
    )


def _text(module: Module, node: object) -> bytes:
    source = module.source
    start = source.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
    return source.data[start : source.offset(node.end_lineno, node.end_col_offset)]  # type: ignore[attr-defined]


def _adopt(before: Module, module: Module) -> None:
    """Keep the functions and classes of a file the same objects over an edit, by name, so that what refers to them stands."""
    functions = _twins(before.functions, module.functions)
    classes = _twins(before.classes, module.classes)
    for new, old in functions.items():
        old.__dict__.clear()
        old.module, old.node, old.imports, old.parent, old.cls = module, new.node, new.imports, new.parent, new.cls
    for klass, twin in classes.items():
        twin.__dict__.clear()
        twin.module, twin.node, twin.parent, twin.methods = module, klass.node, klass.parent, klass.methods
    module.functions = [functions.get(function, function) for function in module.functions]
    module.classes = [classes.get(klass, klass) for klass in module.classes]
    module.body = module.functions[0]
    for function in module.functions:
        function.parent = functions.get(function.parent, function.parent) if function.parent is not None else None
        function.cls = classes.get(function.cls, function.cls) if function.cls is not None else None
    for klass in module.classes:
        klass.parent = functions.get(klass.parent, klass.parent)
        klass.methods = {name: functions.get(method, method) for name, method in klass.methods.items()}


def _twins(before: Sequence[T], after: Sequence[T]) -> dict[T, T]:
    """For each new function or class the old one of its name; of several with one name, the first for the first."""
    known: dict[str, list[T]] = {}
    for old in reversed(before):
        known.setdefault(old.qualname, []).append(old)
    return {new: known[new.qualname].pop() for new in after if known.get(new.qualname)}
