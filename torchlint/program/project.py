"""The whole project, read as far as somebody asks: names across files, callers, what functions take and give."""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ..facts import layers, names
from ..facts import torch_table as table
from ..facts.calls import MODEL_NAME, calculated, held
from ..facts.chosen import Choice
from ..facts.evaluate import Evaluator, Given
from ..facts.module import Class, Function, Module
from ..facts.nearby import CALLS, nodes_on
from ..facts.promises import promised
from ..facts.roles import is_test
from ..facts.values import BOOL, DICT, PROVEN, TUPLE, UNKNOWN, Dict, List, Tensor, Tuple, Value, constant, join, replace
from ..query.database import Database
from ..settings.home import Home
from ..system.cached import cached_property
from ..system.fault import FileError, fault
from ..system.regex import regex
from ..system.stack import with_room
from ..system.stamp import as_bytes, contents
from ..text.called import How, how_called
from ..text.finding import Finding
from ..text.source import Source, SourceError, Words
from ..text.whole_words import quickest
from .constructions import constructions

# Up to the end of the line, beyond it behind a backslash and in parentheses.
_IMPORT = regex(
    rb"(?:^|[:;])[ \t]*(?:from|import)[ \t\\](?:[^\n(\\]|\\\r?\n)*(?:\((?:[^)#]|#[^\n]*)*\)?)?", re.MULTILINE
)
_IMPORT_HEAD = regex(rb"(?:^|[:;])[ \t]*(?:from|import)[ \t\\]", re.MULTILINE)
_BEHIND = regex(rb"\.([\w\x80-\xff]+)\(")
_STAR = regex(rb"import[\s\\]*\*")
_RENAME = regex(rb"\b(\w+)[\s\\]+as[\s\\]+(\w+)")
_DEF = regex(rb"def[ \t]+(\w+)")
_CLASS = regex(rb"class[ \t]+(\w+)[ \t]*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_OWN_ATTRIBUTE = regex(rb"self\.(\w+)")
_SET_ATTRIBUTE = regex(rb"\.(\w+)[ \t]*=(?!=)")
_FOR_OBJECTS = regex(rb"def(?:(?<![^\n]def)|(?<=\nasync def)) \w+\([ \t\r\n]*(?:self|cls)\b")
"""A function outside of classes that is written as a method, to be put into one."""
_WORD = regex(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_OUTSIDE = frozenset(("torch", "numpy", "np", "torchvision", "pandas", "scipy")) | sys.stdlib_module_names
_SOURCE_FOLDERS = frozenset(("src", "lib", "python"))
# Methods that are called in other ways than by name, or whose names are too common to find callers by.
GENERIC = frozenset("forward __call__ __getitem__ __len__ __iter__ __next__ get call apply to".split())
_OF_EACH_MODULE = frozenset(
    """apply bfloat16 buffers children compile cpu cuda double eval extra_repr float half load_state_dict modules
    named_buffers named_children named_modules named_parameters parameters register_buffer register_parameter
    requires_grad_ share_memory state_dict to to_empty train type xpu zero_grad""".split()
)
MAX_SITES = 8
"""Callers that many hardly agree on what they pass."""
MAX_GIVERS = 16
"""Callers of one helper that may still agree on what they pass."""
MAX_CONSTRUCTIONS = 20
"""So many scripts may make an object of one class: a trainer, with their models and criteria."""
MAX_FILES = 40
"""In how many other files the callers of one function are looked for."""
MOST_HEIRS = 40
"""Classes that many hardly stand for one thing: a call of their common method tells of none."""

Said = tuple[list[Finding], list[FileError]]
"""What rules say of a function, and what failed on the way."""


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call of a function, and the function it stands in.

    `given` holds the arguments where the call passes them on: `Process(target=train, args=(a, b))`.
    """

    function: Function
    call: ast.Call
    given: ast.Call | None = None


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


T = TypeVar("T")


class Project:
    """The files of a project by path; each is read, parsed and evaluated at most once, when first asked for."""

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
        self._evaluators: dict[Function, Evaluator] = {}
        self._found: dict[tuple[str, str, str], str | None] = {}
        self._import_words: dict[str, frozenset[bytes]] = {}
        self._module_importers: dict[tuple[str, str], list[str]] = {}
        self._lineages: dict[str, frozenset[str]] = {}
        self._lineages_of: dict[str, frozenset[str]] = {}
        self._held: dict[tuple[bytes, str], bool] = {}
        self._holders: dict[bytes, frozenset[str]] = {}
        self._rewritten: set[str] = set()
        """Files that have another text than when `_called_behind` was made."""

    def _asked_of(self, noting: bool) -> Database:
        return Database(place_of, noting=noting)

    # What answers depend on

    def note(self, *atom: str) -> None:
        """Told what the answer that is being worked out depends on."""
        self._database.note(*atom)

    def note_lines(self, module: Module) -> None:
        """Told that the answer that is being worked out tells lines of a file."""
        self.note("text", module.path)

    def ask(self, key: tuple[Any, ...], work: Callable[[], T], initial: T) -> T:
        """The answer to a question of others about a part of the project; `initial` stands for it where it asks for itself."""
        return self._database.get(key, work, initial)

    def linked(self, key: tuple[Any, ...], answer: Callable[[], T]) -> T:
        """An answer that is kept elsewhere; what it depends on is noted under the key."""
        return self._database.linked(key, answer)

    def indexed(self, kind: str, find: Callable[[], T]) -> T:
        """What is known of the whole project, of some kind."""
        return self.apart(find)

    def shown(self, function: Function, how: Hashable, look: Callable[[], Said]) -> Said:
        """What rules say of a function that they are shown in some way."""
        return self.linked(("file", function.module.path), look)

    def apart(self, answer: Callable[[], T]) -> T:
        """An answer that does not belong to the one being worked out."""
        return self._database.apart(answer)

    def hangs_on(self, key: tuple[Any, ...]) -> tuple[tuple[str, ...], ...] | None:
        """All that the answer of a key depends on; None where that is not noted."""
        return tuple(sorted(self._database.leaves(key))) if self._database.noting else None

    # Questions about the whole project; remembered by a `dependencies.Recording` alone

    def asking(
        self, ask: Callable[[Any, Sequence[Any]], Sequence[Any]]
    ) -> Callable[[Any, Sequence[Any]], Sequence[Any]]:
        """How they are asked, given how they are without what is remembered."""
        return ask

    @property
    def is_known(self) -> bool:
        """Whether most of them have their answers."""
        return False

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
        self._import_words.pop(path, None)
        self._rewritten.add(path)

    def module(self, path: str) -> Module | None:
        """The file, parsed; None where it can't be."""
        if path not in self._modules:
            source = self.source(path)
            self._modules[path] = self.parse(source, *self._name(path)) if source is not None else None
        return self._modules[path]

    def parse(self, source: Source, name: str, is_package: bool) -> Module | None:
        """A file, parsed; None where it can't be (`unread` is told why)."""
        try:
            return with_room(lambda: Module(source, name, is_package))
        except Exception as error:  # noqa: BLE001 - it costs this file
            self.unread(source.path, error)
            return None

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

    def find(self, dotted: str, near: Module) -> str | None:
        """The path of the file that `import dotted` in `near` reads, if the project has it."""
        folder = self.home(near.path).rpartition("/")[0]
        return self._find(dotted, folder) or self._put_on_path(dotted, near, folder)

    def _put_on_path(self, dotted: str, near: Module, folder: str) -> str | None:
        """The file that a file finds in a folder which it puts on `sys.path` itself."""
        if dotted.partition(".")[0] in _OUTSIDE:
            return None
        found = (self._find(f"{below}.{dotted}", folder) for below in near.search_path)
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
        if parts[0] in _OUTSIDE:
            return None
        tail = "/".join(parts)
        best: tuple[int, str] | None = None
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
                if _above(anchor, folder) and (best is None or len(base) > best[0]):
                    best = (len(base), path)
        return best[1] if best else None

    def in_test(self, path: str, name: str) -> bool:
        """Whether a function of that name in a file is part of a test."""
        return is_test(self.home(path), name)

    # Names

    def definition(self, name: str, near: Module) -> Function | Class | Module | None:
        """What the project defines under a dotted name that `near` may import."""
        # What asks for itself (a circular re-export) finds nothing.
        nothing: Function | Class | Module | None = None
        return self._database.get(("definition", near, name), lambda: self._definition(name, near), nothing)

    def _definition(self, name: str, near: Module) -> Function | Class | Module | None:
        parts = name.split(".")
        if parts[0] in _OUTSIDE:
            return None
        for length in range(len(parts), 0, -1):
            path = self.find(".".join(parts[:length]), near)
            if path is None:
                continue
            if length == len(parts):
                return self.module(path)
            found = self._member_of(path, parts[length:])
            if found is None and path == near.path:
                # `from model import Net` in `utils/model.py` is about another file of that name.
                folder = self.home(path).rpartition("/")[0]
                other = self._find(".".join(parts[:length]), folder, path)
                found = self._member_of(other, parts[length:]) if other is not None else None
            return found
        # A module that no path leads to, such as a script, still knows its own names.
        if name.startswith(f"{near.name}."):
            return self._member(near, name[len(near.name) + 1 :].split("."))
        return None

    def _member_of(self, path: str, rest: list[str]) -> Function | Class | Module | None:
        module = self.module(path) if self.may_hold(path, rest[0]) else None
        return self._member(module, rest) if module is not None else None

    def _member(self, module: Module, rest: list[str]) -> Function | Class | Module | None:
        first = rest[0]
        if first in module.top_functions:
            return module.top_functions[first] if len(rest) == 1 else None
        if first in module.top_classes:
            klass = module.top_classes[first]
            return klass if len(rest) == 1 else self.method(klass, rest[1]) if len(rest) == 2 else None
        if first in module.imports:
            return self.definition(".".join([module.imports[first], *rest[1:]]), module)
        for origin in module.stars if len(rest) == 1 else ():
            found = self.definition(f"{origin}.{first}", module)
            if found is not None:
                return found
        return None

    def may_hold(self, path: str, name: str) -> bool:
        """Whether a file may define or import the name, as far as its text tells: most need not be parsed to know."""
        return self.mentions(path, name) or self._has_star(path)

    def may_import(self, path: str, name: str) -> bool:
        """Whether a file may import the name, as far as its text tells."""
        return as_bytes(name) in self.import_words(path) or self._has_star(path)

    def _has_star(self, path: str) -> bool:
        source = self.source(path)
        return source is not None and source.holds(_STAR)

    def canonical(self, name: str, near: Module) -> str:
        """A dotted name as `near` imports it, with the project's re-exports followed: `.ops.compile` is `torch.compile`."""
        root = name.partition(".")[0]
        if root == "torch":
            return names.public(name)
        if root in _OUTSIDE:
            return name
        return self._database.get(("canonical", near, name), lambda: self._follow(name, near), name)

    def _follow(self, name: str, near: Module) -> str:
        parts = name.split(".")
        for length in range(len(parts) - 1, 0, -1):
            path = self.find(".".join(parts[:length]), near)
            if path is None:
                continue
            module = self.module(path) if self.may_import(path, parts[length]) else None
            found = self._re_exported(module, parts[length:]) if module is not None else None
            return found if found is not None and module is not None and self._means(found, module, near) else name
        return names.public(name)

    def _means(self, name: str, there: Module, here: Module) -> bool:
        """Whether a name means the same in two files: one of a package in a folder that is none is known beside it alone."""
        root = name.partition(".")[0]
        known = self.find(root, there)
        return known is None or known == self.find(root, here)

    def _re_exported(self, module: Module, rest: list[str]) -> str | None:
        """The name that a module's own import gives to one of its members, None where it has none."""
        first = rest[0]
        own = first in module.top_functions or _derives(module, first)
        if first in module.imports and not own and not _wraps(module, first):
            return self.canonical(".".join([module.imports[first], *rest[1:]]), module)
        if own or first in module.top_classes:
            return None
        return self._starred(module, rest)

    def _starred(self, module: Module, parts: list[str]) -> str | None:
        """The canonical name of what a star import of the project brings in."""
        if module.stars and self.find(f"{module.name}.{parts[0]}", module) is not None:
            return None  # a module of the package
        for origin in module.stars:
            if self.find(origin, module) is None and self.find(origin.partition(".")[0], module) is not None:
                continue  # a file of the project's own package that is not there: its names would lead back here
            name = ".".join([origin, *parts])
            canonical = self.canonical(name, module)
            if canonical != name or self.definition(f"{origin}.{parts[0]}", module) is not None:
                return canonical
        return None

    def resolve(self, function: Function, node: ast.expr) -> str | None:
        """The canonical dotted name of an expression that starts at an import or a builtin, or None."""
        name = names.resolve(function, node)
        if name is not None:
            return self.canonical(name, function.module)
        if function.module.stars:
            parts = names.chain(node)
            if parts is not None and not names.shadowed(function, parts[0]):
                return self._starred(function.module, parts)
        return None

    # Values

    def _ask(self, key: tuple[Any, ...], compute: Callable[[], T], initial: T) -> T:
        """The answer to a question that may lead through other functions; `initial` stands for it where it asks for itself."""
        return self._database.get(key, compute, initial)

    def inside(self, function: Function, ask: Callable[[Evaluator], T]) -> T:
        """What the values of a function say."""
        values = self.evaluator(function)
        database = self._database
        return database.noted(values.answers, lambda: ask(values)) if database.noting else ask(values)

    def evaluator(self, function: Function) -> Evaluator:
        """The values of a function."""
        found = self._evaluators.get(function)
        if found is None:
            found = self._evaluators[function] = Evaluator(function, self, self._database)
        return found

    def value(self, function: Function, node: ast.expr) -> Value:
        """What an expression of a function evaluates to."""
        if type(node) is ast.Constant:
            return constant(node.value)
        if self._database.noting:
            return self.inside(function, lambda values: values.value(node))
        return self.evaluator(function).value(node)

    def final(self, function: Function, name: str) -> Value | None:
        """What a name is at the end of a function or module body; None where it binds no such name."""
        return self.inside(function, lambda values: self._final(values, name))

    def _final(self, values: Evaluator, name: str) -> Value | None:
        if name not in values.bindings.final:
            return None
        function = values.function
        initial: Value | None = UNKNOWN
        return self._ask(("final", function, name), lambda: self.inside(function, lambda own: own.final(name)), initial)

    def returns(self, function: Function, given: Choice = ()) -> Value:
        """What a call of the function gives: its annotation where that is telling, else what it returns on all paths.

        On those that are open to a call which gives some flags.
        """
        return self._ask(("returns", function, *given), lambda: self._return_value(function, given), UNKNOWN)

    def _return_value(self, function: Function, given: Choice) -> Value:
        if isinstance(function.node, ast.AsyncFunctionDef | ast.Module):
            return UNKNOWN
        if function.cls is not None and function.is_abstract:
            found = [value for method in self._made_real(function) if (value := self.returns(method, given))]
            if found:
                return _joined(found)
        return self.inside(function, lambda values: _given(values, given))

    def returns_of(self, function: Function, tensors: Given) -> Value:
        """What a call of the function gives that gives tensors for some parameters, whatever other calls give."""
        return self._ask(("returns of", function, *tensors), lambda: self._return_of(function, tensors), UNKNOWN)

    def _return_of(self, function: Function, tensors: Given) -> Value:
        if isinstance(function.node, ast.AsyncFunctionDef | ast.Module) or function.is_abstract:
            return UNKNOWN
        self.evaluator(function)  # which notes that the function is looked into
        # What is read counts for the question itself: these values are nobody else's.
        return _given(Evaluator(function, self, self._database, tensors), ())

    def _made_real(self, method: Function) -> list[Function]:
        """What subclasses define in place of an abstract method; nothing where there are too many."""
        heirs = self.subclasses(method.cls) if method.cls is not None else []
        found = [heir.methods[method.name] for heir in heirs if method.name in heir.methods]
        return [one for one in found if not one.is_abstract] if len(found) <= MAX_SITES else []

    def parameter(self, function: Function, name: str) -> Value:
        """What the callers in the project pass for a parameter, where they agree."""
        return self._ask(("parameter", function, name), lambda: self._parameter(function, name), UNKNOWN)

    def _parameter(self, function: Function, name: str) -> Value:
        given: dict[bool, list[Value]] = {True: [], False: []}
        most = MAX_CONSTRUCTIONS if function.name == "__init__" else MAX_GIVERS
        sites = self.call_sites(function, most)
        if sites is not None and function.name == "__init__":
            sites = sites + self._constructions(function, most - len(sites))
        for site in sites or ():
            value = self._passed(site, function, name)
            if value is not None:
                given[self.in_test(site.function.module.path, site.function.name)].append(value)
        if given[False]:
            return _joined(given[False])
        if given[True]:
            # A test passes what a program would, but small and in the host's memory.
            passed = _joined(given[True])
            return passed if self.in_test(function.module.path, function.name) else passed.anywhere()
        return self._base_parameter(function, name)

    def _constructions(self, init: Function, most: int) -> list[CallSite]:
        """The calls that run a constructor besides those of its class by name; none where there are too many."""
        key = ("constructions", init)
        nothing: list[CallSite] = []
        found = self._ask(key, lambda: [CallSite(*call) for call in constructions(self, init)], nothing)
        return found if len(found) <= most else []

    def constructed(self, klass: Class, init: Function) -> list[tuple[Function, ast.Call]]:
        """The calls of a class by its name that run a constructor, one that it may have from a base."""
        users = (self.module(path) for path in self.named_by(klass.module, klass.name))
        modules = [klass.module, *(found for found in users if found is not None)]
        sites = [site for module in modules for site in self._sites_named(module, klass.name).get(init, ())]
        return [(site.function, site.call) for site in sites]

    def named_by(self, module: Module, name: str) -> list[str]:
        """The files that may use a member of a module."""
        return self.mentioning(Sought(module.path, module.name, name, name)) or []

    def keywords(self, function: Function) -> Value:
        """The dictionary that `**kwargs` of a function is: its keys are known where all callers write them."""
        return self._ask(("keywords", function), lambda: self._keywords(function), DICT)

    def _keywords(self, function: Function) -> Value:
        named = {parameter.arg for parameter in function.parameters}
        given = []
        for site in self.call_sites(function, MAX_SITES) or ():
            keys: dict[str, Value] = {}
            others: list[Value] = []
            for keyword in (site.given or site.call).keywords:
                value = self.value(site.function, keyword.value)
                if keyword.arg is not None:
                    keys[keyword.arg] = value
                elif value.entries is not None:
                    keys.update(value.entries)
                else:
                    others.append(held(value))
            keys = {key: value for key, value in keys.items() if key not in named}
            each = _joined([*keys.values(), *others]) if others else None
            given.append(Dict(entries=None if others else keys, element=each))
        return _joined(given) if given else DICT

    def positional_rest(self, function: Function) -> Value:
        """The tuple that `*args` of a function is: its elements are known where all callers give as many."""
        return self._ask(("positional rest", function), lambda: self._positional_rest(function), TUPLE)

    def _positional_rest(self, function: Function) -> Value:
        node = function.node
        if isinstance(node, ast.Module):
            return TUPLE
        before = len(node.args.posonlyargs) + len(node.args.args) - function.is_method
        given = []
        for site in self.call_sites(function, MAX_SITES) or ():
            passed = (site.given or site.call).args
            if any(isinstance(argument, ast.Starred) for argument in passed):
                return TUPLE
            items = tuple(self.value(site.function, argument) for argument in passed[before:])
            given.append(Tuple(items=items))
        return _joined(given) if given else TUPLE

    def _base_parameter(self, function: Function, name: str) -> Value:
        """What the callers pass to the method of a base class that a method stands in place of."""
        for base in self.bases(function.cls) if function.cls is not None and function.name != "__init__" else ():
            method = self.method(base, function.name)
            if method is not None and any(parameter.arg == name for parameter in method.parameters):
                return self.parameter(method, name)
        return UNKNOWN

    def _passed(self, site: CallSite, function: Function, name: str) -> Value | None:
        node = function.argument(site.given or site.call, name)
        if node is None:
            return None
        if isinstance(node, ast.Constant):
            return constant(node.value)
        return self.value(site.function, node)

    # Classes

    def bases(self, klass: Class) -> list[Class]:
        """The project's classes among the bases."""
        found = []
        for base in klass.bases:
            name = self.base_name(klass, base)
            definition = self.definition(name, klass.module) if name else None
            if isinstance(definition, Class) and definition is not klass:
                found.append(definition)
        return found

    def subclasses(self, klass: Class) -> list[Class]:
        """The project's classes that inherit from a class; none where there are too many."""
        found: dict[Class, None] = {}
        todo = [klass]
        while todo:
            current = todo.pop()
            heirs = self.heirs(current.name)
            if len(heirs) + len(found) > MOST_HEIRS:
                return []
            for path, name in heirs:
                module = self.module(path)
                for heir in module.classes if module is not None else ():
                    if heir.name == name and heir not in found and heir is not klass and current in self.bases(heir):
                        found[heir] = None
                        todo.append(heir)
        return list(found)

    def of_modules(self, name: str) -> list[Function]:
        """The methods of that name, where only modules of one family have one, and few; nothing for what each module has."""
        if name in _OF_EACH_MODULE or name in GENERIC or not 0 < len(self.definers(name)) <= MAX_SITES:
            return []
        return self.ask(("of modules", name), lambda: self._of_modules(name), [])

    def _of_modules(self, name: str) -> list[Function]:
        modules = [module for path in self.definers(name) if (module := self.module(path)) is not None]
        found = [klass.methods[name] for module in modules for klass in module.classes if name in klass.methods]
        classes = [method.cls for method in found if method.cls is not None]
        return found if all(map(self.is_module, classes)) and len(set(map(self.root, classes))) == 1 else []

    def root(self, klass: Class) -> Class:
        """The first of a class's ancestors in the project."""
        seen = {klass}
        while True:
            base = next(iter(self.bases(klass)), None)
            if base is None or base in seen:
                return klass
            seen.add(base)
            klass = base

    def base_name(self, klass: Class, base: ast.expr) -> str | None:
        name = self.resolve(klass.parent, base)
        parts = names.chain(base)
        if name is None and parts is not None and parts[0] in klass.module.top_classes:
            return ".".join([klass.module.name, *parts])
        return name

    def is_module(self, klass: Class) -> bool:
        """Whether instances are nn.Modules: through a base of torch, of a library that makes models, or of the project."""
        return self._database.get(
            ("is module", klass), lambda: any(self._is_module_base(klass, base) for base in klass.bases), False
        )

    def is_distribution(self, klass: Class) -> bool:
        """Whether instances are distributions of torch's: a subclass of one."""
        key = ("is distribution", klass)
        return self._database.get(key, lambda: any(self._is_law(klass, b) for b in klass.bases), False)

    def _is_law(self, klass: Class, base: ast.expr) -> bool:
        name = self.base_name(klass, base)
        definition = self.definition(name, klass.module) if name is not None else None
        if isinstance(definition, Class):
            return definition is not klass and self.is_distribution(definition)
        return name is not None and name.startswith("torch.distributions.")

    def is_loader(self, klass: Class) -> bool:
        """Whether instances are loaders of torch's: a subclass that iterates as its base does."""
        if "__iter__" in klass.methods or not klass.module.source.holds(b"DataLoader"):
            return False
        key = ("is loader", klass)
        return self._database.get(key, lambda: any(self._is_loader_base(klass, b) for b in klass.bases), False)

    def _is_loader_base(self, klass: Class, base: ast.expr) -> bool:
        name = self.base_name(klass, base)
        if name == "torch.utils.data.DataLoader" or name in table.LIBRARY_LOADERS:
            return True
        definition = self.definition(name, klass.module) if name is not None else None
        return isinstance(definition, Class) and definition is not klass and self.is_loader(definition)

    def _is_module_base(self, klass: Class, base: ast.expr) -> bool:
        if isinstance(base, ast.Subscript):
            base = base.value
        name = self.base_name(klass, base)
        if name is not None:
            definition = self.definition(name, klass.module)
            if isinstance(definition, Class):
                return self.is_module(definition)
            if name.startswith(("torch.nn.", "torch.jit.")):
                return name != "torch.nn.Parameter"
        last = name.rpartition(".")[2] if name is not None else (names.chain(base) or [""])[-1]
        return last in table.MODULE_BASES or last == "Module"

    def method(self, klass: Class, name: str) -> Function | None:
        """A method of a class or of its bases in the project."""
        seen: set[Class] = set()
        todo = [klass]
        while todo:
            current = todo.pop(0)
            if current in seen:
                continue
            seen.add(current)
            if name in current.methods:
                return current.methods[name]
            todo += self.bases(current)
        return None

    def attribute(self, klass: Class, name: str) -> Value:
        """What the methods of a class, or of its bases, assign to `self.name`."""
        return self._ask(("attribute", klass, name), lambda: self._attribute(klass, name), UNKNOWN)

    def _attribute(self, klass: Class, name: str) -> Value:
        stores = self.attribute_stores(klass, name)
        values = []
        for method, target in stores:
            values.append(self.value(method, target))
        if values:
            known = [v for v in values if v.kind not in ("unknown", "none")]
            # A number beside an entry of a checkpoint, which may be anything, is a number.
            known = [v for v in known if not v.may_be_anything] or known
            if not known:
                return self.declared(klass, name) or values[0]
            value = _joined(known)
            if value.kind == "number" and not value.boolean:
                value = join(value, self._added(klass, name) or value)
            if value.kind == "list" and value.element is None:
                value = replace(value, element=self._appended(klass, name))
            elif all(map(_is_empty_dict, values)):
                value = replace(value, element=self._filled(klass, name))
            return value if len(known) == len(values) else replace(value, other_kinds=frozenset(("none",)))
        if self.registers(klass, name):
            return Tensor(parameter=True)
        statement = klass.assigned.get(name)
        if statement is not None:
            return self._class_level(klass, statement)
        for base in self.bases(klass):
            value = self.attribute(base, name)
            if value:
                return value
        if name == "bias" and any(self.base_name(klass, base) in layers.FLAGGED_BIAS for base in klass.bases):
            return BOOL
        return UNKNOWN

    def declared(self, klass: Class, name: str) -> Value:
        """What the body of a class, or of one of its bases, says `self.name` is: `model: Model`, which methods assign."""
        return self._ask(("declared", klass, name), lambda: self._declared(klass, name), UNKNOWN)

    def _declared(self, klass: Class, name: str) -> Value:
        statement = klass.assigned.get(name)
        if isinstance(statement, ast.AnnAssign):
            return self._class_level(klass, statement)
        for base in self.bases(klass):
            declared = self.declared(base, name)
            if declared:
                return declared
        return UNKNOWN

    def _appended(self, klass: Class, name: str) -> Value | None:
        """What the methods of a class append to the list `self.name`; None where that is not known."""
        if not klass.module.source.holds(as_bytes(f".{name}.append(")):
            return None
        values = [
            self.value(method, call.args[0])
            for method in klass.methods.values()
            for call in method.flow.calls_named("append")
            if len(call.args) == 1 and names.chain(call.func) == [_own_name(method), name, "append"]
        ]
        return _joined(values) or None if values and len(values) <= MAX_SITES else None

    def _added(self, klass: Class, name: str) -> Value | None:
        """What the number `self.name` becomes that methods of a class add tensors to, and never a number; else None."""
        if not klass.module.source.holds(as_bytes(f".{name} +=")):
            return None
        added = [
            self.value(method, node.value)
            for method in klass.methods.values()
            for node in method.flow.counted.get(f"{_own_name(method)}.{name}", ())
        ]
        sure = all(value.is_tensor and "number" not in value.other_kinds for value in added)
        return calculated(_joined(added)) if added and sure else None

    def _filled(self, klass: Class, name: str) -> Value | None:
        """The numbers or tensors that methods of a class store in the dictionary `self.name` under keys that they don't write out; else None."""
        if not klass.module.source.holds(as_bytes(f".{name}[")):
            return None
        if any(klass.module.source.holds(as_bytes(f".{name}.{method}(")) for method in ("update", "setdefault")):
            return None
        stores = [
            (method, method.flow.parents[target])
            for method in klass.methods.values()
            for target in method.flow.stored_in.get(f"{_own_name(method)}.{name}", ())
            if not isinstance(target.slice, ast.Constant)
        ]
        # What is counted up, `self.seen[key] += 1`, stays what it is.
        given = [(method, store) for method, store in stores if not isinstance(store, ast.AugAssign)]
        if not 0 < len(given) <= MAX_SITES:
            return None
        values = [self.value(method, store.value) for method, store in given if isinstance(store, ast.Assign)]
        each = _joined(values) if len(values) == len(given) and all(values) else UNKNOWN
        return each if each.kind in ("number", "tensor") else None

    def _class_level(self, klass: Class, statement: ast.AnnAssign | ast.Assign) -> Value:
        # A field of a dataclass: the default of an option, good enough to fold `step % args.every`.
        value = self.value(klass.parent, statement.value) if statement.value is not None else UNKNOWN
        if isinstance(statement, ast.AnnAssign) and (not value or value.kind == "none"):
            annotation = statement.annotation
            promise = self.inside(klass.parent, lambda values: promised(values, annotation))
            return (
                replace(promise, other_kinds=promise.other_kinds | {"none"}) if promise and value else promise or value
            )
        return value

    def attribute_stores(self, klass: Class, name: str) -> list[tuple[Function, ast.Attribute]]:
        """Where methods assign `self.name`, `__init__` first."""
        known: dict[str, list[tuple[Function, ast.Attribute]]] | None = klass.__dict__.get("stores")
        if known is None:
            known = klass.__dict__["stores"] = {}
            for method in sorted(klass.methods.values(), key=lambda m: m.name != "__init__"):
                first = _own_name(method)
                for target in method.assigned_attributes:
                    if isinstance(target.value, ast.Name) and target.value.id == first:
                        known.setdefault(target.attr, []).append((method, target))
        return known.get(name, [])

    def is_option(self, klass: Class, name: str) -> bool:
        """Whether `__init__` alone assigns `self.name`."""
        stores = self.attribute_stores(klass, name)
        return bool(stores) and all(method.name == "__init__" for method, _ in stores)

    def registers(self, klass: Class, name: str) -> bool:
        """Whether the constructor says `self.register_buffer("name", tensor)`, or `register_parameter`."""
        init = klass.methods.get("__init__")
        return init is not None and klass.module.source.holds(b"register_") and name in init.flow.registered

    # Calls

    def targets(self, function: Function, call: ast.Call) -> list[Function]:
        """The project's functions that a call runs: a function, a method, a class's `__init__`, a module's `forward`."""
        return self._ask(("targets", function, call), lambda: self._targets(function, call), [])

    def _targets(self, function: Function, call: ast.Call) -> list[Function]:
        func = call.func
        if isinstance(func, ast.Name):
            scope: Function | None = function
            while scope is not None and scope is not scope.module.body:
                if func.id in scope.nested:
                    return [scope.nested[func.id]]
                if scope.binds(func.id):
                    return self._called_value(function, call)
                scope = scope.parent
        name = self.resolve(function, func)
        if name is None and isinstance(func, ast.Name):
            module = function.module
            if func.id in module.top_functions:
                return [module.top_functions[func.id]]
            if func.id in module.top_classes:
                return self._constructor(module.top_classes[func.id])
        if name is not None:
            definition = self.definition(name, function.module)
            if isinstance(definition, Function):
                return [definition]
            if isinstance(definition, Class):
                return self._constructor(definition)
            if name.partition(".")[0] in _OUTSIDE or "." not in name:
                return []
        return self._called_value(function, call)

    def _constructor(self, klass: Class) -> list[Function]:
        init = self.method(klass, "__init__")
        return [init] if init is not None else []

    def _called_value(self, function: Function, call: ast.Call) -> list[Function]:
        func = call.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and function.cls is not None:
            owner = function.parameters[0].arg if function.is_method and function.parameters else ""
            if func.value.id == owner:
                method = self.method(function.cls, func.attr)
                if method is not None:
                    return [method]
        if not self.may_be_own(function, call):
            return []
        value = self.value(function, func)
        if value.kind == "class":
            classes = (value.class_,) if value.class_ is not None else value.classes
            return list(dict.fromkeys(init for klass in classes for init in self._constructor(klass)))
        if value.kind in ("function", "name") and value.choices:
            return list(dict.fromkeys(target for one in value.choices for target in self.run_by(one)))
        if isinstance(func, ast.Attribute) and value.kind in ("unknown", "function") and value.function is None:
            owner_value = self.value(function, func.value)
            found = (self.method(klass, func.attr) for klass in owner_value.classes)
            return list(dict.fromkeys(method for method in found if method is not None))
        return self.run_by(value)

    def may_be_own(self, function: Function, call: ast.Call) -> bool:
        """Whether a call may run the project's code or a model, by its name alone: no builtin, no method of lists and tensors."""
        func = call.func
        if isinstance(func, ast.Attribute):
            return func.attr in self._callable_words or MODEL_NAME.search(func.attr) is not None
        return not (
            isinstance(func, ast.Name) and func.id in names.BUILTINS and names.resolve(function, func) == func.id
        )

    def run_by(self, value: Value) -> list[Function]:
        """What calling a function, a module or an object runs."""
        if value.kind == "function" and value.function is not None:
            return [value.function]
        if value.kind not in ("module", "instance"):
            return []
        if value.class_name == "torch.nn.Sequential":
            return [t for item in value.items or (value.element,) if item is not None for t in self.run_by(item)]
        name = "forward" if value.kind == "module" else "__call__"
        classes = (value.class_,) if value.class_ is not None else value.classes
        called = [method for klass in classes if (method := self.method(klass, name)) is not None]
        return list(dict.fromkeys(called))

    def call_sites(self, function: Function, most: int = sys.maxsize) -> list[CallSite] | None:
        """Where the project calls the function, as far as names tell; None where that can't be said, or for more than `most`."""
        return self._ask(("sites", function, most), lambda: self._call_sites(function, most), None)

    def _call_sites(self, function: Function, most: int) -> list[CallSite] | None:
        paths = self._asked_callers(function)
        name = called_name(function)
        if paths is None:
            return None
        by_name = function.cls is None or function.cls.name == name
        if by_name and len(paths) > most and sum(self.may_call(path, name) for path in paths) > most:
            return None  # a file that imports a function or class and holds a call of that name calls it
        found: list[CallSite] = []
        for path in paths:
            found += self.sites_in(path, function)
            if len(found) > most:
                return None
        return found

    def calls_of(self, function: Function) -> Iterator[CallSite]:
        """The call sites one by one: who has seen enough of them need not have the other files parsed."""
        for path in self._asked_callers(function) or ():
            yield from self.sites_in(path, function)

    def sites_in(self, path: str, function: Function) -> list[CallSite]:
        """Where a file calls the function."""
        name = called_name(function)
        is_own = path == function.module.path
        module = self.module(path) if is_own or self._may_reach(path, function, name) else None
        if module is None:
            return []
        return [site for alias in aliases(module, name) for site in self._sites_named(module, alias).get(function, ())]

    def _may_reach(self, path: str, function: Function, name: str) -> bool:
        """Whether another file may call the function, as far as texts tell: its methods call those of their own classes and of bases."""
        how = self.called_as(path, name)
        if how == "own" and function.cls is not None:
            return path in self.lineage(function.cls.name)
        return how not in ("", "base")  # what `super()` is, nobody tells

    def _sites_named(self, module: Module, name: str) -> dict[Function, list[CallSite]]:
        """The calls of anything of that last name in a file, by what they call."""
        return self._ask(("named", module, name), lambda: self._by_target(module, name), {})

    def _by_target(self, module: Module, name: str) -> dict[Function, list[CallSite]]:
        found: dict[Function, list[CallSite]] = {}
        for caller, call in calls_named(module, name):
            for target in dict.fromkeys(self.targets(caller, call)):
                found.setdefault(target, []).append(CallSite(caller, call))
        for caller, call, given in self._started(module, name):
            for target in dict.fromkeys(self.targets(caller, given)):
                found.setdefault(target, []).append(CallSite(caller, call, given))
        return found

    def _started(self, module: Module, name: str) -> Sequence[tuple[Function, ast.Call, ast.Call]]:
        return self.ask(("started", module, name), lambda: list(_started(module, name)), [])

    def _asked_callers(self, function: Function) -> list[str] | None:
        return self._ask(("callers", function), lambda: self._callers(function), None)

    def _callers(self, function: Function) -> list[str] | None:
        """The files that may call the function: its own, and those that import it, its class or its module."""
        name = called_name(function)
        if isinstance(function.node, ast.Module) or (function.cls is not None and name in GENERIC):
            return None
        own = function.module.path
        if function.parent is not function.module.body and function.cls is None:
            return [own]
        # A method is not imported by its own name.
        own_name = function.cls.name if function.cls is not None else function.name
        others = self.mentioning(Sought(own, function.module.name, own_name, name))
        if others is None:
            return None
        return list(dict.fromkeys((own, *others, *(self._by_objects(name) if function.cls is not None else ()))))

    def _by_objects(self, name: str) -> list[str]:
        """The files that call a method, where they are few: `model = get_model(options)` imports no class."""
        paths = self.calling(name) if name != "__init__" else frozenset[str]()
        return sorted(paths) if len(paths) <= MAX_SITES else []

    def mentioning(self, sought: Sought) -> list[str] | None:
        """The files that may use what is sought, sorted; None where there are too many."""
        importers = self._importers.get(as_bytes(sought.imported), ())
        paths = {*importers, *self._importing(sought)}
        paths |= {*self._by_package(sought)} - paths
        paths -= {sought.path}
        # Whose import names it mentions it.
        found = sorted(paths.intersection(importers)) if sought.name == sought.imported else []
        name = as_bytes(sought.name)
        for path in paths.difference(found):
            source = self.source(path)
            if source is not None and source.mentions(name):
                found.append(path)
            if len(found) > MAX_FILES:
                break
        return sorted(found) if len(found) <= MAX_FILES else None

    def _importing(self, sought: Sought) -> list[str]:
        """The files that may import the module of what is sought."""
        key = (sought.path, sought.module)
        if key not in self._module_importers:
            paths = self._importers.get(sought.stem, ())
            self._module_importers[key] = [path for path in paths if self._imports_module(path, sought)]
        return self._module_importers[key]

    def _by_package(self, sought: Sought) -> Iterator[str]:
        """The files that may use it as a package hands it on: `import package`, `package.Trainer()`."""
        calling = self._may_call_behind(sought.imported) if sought.packages else ()
        return (path for path in calling if self._names_by_package(path, sought))

    def _may_call_behind(self, name: str) -> Collection[str]:
        return (*self._called_behind.get(as_bytes(name), ()), *self._rewritten)

    def calling(self, name: str) -> frozenset[str]:
        """The files that call something of that name behind a dot."""
        word = as_bytes(name)
        known = frozenset(self._called_behind.get(word, ()))
        if not self._rewritten:
            return known
        call = b".%s(" % word
        return (known - self._rewritten).union(path for path in self._rewritten if call in self._raw(path))

    @cached_property
    def _called_behind(self) -> dict[bytes, list[str]]:
        """The files by the names that they call behind a dot."""
        found: dict[bytes, list[str]] = {}
        for path in self.paths:
            for name in set(_BEHIND.findall(self._raw(path))):
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
            (*source.fact("defined", _defined_in), *_OWN_ATTRIBUTE.findall(data), *_SET_ATTRIBUTE.findall(data))
        )

    def defined(self, path: str) -> frozenset[bytes]:
        """The names of the functions that a file defines, as far as its text tells."""
        source = self.source(path)
        return source.fact("defined", _defined_in) if source is not None else frozenset()

    def import_words(self, path: str) -> frozenset[bytes]:
        """The words of a file's import statements."""
        if path not in self._import_words:
            self._words_of(path, self.import_text(path))
        return self._import_words[path]

    def _words_of(self, path: str, import_text: bytes) -> frozenset[bytes]:
        words = self._import_words[path] = frozenset(_WORD.findall(import_text))
        return words

    def import_text(self, path: str) -> bytes:
        """The text of a file's import statements."""
        source = self.source(path)
        return source.fact("imports", import_text) if source is not None else b""

    @cached_property
    def renames(self) -> dict[str, set[str]]:
        """The other names that imports anywhere in the project give to things, with what they stand for: `DL` for `DataLoader`."""
        found: dict[str, set[str]] = {}
        for path in self.paths:
            text = self.import_text(path)
            if b"as" in self._words_of(path, text):
                for name, alias in _RENAME.findall(text):
                    if name != alias:
                        found.setdefault(alias.decode(), set()).add(name.decode())
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

    def holds(self, path: str, pattern: re.Pattern[bytes], words: frozenset[bytes] = frozenset()) -> bool:
        """Whether a file holds a pattern; one of the words, if there are any, is in whatever it matches."""
        return bool(self.fact(path, *_holding(pattern, words)))

    def any_holds(self, pattern: bytes, under: str = "", *, word: bytes = b"") -> bool:
        """Whether any file of the project, or of a folder of it, holds the pattern (a regular expression).

        `word` is in whatever it matches.
        """
        if (pattern, under) not in self._held:
            regex = re.compile(pattern)
            paths = (path for path in self.paths if self.home(path).startswith(under))
            words = frozenset((word,)) if word else frozenset[bytes]()
            self._held[pattern, under] = any(self.holds(path, regex, words) for path in paths)
        return self._held[pattern, under]

    def holders(self, pattern: bytes) -> frozenset[str]:
        """The files of the project that hold the pattern (a regular expression)."""
        if pattern not in self._holders:
            regex = re.compile(pattern)
            self._holders[pattern] = frozenset(path for path in self.paths if self.holds(path, regex))
        return self._holders[pattern]

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
        return self._definers.get(name, [])

    @cached_property
    def _definers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.paths:
            for name in self.fact(path, "functions", functions_in) or ():
                found.setdefault(name, []).append(path)
        return found

    @cached_property
    def _importers(self) -> dict[bytes, list[str]]:
        """The files by the words of their import statements."""
        found: dict[bytes, list[str]] = {}
        for path in self.paths:
            for word in self.import_words(path):
                found.setdefault(word, []).append(path)
        return found

    def imports_of(self, module: Module) -> list[Module]:
        """The project's files that a module imports, or imports from."""
        return self.ask(("imports", module), lambda: self._find_imports(module), [])

    def _find_imports(self, module: Module) -> list[Module]:
        paths = {
            path
            for name in origins(module)
            # The name of a module, or of a member of one.
            if (path := self.find(name, module) or self.find(name.rpartition(".")[0] or name, module)) is not None
        }
        return [found for path in sorted(paths) if (found := self.module(path)) is not None]

    def mentioned(self, module: Module, pattern: re.Pattern[bytes]) -> bool:
        """Whether a file of the project holds a pattern."""
        return module.source.holds(pattern)

    def importers(self, module: Module) -> list[str]:
        """The files whose imports name the module."""
        word = as_bytes(module.name.rpartition(".")[2])
        own = self.home(module.path).rpartition("/")[0]
        # A folder without `__init__.py` may be part of the name too.
        parts = [*own.split("/"), module.name.rpartition(".")[2]]
        longer = [".".join(parts[start:]) for start in range(len(parts) - 1)]
        found = []
        for path in self._importers.get(word, ()):
            folder = self.home(path).rpartition("/")[0]
            written = [name for name in longer if as_bytes(name) in self._raw(path)]
            names_ = (module.name, *written)
            named = any(module.path in (self._find(name, folder), self._find(name, folder, path)) for name in names_)
            if not named and b"sys.path" in self._raw(path) and (near := self.module(path)) is not None:
                named = any(self._put_on_path(name, near, folder) == module.path for name in names_)
            if path != module.path and (named or (folder == own and "." in module.name)):
                found.append(path)
        return found


def place_of(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """What the keys of questions are ordered by: as what they are about stands in the project."""
    kind, owner, *about = key
    module = owner if isinstance(owner, Module) else owner.module
    nodes = [one for one in about if isinstance(one, ast.AST)]
    nodes += [
        node.func for node in nodes if isinstance(node, ast.Call)
    ]  # which stands elsewhere where a process calls it
    words = [str(one) for one in about if not isinstance(one, ast.AST)]
    start = () if isinstance(owner, Module) else owner.start
    return module.path, start, [_position(node) for node in nodes], kind, words


def _position(node: ast.AST) -> tuple[int, int, int, int]:
    where = (getattr(node, name, 0) or 0 for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))
    line, column, end_line, end_column = where
    return line, column, end_line, end_column


def _given(values: Evaluator, flags: Choice) -> Value:
    """What a call of the function whose values these are gives."""
    yielded = values.yielded()
    if yielded:
        return List(element=_joined(yielded))
    returned = values.returned(flags)
    value = _joined(returned) if returned else UNKNOWN
    annotation = getattr(values.function.node, "returns", None)
    if annotation is not None and (value.other_kinds or not value.proven):
        value = _as_promised(value, annotation, values)
    # What it gave here belongs to its own names.
    return replace(value, parameter=False) if value.kind == "tensor" else value


def _as_promised(value: Value, annotation: ast.expr, values: Evaluator) -> Value:
    """What is returned, and not known on all paths, with what the function says that it returns."""
    promise = promised(values, annotation)
    if promise.kind == "number" and isinstance(annotation, ast.Name):
        return promise
    if promise.kind == "tensor" and value.kind == "tensor":
        others = value.other_kinds - {"unknown"}
        return replace(value, certainty=value.certainty if others else PROVEN, other_kinds=others)
    return promise if not value and promise.kind in ("tensor", "tuple", "module", "instance", "loader") else value


def import_text(source: Source) -> bytes:
    """The text of a file's import statements."""
    data = source.data
    found = []
    place, end = data.find(b"import"), 0
    while place >= 0:
        # The statement begins on the line of the word, or above where that is a continued one.
        start = data.rfind(b"\n", 0, place) + 1
        continued = data.endswith((b"\\\n", b"\\\r\n"), 0, start)
        before = data[start:place].lstrip(b" \t")
        is_statement = before.startswith(b"from ") or (not before and data.startswith(b"import ", place))
        if is_statement and start >= end and not continued:
            stop = data.find(b"\n", place)
            line = data[start:stop] if stop >= 0 else data[start:]
            if b"(" not in line and b"\\" not in line:  # all of a statement, as most are
                found.append(line)
                end = start + len(line)
                place = data.find(b"import", end)
                continue
        while continued:
            start = data.rfind(b"\n", 0, start - 1) + 1
            continued = data.endswith((b"\\\n", b"\\\r\n"), 0, start)
        # A word in prose or in a name has no such head in front.
        head = _IMPORT_HEAD.search(data, max(start, end), place + len(b"import "))
        end = place + 1
        statement = _IMPORT.match(data, head.start()) if head is not None else None
        if statement is not None:
            end = max(end, statement.end())
            found.append(statement[0])
        place = data.find(b"import", end)
    return b" ".join(found)


def classes_in(source: Source) -> list[tuple[str, list[str]]]:
    """The classes of a file that have bases, with the words of these."""
    data = source.data
    found = []
    place = data.find(b"class")
    while place >= 0:
        start, end = place, place + 1
        while start and data[start - 1] in b" \t":
            start -= 1
        if (start == 0 or data[start - 1 : start] == b"\n") and (head := _CLASS.match(data, place)):
            found.append((head[1].decode(), sorted({word.decode(errors="replace") for word in _WORD.findall(head[2])})))
            end = head.end()
        place = data.find(b"class", end)
    return found


def functions_in(source: Source) -> list[str]:
    """The names of the functions that a file defines."""
    return sorted({name.decode(errors="replace") for name in source.fact("defined", _defined_in)})


def _defined_in(source: Source) -> frozenset[bytes]:
    return frozenset(_DEF.findall(source.data))


def last_name(call: ast.Call) -> str:
    """The last part of the name that is called; "" for other expressions."""
    return names.last(call.func)


_STARTERS = frozenset(
    ("Process", "Thread", "spawn", "start_processes", "elastic_launch", "submit", "notebook_launcher")
)
STARTS = Words(b"Process(", b"spawn(", b"Thread(", b"launcher(")
"""What a file holds that gives functions to processes or threads to run."""


def _started(module: Module, name: str) -> Iterable[tuple[Function, ast.Call, ast.Call]]:
    """Where a function is given to a process or thread to run: the call, and one that stands for what will be called."""
    for function in module.functions_at(module.lines_holding(name)) if module.source.holds(STARTS) else ():
        for call in function.flow.calls:
            last = last_name(call)
            if last not in _STARTERS:
                continue
            keywords = {k.arg: k.value for k in call.keywords}
            target = keywords.get("target") or keywords.get("fn") or (call.args[0] if call.args else None)
            if not isinstance(target, ast.Name) or target.id != name:
                continue
            given = keywords.get("args") or (call.args[1] if len(call.args) > 1 else None)
            arguments = list(given.elts) if isinstance(given, ast.Tuple | ast.List) else []
            if last in ("spawn", "start_processes"):
                arguments.insert(0, ast.Constant(0))  # the process index
            yield (
                function,
                call,
                ast.copy_location(ast.Call(target, arguments, _keywords(keywords.get("kwargs"))), call),
            )


def _keywords(node: ast.expr | None) -> list[ast.keyword]:
    """The keywords that `{"a": 1}` or `dict(a=1)` stands for behind `**`."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [
            ast.keyword(key.value, value)
            for key, value in pairs
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        ]
    return node.keywords if isinstance(node, ast.Call) else []


def aliases(module: Module, name: str) -> list[str]:
    """A name, and what else the imports of a module call something of that name."""
    return [name, *(alias for alias in module.aliases.get(name, ()) if alias != name)]


@functools.lru_cache(maxsize=64)
def _holding(pattern: re.Pattern[bytes], words: frozenset[bytes]) -> tuple[str, Callable[[Source], bool]]:
    """The fact that a file holds a pattern: its name, and how it is found."""
    sought = Words(*sorted(words), pattern=pattern) if words else quickest(pattern)
    name = f"holds {pattern.flags} {pattern.pattern.decode('latin-1')}"
    return name, lambda source: sought.search(source.data) is not None


def origins(module: Module) -> set[str]:
    """What a module and its functions import: dotted names of modules and of their members."""
    return {origin for function in module.functions for origin in function.imports.values()}.union(module.stars)


def called_name(function: Function) -> str:
    """What a call of the function names: a constructor is called by the name of its class."""
    return function.cls.name if function.name == "__init__" and function.cls is not None else function.name


def calls_named(module: Module, name: str) -> Iterable[tuple[Function, ast.Call]]:
    """The calls of anything of that last name, without walking functions that do not mention it."""
    for function, lines in module.functions_at(module.lines_calling(name)).items():
        for node, _ in nodes_on(function, lines, CALLS):
            if isinstance(node, ast.Call) and last_name(node) == name:
                yield function, node


def _joined(values: Sequence[Value]) -> Value:
    value = values[0]
    for other in values[1:]:
        value = join(value, other)
    return value


def _is_empty_dict(value: Value) -> bool:
    return value.kind == "dict" and value.element is None and not value.entries


def _own_name(method: Function) -> str:
    """What a method calls its object."""
    return method.parameters[0].arg if method.parameters else ""


def _wraps(module: Module, name: str) -> bool:
    """Whether a module puts something of its own in place of what it imports: `compile = timed(compile)`."""
    return any(
        isinstance(statement, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in statement.targets)
        for statement in module.tree.body
    )


def _derives(module: Module, name: str) -> bool:
    """Whether a module has a class by the name of what it imports, and not only where the import fails: `class Dataset(Dataset):`."""
    klass = module.top_classes.get(name)
    return klass is not None and klass.node in module.tree.body


def _above(folder: str, inner: str) -> bool:
    """Whether `folder` is `inner` or one of the folders around it."""
    return folder in ("", ".") or inner == folder or inner.startswith(f"{folder.rstrip('/')}/")


def read(path: str) -> Callable[[], bytes]:
    """A reader of one file's bytes."""

    return lambda: contents(path)


def normal(path: str) -> str:
    """A path as the project knows it: forward slashes, no `./` in front."""
    return os.path.normpath(path).replace(os.sep, "/")
