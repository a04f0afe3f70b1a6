"""What the texts of a project's files tell before any is parsed: which of them mention, import, define or may call a name."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..facts.module import Function
from ..settings.home import Home
from ..system.cached import cached_property
from ..system.regex import regex
from ..system.stamp import as_bytes
from ..text.called import How, how_called
from ..text.declared import WORD, called_in, classes_in, defined_in, functions_in, import_text, renamed_in
from ..text.listed import lines_listing
from ..text.source import Source, Words
from ..text.vocabulary import Vocabulary
from ..text.whole_words import quickest
from .files import Files
from .spelled import texts, words_in

_NAMES = regex(rb"[\w\x80-\xff]+")
_STAR = regex(rb"import[\s\\]*\*")
_ALL = b"*"
"""The word of the imports that take all that a module has."""
_OWN_ATTRIBUTE = regex(rb"self\.(\w+)")
_SET_ATTRIBUTE = regex(rb"\.(\w+)[ \t]*=(?!=)")
_FOR_OBJECTS = regex(rb"def(?:(?<![^\n]def)|(?<=\nasync def)) \w+\([ \t\r\n]*(?:self|cls)\b")
"""A function outside of classes that is written as a method, to be put into one."""
MAX_SITES = 8
"""Callers that many hardly agree on what they pass."""
MAX_FILES = 40
"""In how many other files the callers of one function are looked for."""
_SPARE = 8
"""So many more are named where they are too many: that they are stands when some of them change."""
STARTS = Words(b"Process(", b"spawn(", b"Thread(", b"launcher(")
"""What a file holds that gives functions to processes or threads to run."""
T = TypeVar("T")


class Sought(NamedTuple):
    """A function whose callers are sought in other files, as far as their texts tell."""

    path: str
    module: str
    """Dotted name of the module there."""
    imported: str
    """What an import names for it: its own name, or that of its class."""
    name: str
    """What a call names."""

    @property
    def stem(self) -> bytes:
        """The last word of the module's name."""
        return as_bytes(self.module.rpartition(".")[2])

    @property
    def package(self) -> bytes:
        """The word before it, b"" where there is none."""
        return as_bytes(self.module.rpartition(".")[0].rpartition(".")[2])

    @property
    def packages(self) -> list[bytes]:
        """The words of the packages that the module lies in."""
        return [as_bytes(word) for word in self.module.split(".")[:-1]]


class Texts(Files):
    """The files of a project, and what their texts tell."""

    def __init__(
        self, files: Mapping[str, Callable[[], bytes]], home: Home | None = None, *, noting: bool = False
    ) -> None:
        """With `noting`, it is known what each answer depends on."""
        super().__init__(files, home, noting=noting)
        self._import_words: dict[str, frozenset[bytes]] = {}
        self._module_importers: dict[tuple[str, str], list[str]] = {}
        self._lineages: dict[str, frozenset[str]] = {}
        self._lineages_of: dict[str, frozenset[str]] = {}
        self._held: dict[tuple[bytes, str], tuple[bool, bytes]] = {}
        """Whether any file of some places holds a pattern, and the word that is in whatever it matches."""
        self._holders: dict[bytes, tuple[frozenset[str], bytes]] = {}
        """The files that hold a pattern, likewise."""
        self._said: dict[str, dict[str, Any]] = {}
        self._rewritten: set[str] = set()
        """Files that have another text than when `_called_behind` was made."""

    def leave_out(self, path: str) -> None:
        super().leave_out(path)
        self._import_words.pop(path, None)
        self._rewritten.add(path)
        self.__dict__.pop("_vocabulary", None)

    def may_hold(self, path: str, name: str) -> bool:
        """Whether a file may define or import the name, as far as its text tells: most need not be parsed to know."""
        return self.mentions(path, name) or self._has_star(path)

    def may_import(self, path: str, name: str) -> bool:
        """Whether a file may import the name, as far as its text tells."""
        return as_bytes(name) in self.import_words(path) or self._has_star(path)

    def _has_star(self, path: str) -> bool:
        source = self.source(path)
        return source is not None and source.holds(_STAR)

    def mentioning(self, sought: Sought) -> list[str] | None:
        """The files that may use what is sought, sorted; None where there are too many."""
        found = self._users(sought)
        return sorted(found) if len(found) <= MAX_FILES else None

    def _users(self, sought: Sought) -> list[str]:
        """The same; of too many some, and always the same."""
        importers = self.naming(as_bytes(sought.imported))
        # Whose import names it mentions it.
        found = [path for path in importers if path != sought.path] if sought.name == sought.imported else []
        if len(found) > MAX_FILES:
            return found[: MAX_FILES + _SPARE]
        paths = {*importers, *self._importing(sought)}
        paths |= {*self._by_package(sought)} - paths
        paths -= {sought.path}
        for path in sorted(paths.difference(found)):
            if len(found) > MAX_FILES + _SPARE:
                return found
            if self.mentions(path, sought.name):
                found.append(path)
        if len(found) > MAX_FILES:
            return found
        stars = self.naming(_ALL) if sought.name == sought.imported else ()
        handed = [
            path for path in stars if path not in paths and path != sought.path and self.mentions(path, sought.name)
        ]
        # Where too many take all of something, none of them is looked at.
        return found + handed if len(found) + len(handed) <= MAX_FILES else found

    def _importing(self, sought: Sought) -> list[str]:
        """The files that may import the module of what is sought."""
        key = (sought.path, sought.module)
        if key not in self._module_importers:
            paths = self.naming(sought.stem)
            self._module_importers[key] = [path for path in paths if self._imports_module(path, sought)]
        return self._module_importers[key]

    def _by_star(self, path: str, sought: Sought) -> bool:
        """Whether a file may have a function or class from a module that hands on all it has: `from .agents import *`."""
        return sought.name == sought.imported and _ALL in self.import_words(path)

    def _by_package(self, sought: Sought) -> Iterator[str]:
        """The files that may use it as a package hands it on: `import package`, `package.Trainer()`."""
        calling = self._may_call_behind(sought.imported) if sought.packages else ()
        return (path for path in calling if self._names_by_package(path, sought))

    def _may_call_behind(self, name: str) -> Collection[str]:
        return (*self._calling_behind(name), *self._rewritten)

    def calling(self, name: str) -> frozenset[str]:
        """The files that call something of that name behind a dot."""
        known = frozenset(self._calling_behind(name))
        if not self._rewritten:
            return known
        call = b".%s(" % as_bytes(name)
        return (known - self._rewritten).union(path for path in self._rewritten if call in self._raw(path))

    def _calling_behind(self, name: str) -> list[str]:
        return self._called_behind.get(name, [])

    @cached_property
    def _called_behind(self) -> dict[str, list[str]]:
        """The files by the names that they call behind a dot."""
        found: dict[str, list[str]] = {}
        for path in self.paths:
            for name in self.fact(path, "called behind", called_in) or ():
                found.setdefault(name, []).append(path)
        return found

    def _names_by_package(self, path: str, sought: Sought) -> bool:
        """Whether a file writes the name behind that of a package above the module, or of the module."""
        if self.import_words(path).isdisjoint(sought.packages):
            return False
        data = self._raw(path)
        return any(b"%s.%s(" % (word, as_bytes(sought.imported)) in data for word in (*sought.packages, sought.stem))

    def _imports_module(self, path: str, sought: Sought) -> bool:
        words = self.import_words(path)
        # From outside its package, `generation.utils` is not imported without the word `generation`.
        near = not sought.package or sought.package in words or self.home(path).startswith(self._package_of(sought))
        return near and sought.stem in words

    def _package_of(self, sought: Sought) -> str:
        """Where the files lie of the package that a module is part of: what their places begin with."""
        folder, _, file = self.home(sought.path).rpartition("/")
        folder = folder.rpartition("/")[0] if file.startswith("__init__.") else folder
        return f"{folder}/" if folder else ""

    def may_use(self, path: str, sought: Sought) -> bool:
        """Whether one file would be among those that may use what is sought."""
        imported = (
            as_bytes(sought.imported) in self.import_words(path)
            or self._imports_module(path, sought)
            or self._names_by_package(path, sought)
            or self._by_star(path, sought)
        )
        return path != sought.path and imported and self.mentions(path, sought.name)

    def may_call(self, path: str, name: str) -> bool:
        """Whether a file may call something of that name, as far as its text tells: under this or another one, or by a process."""
        word = as_bytes(name)
        if word + b"(" in self._raw(path):
            return True
        source = self.source(path)
        return self._imports_as(path, word) or (source is not None and source.holds(STARTS))

    def called_as(self, path: str, name: str) -> How:
        """How a file may call something of that name, as far as its text tells: under this or another one, or by a process."""
        source = self.source(path)
        if source is None:
            return ""
        word = as_bytes(name)
        how = source.fact(f"called {name}", lambda source: how_called(source.data, word))
        if how == "any" or (how == "own" and source.holds(_FOR_OBJECTS)):
            return "any"
        return "any" if source.holds(STARTS) or self._imports_as(path, word) else how

    def _imports_as(self, path: str, word: bytes) -> bool:
        """Whether a file gives another name to what it imports by this one."""
        words = self.import_words(path)
        return (
            b"as" in words
            and word in words
            and re.search(re.escape(word) + rb"[\s\\]+as\b", self.import_text(path)) is not None
        )

    def lines_listing(self, path: str, name: str) -> list[int]:
        """The lines of a file where a name may be a value of a dictionary, as far as the text tells."""
        source, word = self.source(path), as_bytes(name)
        return source.told_lines(f"values {name}", lambda one: lines_listing(one, word)) if source is not None else []

    def listing(self, path: str, name: str) -> Mapping[Function, Collection[int]]:
        """The functions of a file with those of their lines where a name may be a value of a dictionary."""
        lines = self.lines_listing(path, name)
        module = self.module(path) if lines else None
        return module.functions_at(lines) if module is not None else {}

    def writes(self, path: str, text: str) -> bool:
        """Whether a text stands in a file."""
        source, wanted = self.source(path), as_bytes(text)
        return source is not None and source.mentions(_longest_name(wanted)) and wanted in source.data

    def mentions(self, path: str, name: str) -> bool:
        """Whether the name stands anywhere in a file."""
        source = self.source(path)
        return source is not None and source.mentions(as_bytes(name))

    def _raw(self, path: str) -> bytes:
        source = self.source(path)
        return source.data if source is not None else b""

    @cached_property
    def _callable_words(self) -> frozenset[str]:
        """The names that the project gives to functions and attributes: what else is called is not its own."""
        return frozenset(word.decode() for word in frozenset[bytes]().union(*map(self.own_words, self.paths)))

    def own_words(self, path: str) -> frozenset[bytes]:
        """The names that a file gives to functions and attributes."""
        source = self.source(path)
        if source is None:
            return frozenset()
        data = source.data
        # Each begins with something literal, which is many times quicker to look for.
        return frozenset(
            (*source.fact("defined", defined_in), *_OWN_ATTRIBUTE.findall(data), *_SET_ATTRIBUTE.findall(data))
        )

    def defined(self, path: str) -> frozenset[bytes]:
        """The names of the functions that a file defines, as far as its text tells."""
        source = self.source(path)
        return source.fact("defined", defined_in) if source is not None else frozenset()

    def import_words(self, path: str) -> frozenset[bytes]:
        """The words of a file's import statements."""
        if path not in self._import_words:
            import_text = self.import_text(path)
            words = frozenset(WORD.findall(import_text))
            # What a package hands on it seldom calls itself.
            if _ALL in import_text and not path.endswith("__init__.py"):
                words |= {_ALL}
            self._import_words[path] = words
        return self._import_words[path]

    def import_text(self, path: str) -> bytes:
        """The text of a file's import statements."""
        source = self.source(path)
        return source.fact("imports", import_text) if source is not None else b""

    @cached_property
    def renames(self) -> dict[str, set[str]]:
        """The other names that imports anywhere in the project give to things, with what they stand for: `DL` for `DataLoader`."""
        found: dict[str, set[str]] = {}
        for path in self.paths:
            for name, alias in self.fact(path, "renames", renamed_in) or ():
                found.setdefault(alias, set()).add(name)
        for names_ in found.values():
            # `from a import B as C` behind `from d import E as B`
            todo = list(names_)
            while todo:
                new = found.get(todo.pop(), set()) - names_
                names_ |= new
                todo += new
        return found

    def renamed(self, name: str) -> list[str]:
        """The other names that imports anywhere in the project give to something."""
        return self._aliases.get(name, [])

    @cached_property
    def _aliases(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for alias, others in self.renames.items():
            for name in others:
                found.setdefault(name, []).append(alias)
        return found

    def fact(self, path: str, name: str, find: Callable[[Source], T]) -> T | None:
        """What a file says by itself, as plain data by that name; None where it can't be read."""
        source = self.source(path)
        return source.fact(name, find) if source is not None else None

    def said(self, name: str, find: Callable[[Source], T]) -> Mapping[str, T]:
        """What files say by themselves, as plain data by that name: of those that say anything."""
        if name not in self._said:
            told = ((path, self.fact(path, name, find)) for path in self.paths)
            self._said[name] = {path: found for path, found in told if found}
        return self._said[name]

    def holds(self, path: str, pattern: re.Pattern[bytes], words: frozenset[bytes] = frozenset()) -> bool:
        """Whether a file holds a pattern; one of the words, if there are any, is in whatever it matches."""
        return bool(self.fact(path, *holding(pattern, words)))

    def any_holds(self, pattern: bytes, places: str = "", *, word: bytes = b"") -> bool:
        """Whether any file of the project holds the pattern, of those whose places begin with another one (regular expressions).

        `word` is in whatever it matches.
        """
        if (pattern, places) not in self._held:
            regex, begins = re.compile(pattern), re.compile(places).match
            paths = (path for path in self._looked_through(regex, word) if begins(self.home(path)) is not None)
            self._held[pattern, places] = any(self.holds(path, regex, words_of(word)) for path in paths), word
        return self._held[pattern, places][0]

    def holders(self, pattern: bytes, *, word: bytes = b"") -> frozenset[str]:
        """The files of the project that hold the pattern (a regular expression); `word` is in whatever it matches."""
        if pattern not in self._holders:
            regex, words = re.compile(pattern), words_of(word)
            found = frozenset(path for path in self._looked_through(regex, word) if self.holds(path, regex, words))
            self._holders[pattern] = found, word
        return self._holders[pattern][0]

    def _looked_through(self, pattern: re.Pattern[bytes], word: bytes) -> Sequence[str]:
        """The files that may hold a pattern, by a word that is in whatever it matches; all where there is none."""
        name = _longest_name(word)
        return [self.paths[number] for number in self._vocabulary.holding(name)] if name else self.paths

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        sources = map(self.source, self.paths)
        return Vocabulary(source.words if source is not None else b"" for source in sources)

    def spells(self, word: str) -> bool:
        """Whether a configuration, a page or another text beside the files may have a word."""
        return self._spelled is None or word in self._spelled

    @cached_property
    def _spelled(self) -> frozenset[str] | None:
        return words_in(texts(self.home.root))

    def heirs(self, name: str) -> list[tuple[str, str]]:
        """The classes that mention the name of a class among their bases, each by its file and its own name."""
        return self._heirs.get(name, [])

    @cached_property
    def _heirs(self) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for path in self.paths:
            for name, bases in self.fact(path, "classes", classes_in) or ():
                for base in bases:
                    found.setdefault(base, []).append((path, name))
        return found

    def lineage(self, name: str) -> frozenset[str]:
        """The files with classes that may inherit from one of that name, as far as their texts tell."""
        if name not in self._lineages:
            seen, todo = {name}, [name]
            found: set[str] = set()
            while todo:
                base = todo.pop()
                new = set(self._aliases.get(base, ()))
                for path, heir in self._heirs.get(base, ()):
                    found.add(path)
                    new.add(heir)
                todo += new - seen
                seen |= new
            self._lineages[name] = frozenset(found)
        return self._lineages[name]

    def lineage_of(self, part: str) -> frozenset[str]:
        """The files with classes that may inherit from one whose name holds some part, as far as their texts tell."""
        if part not in self._lineages_of:
            found = (self.lineage(name) for name in self._heirs if part in name)
            self._lineages_of[part] = frozenset[str]().union(*found)
        return self._lineages_of[part]

    def definers(self, name: str) -> list[str]:
        """The files that define a function or method of that name."""
        return self._defining(name)

    def _defining(self, name: str) -> list[str]:
        return self._definers.get(name, [])

    @cached_property
    def _definers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.paths:
            for name in self.fact(path, "functions", functions_in) or ():
                found.setdefault(name, []).append(path)
        return found

    def naming(self, word: bytes) -> list[str]:
        """The files whose import statements hold a word."""
        return self._importers.get(word, [])

    @cached_property
    def _importers(self) -> dict[bytes, list[str]]:
        """The files by the words of their import statements."""
        found: dict[bytes, list[str]] = {}
        for path in self.paths:
            for word in self.import_words(path):
                found.setdefault(word, []).append(path)
        return found


def words_of(word: bytes) -> frozenset[bytes]:
    """The words that `Texts.holds` is told of, where it is one or none."""
    return frozenset((word,)) if word else frozenset()


@functools.lru_cache(maxsize=512)
def _longest_name(text: bytes) -> bytes:
    """The longest name, or part of one, in a text; the few names of a file are quicker to search than all of it."""
    return max(_NAMES.findall(text), key=len, default=b"")


@functools.lru_cache(maxsize=512)
def holding(pattern: re.Pattern[bytes], words: frozenset[bytes]) -> tuple[str, Callable[[Source], bool]]:
    """The fact that a file holds a pattern: its name, and how it is found."""
    sought = Words(*sorted(words), pattern=pattern) if words else quickest(pattern)
    in_words = list(map(_longest_name, words))
    name = f"holds {pattern.flags} {pattern.pattern.decode('latin-1')}"

    def find(source: Source) -> bool:
        if in_words and not any(map(source.mentions, in_words)):
            return False
        if source.is_remembered:
            return (not words or any(word in source.data for word in words)) and source.holds(pattern)
        return sought.search(source.data) is not None

    return name, find
