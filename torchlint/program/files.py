"""The files of a project: read and parsed when somebody asks, found by what imports call them; and what answers hang on."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..facts.module import Function, Module
from ..facts.roles import evaluates, is_test, may_run_a_program, runs_a_program
from ..query.closures import Depends
from ..query.database import Database
from ..settings.home import Home
from ..system.cached import cached_property
from ..system.fault import FileError, fault
from ..system.stack import with_room
from ..system.stamp import contents, importable
from ..text import search_path
from ..text.finding import Finding
from ..text.source import Source, SourceError
from .by_file import Told

OUTSIDE = frozenset(("torch", "numpy", "np", "torchvision", "pandas", "scipy")) | sys.stdlib_module_names
"""What no file of a project is imported as."""
_SOURCE_FOLDERS = frozenset(("src", "lib", "python"))
T = TypeVar("T")
Said = tuple[list[Finding], list[FileError]]
"""What rules say of a function, and what failed on the way."""


class How(NamedTuple):
    """How rules are shown a function."""

    dispatch: str
    """The rules that are shown it."""
    lines: frozenset[int] | None
    """The labels of the lines that they are shown; None: all."""
    about: tuple[object, ...]
    """What else they may ask that is known of its file as a whole."""


class Files:
    """The files of a project by path; each is read and parsed at most once, when first asked for."""

    def __init__(
        self, files: Mapping[str, Callable[[], bytes]], home: Home | None = None, *, noting: bool = False
    ) -> None:
        """With `noting`, it is known what each answer depends on."""
        self.home = home or Home()
        """Where the files lie, which names and roles are told from; what they are called here depends on who asks."""
        self._files = files
        self.paths = sorted(files, key=self.home)
        self.errors: dict[str, SourceError | OSError] = {}
        self.faults: list[FileError] = []
        """What torchlint failed at that more than one file may need to be known."""
        self._sources: dict[str, Source | None] = {}
        self._modules: dict[str, Module | None] = {}
        self._database = self._asked_of(noting)
        self._found: dict[tuple[str, str, str], str | None] = {}

    def _asked_of(self, noting: bool) -> Database:
        return Database(place_of, noting=noting)

    # What answers depend on

    def note(self, *atom: str) -> None:
        """Told what the answer that is being worked out depends on."""
        self._database.note(*atom)

    def note_lines(self, module: Module) -> None:
        """Told that the answer that is being worked out tells lines of a file."""
        self.note("text", module.path)

    def note_place(self, function: Function) -> None:
        """Told that the answer that is being worked out tells the place of a function."""
        self.note("text", function.module.path)

    def ask(self, key: tuple[Any, ...], work: Callable[[], T], initial: T) -> T:
        """The answer to a question of others about a part of the project; `initial` stands for it where it asks for itself."""
        return self._database.get(key, work, initial)

    def linked(self, key: tuple[Any, ...], answer: Callable[[], T]) -> T:
        """An answer that is kept elsewhere; what it depends on is noted under the key."""
        return self._database.linked(key, answer)

    def indexed(self, kind: str, find: Callable[[], T]) -> T:
        """What is known of the whole project, of some kind."""
        return self.apart(find)

    def shown(self, function: Function, how: How, look: Callable[[], Said]) -> Said:
        """What rules say of a function that they are shown in some way."""
        return self.linked(("file", function.module.path), look)

    def told_of(self, function: Function, what: str, find: Callable[[], bool]) -> bool:
        """Whether something is so of a function, which takes long to find; kept from run to run by a `dependencies.Recording` alone."""
        return find()

    def apart(self, answer: Callable[[], T]) -> T:
        """An answer that does not belong to the one being worked out."""
        return self._database.apart(answer)

    def hangs_on(self, key: tuple[Any, ...]) -> frozenset[tuple[str, ...]] | None:
        """All that the answer of a key depends on; None where that is not noted."""
        return self._database.leaves(key) if self._database.noting else None

    def all_hang_on(self, keys: Sequence[tuple[Any, ...]]) -> Sequence[Depends | None]:
        """What the answers of several keys depend on; None where that is not noted."""
        return self._database.closures(keys) if self._database.noting else [None] * len(keys)

    # Questions about the whole project; remembered by a `dependencies.Recording` alone

    def asking(
        self, ask: Callable[[Any, Sequence[Any]], Sequence[Any]]
    ) -> Callable[[Any, Sequence[Any]], Sequence[Any]]:
        """How they are asked, given how they are without what is remembered."""
        return ask

    def together(self, find: Callable[[], T]) -> T:
        """What is found by asking several of them, which are remembered then."""
        return find()

    @property
    def is_known(self) -> bool:
        """Whether most of them have their answers."""
        return False

    # What files say by themselves; remembered by a `noting.Noting` alone

    def news(self) -> Told:
        """The facts about files that were found out since this was asked last."""
        return {}

    def hear(self, news: Told) -> None:
        """Take the facts that another process has found out about the same files."""

    # Files

    def refresh(self) -> None:
        """Take in files that were added to the mapping."""
        self.paths = sorted(self._files, key=self.home)
        self.__dict__.pop("_places", None)

    @property
    def parsed(self) -> Mapping[str, Module | None]:
        return self._modules

    def source(self, path: str) -> Source | None:
        """The file, decoded; None where it can't be (the reason is in `errors`)."""
        if path not in self._sources:
            try:
                self._sources[path] = self._read(path)
            except Exception as error:  # noqa: BLE001 - it costs this file
                self.unread(path, error)
                self._sources[path] = None
        return self._sources[path]

    def _read(self, path: str) -> Source:
        return Source.of(path, self._files[path]())

    def unread(self, path: str, error: Exception) -> None:
        """Note why a file can't be read or parsed."""
        if isinstance(error, SourceError | OSError):
            self.errors[path] = error
        else:
            self.faults.append(fault("Reading the file", error, path))

    def raw(self, path: str) -> bytes | OSError:
        """The bytes of a file, or why they can't be had."""
        source = self.source(path)
        if source is not None:
            return source.raw
        try:
            return self._files[path]()
        except OSError as error:
            return error

    def leave_out(self, path: str) -> None:
        """Take a file for one that can't be read."""
        self._sources[path] = self._modules[path] = None

    def module(self, path: str) -> Module | None:
        """The file, parsed; None where it can't be."""
        if path not in self._modules:
            source = self.source(path)
            self._modules[path] = self.parse(source, *self._name(path)) if source is not None else None
        return self._modules[path]

    def module_for_calls(self, path: str, name: str) -> Module | None:
        """The file, parsed, of which nothing but its calls of that name is looked at."""
        return self.module(path)

    def module_for_name(self, path: str, name: str) -> Module | None:
        """The file, parsed, of which nothing but the functions that hold a name is looked at."""
        return self.module(path)

    def numbered(self, path: str, qualname: str, number: int) -> Function | None:
        """The function of a file by its qualified name and its number among those; None where the file can't be parsed."""
        module = self.module(path)
        return module.numbered(qualname, number) if module is not None else None

    def functions_of(self, path: str) -> Sequence[Function]:
        """The functions of a file, for who looks into those that hold loops, and at the names of the others."""
        module = self.module(path)
        return module.functions if module is not None else ()

    def modules_for_imports(self, paths: Iterable[str]) -> list[Module]:
        """Some files, parsed, of which nothing but what they import is looked at; those that can't be are left out."""
        return list(self.modules(paths))

    def modules(self, paths: Iterable[str]) -> Iterator[Module]:
        """Some files, parsed; those that can't be are left out."""
        return (module for path in paths if (module := self.module(path)) is not None)

    def parse(self, source: Source, name: str, is_package: bool) -> Module | None:
        """A file, parsed; None where it can't be (`unread` is told why)."""
        try:
            return with_room(lambda: self._parsed(source, name, is_package))
        except Exception as error:  # noqa: BLE001 - it costs this file
            self.unread(source.path, error)
            return None

    def _parsed(self, source: Source, name: str, is_package: bool) -> Module:
        return Module(source, name, is_package)

    def sound(self, answers: Sequence[T | FileError], instead: T) -> list[T]:
        """The answers to questions about the whole project; what torchlint failed at is noted, and something said `instead`."""
        self.faults += [answer for answer in answers if isinstance(answer, FileError)]
        return [instead if isinstance(answer, FileError) else answer for answer in answers]

    def _name(self, path: str) -> tuple[str, bool]:
        folder, _, file = self.home(path).rpartition("/")
        stem = file.removesuffix(".pyi").removesuffix(".py")
        is_package = stem == "__init__"
        parts = [] if is_package else [stem]
        while folder and f"{folder}/__init__.py" in self._places:
            folder, _, last = folder.rpartition("/")
            parts.append(last)
        return ".".join(reversed(parts)) or stem, is_package

    @cached_property
    def _places(self) -> frozenset[str]:
        """Where all files lie."""
        return frozenset(map(self.home, self._files))

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.paths:
            folder, _, file = self.home(path).rpartition("/")
            stem = file.rpartition(".")[0]
            if stem == "__init__":
                stem = folder.rpartition("/")[2]
            found.setdefault(stem, []).append(path)
        return found

    def called(self, stem: str) -> Sequence[str]:
        """The files and packages of a name."""
        return self._by_stem.get(stem, ())

    def lies(self, place: str) -> bool:
        """Whether an import may find something at a place, a file that is none of the project's or a folder; the cache is told by its frame.

        In a folder without files of the project anything may lie.
        """
        folder, _, name = place.rpartition("/")
        if not any(self.home(path).rpartition("/")[0] == folder for path in self.paths):
            return bool(folder) and self.lies(folder)
        names = importable(os.path.join(self.home.root, folder))
        return any(one == name or one.startswith(f"{name}.") for one in names)

    def find(self, dotted: str, near: Module) -> str | None:
        """The path of the file that `import dotted` in `near` reads, if the project has it."""
        folder = self.home(near.path).rpartition("/")[0]
        return self._find(dotted, folder) or self._put_on_path(dotted, near, folder)

    def _put_on_path(self, dotted: str, near: Module, folder: str) -> str | None:
        """The file that a file finds in a folder which it puts on `sys.path` itself."""
        if dotted.partition(".")[0] in OUTSIDE:
            return None
        found = (self._find(f"{below}.{dotted}", folder) for below in search_path.folders(near.source))
        return next(filter(None, found), None)

    def _find(self, dotted: str, folder: str, but: str = "") -> str | None:
        if but and (found := self._find(dotted, folder)) != but:
            return found  # what is not found anyway need not be left out
        key = (dotted, folder, but)
        if key not in self._found:
            self._found[key] = self._look_for(dotted, folder, but)
        return self._found[key]

    def _look_for(self, dotted: str, folder: str, but: str) -> str | None:
        parts = dotted.split(".")
        if parts[0] in OUTSIDE:
            return None
        tail = "/".join(parts)
        best: tuple[bool, int, str] | None = None
        installed: dict[str, str] = {}
        for path in self._by_stem.get(parts[-1], ()):
            if path == but:
                continue
            place = self.home(path)
            for ending in (f"{tail}.py", f"{tail}/__init__.py", f"{tail}.pyi"):
                if place != ending and not place.endswith(f"/{ending}"):
                    continue
                base = place[: len(place) - len(ending)].rstrip("/")
                if place.startswith("/") and not base:
                    base = "/"
                # What is on sys.path: the script's own folder, one above it, or a source folder beside those.
                anchor = base.rpartition("/")[0] if base.rpartition("/")[2] in _SOURCE_FOLDERS else base
                if not _above(anchor, folder):
                    if self._is_installed(base, parts[0]):
                        installed.setdefault(base, path)
                    continue
                # A package is a folder that nobody imports from by the names in it, but for scripts that lie there.
                found = base == folder or f"{base}/__init__.py" not in self._places, len(base), path
                best = found if best is None or found[:2] > best[:2] else best
        if best is None and len(installed) == 1:
            return next(iter(installed.values()))
        return best[2] if best else None

    def _is_installed(self, folder: str, package: str) -> bool:
        """Whether a package in a folder below others is one that is installed by itself; the cache is told by its frame."""
        if f"{folder}/{package}/__init__.py" not in self._places or f"{folder}/__init__.py" in self._places:
            return False
        settings = os.path.join(self.home.root, folder, "pyproject.toml")
        return f"{folder}/setup.py" in self._places or os.path.exists(settings)

    def in_test(self, path: str, name: str) -> bool:
        """Whether a function of that name in a file is part of a test."""
        place = self.home(path)
        if not is_test(place, name):
            return False
        source = self.source(path) if may_run_a_program(place) and not name.startswith("test_") else None
        return source is None or not runs_a_program(place, source)

    def is_tested(self, function: Function) -> bool:
        """Whether a function is part of a test."""
        path = function.module.path
        return self.in_test(path, "" if evaluates(function, self.home(path)) else function.name)


def place_of(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """What the keys of questions are ordered by: as what they are about stands in the project."""
    kind, owner, *about = key
    path = owner if isinstance(owner, str) else getattr(owner, "module", owner).path
    nodes = [one for one in about if isinstance(one, ast.AST)]
    nodes += [
        node.func for node in nodes if isinstance(node, ast.Call)
    ]  # which stands elsewhere where a process calls it
    words = [str(one) for one in about if not isinstance(one, ast.AST)]
    start = getattr(owner, "start", ())
    return path, start, [_position(node) for node in nodes], kind, words


def _position(node: ast.AST) -> tuple[int, int, int, int]:
    where = (getattr(node, name, 0) or 0 for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))
    line, column, end_line, end_column = where
    return line, column, end_line, end_column


def _above(folder: str, inner: str) -> bool:
    """Whether `folder` is `inner` or one of the folders around it."""
    return folder in ("", ".") or inner == folder or inner.startswith(f"{folder.rstrip('/')}/")


def read(path: str) -> Callable[[], bytes]:
    """A reader of one file's bytes."""

    return lambda: contents(path)


def normal(path: str) -> str:
    """A path as the project knows it: forward slashes, no `./` in front."""
    return os.path.normpath(path).replace(os.sep, "/")
