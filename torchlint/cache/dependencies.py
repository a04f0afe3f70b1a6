"""What an answer about a project hangs on, so that a cache knows when it would be another one.

The engine of questions (`query.database`) knows of each answer which others it was made of, and what was read for it.
`Recording` is a project that tells the engine what is read, so finely that few changes make it another thing.

Whoever gets a function, a class or a module of another file may look at anything there: the answer hangs on the text of
that file. A call counts with the function that it stands in. Finer is only what happens between the methods here and the
evaluation of functions, which look at nothing else: a name that leads through a file hangs on what the file binds it to, a
value on the functions that it was made in, a base class on the head of its class, a search for callers on which files
mention the name and, in those, on the functions that call it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..facts.module import Class, Function, Module
from ..facts.units import bound, head, stores, unit, unit_of
from ..facts.values import Value
from ..program.project import MAX_FILES, STARTS, CallSite, Project, Sought, aliases, called_name, origins
from ..settings.home import Home
from ..system.cached import cached_property
from ..system.fault import FileError
from ..system.stamp import as_bytes, digest, encoded
from ..text.source import Source

Atom = tuple[str, ...]
"""One thing in the files that an answer hangs on: a kind, what it is about and, last, how it was."""
IN_FILE = frozenset(
    ("may hold", "may call", "may import", "pattern", "calls", "imports", "parses", "name", "unit", "class", "stores")
)
"""Kinds of things that one file says by itself."""
SEPARATOR = "\0"
"""Between paths."""
MANY = "*"
"""In place of paths where there are too many."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said to a question about the whole project, and what that hangs on."""

    answer: Any
    hangs_on: tuple[Atom, ...]


class _Asked:
    """A question that brings back with its answer what that hangs on."""

    def __init__(self, question: Callable[[Any, Any], Any]) -> None:
        self.question = question
        self.__qualname__ = question.__qualname__

    def __call__(self, subject: Any, key: Any) -> Answer:
        project: Project = subject.project
        node = ("question", self.question.__name__, key)
        answer = project.linked(node, lambda: self.question(subject, key))
        return Answer(answer, project.hangs_on(node) or ())


class Recording(Project):
    """A project that notes what each answer hangs on."""

    def __init__(
        self,
        files: Mapping[str, Callable[[], bytes]],
        home: Home | None = None,
        import_texts: Mapping[str, bytes] | None = None,
        own_words: Mapping[str, frozenset[bytes]] | None = None,
        facts: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """The texts of imports, own words and facts are those of files that are known to be as they were."""
        self._nested = 0
        """How many of the project's own questions the present one is asked by."""
        self._stems: dict[str, Atom] = {}
        """What is noted of dotted names that are looked for."""
        self.import_texts = dict(import_texts or {})
        self.words = dict(own_words or {})
        self.facts = {path: dict(known) for path, known in (facts or {}).items()}
        """By path and name."""
        self.searches: dict[Sought, str] = {}
        """How searches for callers end, by what they are about."""
        self.answers: dict[tuple[str, str], Answer] = {}
        """By the name of the question and what it was about."""
        self.used: set[tuple[str, str]] = set()
        """Those of them that were asked for."""
        self.is_whole = True
        """Whether no file was left out."""
        super().__init__(files, home, noting=True)

    # Answers

    def asking(self, ask: Callable[[Any, Sequence[Any]], Sequence[Any]]) -> Callable[[Any, Sequence[Any]], list[Any]]:
        def remembered(question: Callable[[Any, Any], Any], keys: Sequence[Any]) -> list[Any]:
            names = [(question.__name__, repr(key)) for key in keys]
            self.used.update(names)
            new = {name: key for name, key in zip(names, keys, strict=True) if name not in self.answers}
            failed: dict[tuple[str, str], FileError] = {}
            for name, one in zip(new, ask(_Asked(question), list(new.values())) if new else (), strict=True):
                if isinstance(one, FileError):
                    failed[name] = one
                else:
                    self.answers[name] = one
            return [failed.get(name) or self.answers[name].answer for name in names]

        return remembered

    @property
    def is_known(self) -> bool:
        return bool(self.answers)

    def leave_out(self, path: str) -> None:
        self.is_whole = False
        self.answers.clear()
        self.searches.clear()
        for known in (self.facts, self.import_texts, self.words):
            known.pop(path, None)
        super().leave_out(path)

    @property
    def _notes(self) -> bool:
        """Whether an answer is being worked out of which it is noted what it hangs on."""
        return self._database.here is not None

    def _own(self, answer: Callable[[], T]) -> T:
        """An answer of the project itself, which notes what it hangs on."""
        self._nested += 1
        try:
            return answer()
        finally:
            self._nested -= 1

    def _quietly(self, answer: Callable[[], T]) -> T:
        """An answer for which files are looked at whose part in it is noted otherwise."""
        return self._database.quietly(answer)

    def _given(self, answer: T) -> T:
        """Somebody outside gets an answer, and may look at all it leads to."""
        if self._notes and not self._nested:
            for module in _modules(answer):
                self.note("text", module.path)
            for function in _functions(answer):
                self._note_unit(function)
        return answer

    # Files

    @property
    def paths(self) -> list[str]:
        self._database.open("all")
        return self._paths

    @paths.setter
    def paths(self, paths: list[str]) -> None:
        self._paths = paths

    def source(self, path: str) -> Source | None:
        self._database.open("text", path)
        return super().source(path)

    def module(self, path: str) -> Module | None:
        if not self._notes:
            return super().module(path)
        if not self._database.quiet:
            self.note("text", path)
            return self._quietly(lambda: super(Recording, self).module(path))
        module = super().module(path)
        self.note("parses", path, str(module is not None))
        return module

    def find(self, dotted: str, near: Module) -> str | None:
        self._note_stem(dotted)
        return super().find(dotted, near)

    def _note_stem(self, dotted: str) -> None:
        if not self._notes:
            return
        atom = self._stems.get(dotted)
        if atom is None:
            stem = dotted.rpartition(".")[2]
            atom = self._stems[dotted] = ("stem", stem, self.files_called(stem))
        self.note(*atom)

    def files_called(self, stem: str) -> str:
        """What stands for the files that a module of that name may be."""
        return _mark(self._by_stem.get(stem, ()))

    # Names

    def definition(self, name: str, near: Module) -> Function | Class | Module | None:
        ask = super().definition
        return self._given(self._own(lambda: ask(name, near)))

    def _definition(self, name: str, near: Module) -> Function | Class | Module | None:
        return self._quietly(lambda: super(Recording, self)._definition(name, near))

    def may_hold(self, path: str, name: str) -> bool:
        found = self._quietly(lambda: super(Recording, self).may_hold(path, name))
        self.note("may hold", path, name, str(found))
        return found

    def may_import(self, path: str, name: str) -> bool:
        found = self._quietly(lambda: super(Recording, self).may_import(path, name))
        self.note("may import", path, name, str(found))
        return found

    def may_call(self, path: str, name: str) -> bool:
        found = self._quietly(lambda: super(Recording, self).may_call(path, name))
        self.note("may call", path, name, str(found))
        return found

    def canonical(self, name: str, near: Module) -> str:
        ask = super().canonical
        if name.partition(".")[0] == "torch":
            return ask(name, near)
        return self._own(lambda: ask(name, near))

    def _follow(self, name: str, near: Module) -> str:
        return self._quietly(lambda: super(Recording, self)._follow(name, near))

    def _member(self, module: Module, rest: list[str]) -> Function | Class | Module | None:
        self._note_name(module, rest[0])
        return super()._member(module, rest)

    def _re_exported(self, module: Module, rest: list[str]) -> str | None:
        self._note_name(module, rest[0])
        return super()._re_exported(module, rest)

    def _starred(self, module: Module, parts: list[str]) -> str | None:
        self._note_name(module, parts[0])
        return super()._starred(module, parts)

    def _note_name(self, module: Module, name: str) -> None:
        if self._notes:
            self.note("name", module.path, name, bound(module, name))

    # Values and calls

    def _ask(self, key: tuple[Any, ...], compute: Callable[[], T], initial: T) -> T:
        ask = super()._ask
        if isinstance(key[1], Function):
            self._note_unit(key[1])
        return self._given(self._own(lambda: ask(key, compute, initial)))

    def inside(self, function: Function, ask: Callable[[Any], T]) -> T:
        inside = super().inside

        def noted(values: Any) -> T:
            self._note_unit(function)
            return ask(values)

        return self._given(self._own(lambda: inside(function, noted)))

    def _note_unit(self, function: Function) -> None:
        module = function.module
        name = unit_of(function)
        self.note("unit", module.path, name, unit(module, name))

    def run_by(self, value: Value) -> list[Function]:
        ask = super().run_by
        return self._given(self._own(lambda: ask(value)))

    def may_be_own(self, function: Function, call: ast.Call) -> bool:
        if self._notes and isinstance(call.func, ast.Attribute):
            self.note("word", call.func.attr, str(call.func.attr in self._callable_words))
        return super().may_be_own(function, call)

    def mentioning(self, sought: Sought) -> list[str] | None:
        if sought not in self.searches:
            found = self._quietly(lambda: super(Recording, self).mentioning(sought))
            self.searches[sought] = MANY if found is None else SEPARATOR.join(found)
        mark = self.searches[sought]
        self.note("callers", sought.path, sought.module, sought.imported, sought.name, mark)
        return None if mark == MANY else [path for path in mark.split(SEPARATOR) if path]

    def sites_in(self, path: str, function: Function) -> list[CallSite]:
        found = self._quietly(lambda: super(Recording, self).sites_in(path, function))
        module = self._modules.get(path)
        if self._notes and module is not None:
            name = called_name(function)
            self.note("calls", path, name, _calling(module, name))
        return found

    def calls_of(self, function: Function) -> Iterator[CallSite]:
        found = super().calls_of(function)
        while (site := self._given(self._own(lambda: next(found, None)))) is not None:
            yield site

    # Classes

    def bases(self, klass: Class) -> list[Class]:
        self._note_head(klass)
        ask = super().bases
        return self._given(self._own(lambda: ask(klass)))

    def is_module(self, klass: Class) -> bool:
        self._note_head(klass)
        ask = super().is_module
        return self._own(lambda: ask(klass))

    def method(self, klass: Class, name: str) -> Function | None:
        self._note_head(klass)
        ask = super().method
        return self._given(self._own(lambda: ask(klass, name)))

    def attribute_stores(self, klass: Class, name: str) -> list[tuple[Function, ast.Attribute]]:
        self._database.open("text", klass.module.path)
        return super().attribute_stores(klass, name)

    def _attribute(self, klass: Class, name: str) -> Value:
        if self._notes:
            self.note("stores", klass.module.path, klass.qualname, name, self._stores(klass, name))
        return self._quietly(lambda: super(Recording, self)._attribute(klass, name))

    def _stores(self, klass: Class, name: str) -> str:
        found = self._quietly(lambda: super(Recording, self).attribute_stores(klass, name))
        return stores(klass, name, [method for method, _ in found])

    def _note_head(self, klass: Class) -> None:
        if self._notes:
            self.note("class", klass.module.path, klass.qualname, head(klass))

    # The whole project

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        return self.apart(lambda: super(Recording, self)._by_stem)

    @cached_property
    def _callable_words(self) -> frozenset[str]:
        return self.apart(lambda: super(Recording, self)._callable_words)

    @cached_property
    def renames(self) -> dict[str, set[str]]:
        return self.apart(lambda: super(Recording, self).renames)

    @cached_property
    def _importers(self) -> dict[bytes, list[str]]:
        return self.apart(lambda: super(Recording, self)._importers)

    def imports_of(self, module: Module) -> list[Module]:
        self.note("imports", module.path, _mark(sorted(origins(module))))
        ask = super().imports_of
        return self._own(lambda: self.linked(("imports", module), lambda: self._quietly(lambda: ask(module))))

    def mentioned(self, module: Module, pattern: re.Pattern[bytes]) -> bool:
        found = super().mentioned(module, pattern)
        self.note("pattern", module.path, f"{pattern.flags} {pattern.pattern.decode('latin-1')}", str(found))
        return found

    def importers(self, module: Module) -> list[str]:
        found = self._quietly(lambda: super(Recording, self).importers(module))
        if self._notes:
            word = module.name.rpartition(".")[2]
            self._note_stem(word)
            self.note("importers", word, self.files_importing(word))
            for path in self._importers.get(as_bytes(word), ()):
                self.note("text", path)
        return found

    def files_importing(self, word: str) -> str:
        """What stands for the files whose imports hold a word."""
        return _mark(self._importers.get(as_bytes(word), ()))

    def import_text(self, path: str) -> bytes:
        self._database.open("text", path)
        if path not in self.import_texts:
            self.import_texts[path] = self._quietly(lambda: super(Recording, self).import_text(path))
        return self.import_texts[path]

    def own_words(self, path: str) -> frozenset[bytes]:
        if path not in self.words:
            self.words[path] = self._quietly(lambda: super(Recording, self).own_words(path))
        return self.words[path]

    def fact(self, path: str, name: str, find: Callable[[Source], T]) -> T | None:
        self._database.open("text", path)
        known = self.facts.setdefault(path, {})
        if name not in known:
            known[name] = self.apart(lambda: super(Recording, self).fact(path, name, find))
        return known[name]  # type: ignore[no-any-return]

    def any_holds(self, pattern: bytes, under: str = "", *, word: bytes = b"") -> bool:
        found = self.apart(lambda: super(Recording, self).any_holds(pattern, under, word=word))
        self.note("holds", pattern.decode("latin-1"), under, str(found))
        return found

    def holders(self, pattern: bytes) -> frozenset[str]:
        found = self.apart(lambda: super(Recording, self).holders(pattern))
        self.note("holders", pattern.decode("latin-1"), _mark(sorted(found)))
        return found

    def heirs(self, name: str) -> list[tuple[str, str]]:
        found = super().heirs(name)
        self.note("heirs", name, _mark(f"{path} {heir}" for path, heir in found))
        return found

    def definers(self, name: str) -> list[str]:
        found = super().definers(name)
        self.note("definers", name, _mark(found))
        return found

    @cached_property
    def _heirs(self) -> dict[str, list[tuple[str, str]]]:
        return self.apart(lambda: super(Recording, self)._heirs)

    @cached_property
    def _definers(self) -> dict[str, list[str]]:
        return self.apart(lambda: super(Recording, self)._definers)

    # How things are now

    def now(self, atom: Atom) -> str | None:
        """How the thing is now that an atom is about; None where that is not for the project to say."""
        kind = atom[0]
        if kind == "text":
            return None
        if kind == "stem":
            return self.files_called(atom[1])
        if kind == "importers":
            return self.files_importing(atom[1])
        if kind == "word":
            return str(atom[1] in self._callable_words)
        if kind == "holds":
            return str(self.any_holds(atom[1].encode("latin-1"), atom[2]))
        if kind == "heirs":
            return _mark(f"{path} {heir}" for path, heir in super().heirs(atom[1]))
        if kind == "definers":
            return _mark(super().definers(atom[1]))
        if kind == "holders":
            return _mark(sorted(self.holders(atom[1].encode("latin-1"))))
        if kind not in IN_FILE:
            return None
        by_text = {"may hold": self.may_hold, "may call": self.may_call, "may import": self.may_import}
        if kind in by_text:
            return str(atom[1] in self._files and by_text[kind](atom[1], atom[2]))
        module = self.module(atom[1]) if atom[1] in self._files else None
        if kind == "parses":
            return str(module is not None)
        if module is None:
            return ""
        if kind == "name":
            return bound(module, atom[2])
        if kind == "unit":
            return unit(module, atom[2])
        if kind == "calls":
            return _calling(module, atom[2])
        if kind == "imports":
            return _mark(sorted(origins(module)))
        if kind == "pattern":
            flags, _, pattern = atom[2].partition(" ")
            return str(self.mentioned(module, re.compile(pattern.encode("latin-1"), int(flags))))
        klass = next((klass for klass in module.classes if klass.qualname == atom[2]), None)
        if klass is None:
            return ""
        return head(klass) if kind == "class" else self._stores(klass, atom[3])

    def search(self, atom: Atom, changed: Iterable[str]) -> str:
        """How a search for callers ends now that some files have changed; the others are not looked into."""
        _, own, module, imported, name, before = atom
        sought = Sought(own, module, imported, name)
        if sought not in self.searches:
            found = set(before.split(SEPARATOR)) - {"", *changed}
            found.update(path for path in changed if path in self._files and self.may_use(path, sought))
            if before == MANY or len(found) > MAX_FILES:
                now = super().mentioning(sought)
                self.searches[sought] = MANY if now is None else SEPARATOR.join(now)
            else:
                self.searches[sought] = SEPARATOR.join(sorted(found))
        return self.searches[sought]


def _mark(texts: Iterable[str]) -> str:
    return digest(*map(encoded, texts)).hex()


def _modules(answer: object) -> Iterator[Module]:
    """The files that an answer leads into."""
    if isinstance(answer, Value):
        if answer.function is not None:
            yield answer.function.module
        if answer.klass is not None:
            yield answer.klass.module
        for klass in answer.either:
            yield klass.module
        for one in answer.choices:
            yield from _modules(one)
        for part in _parts(answer):
            yield from _modules(part)
    elif isinstance(answer, list):
        for item in answer:
            yield from _modules(item)
    elif isinstance(answer, Function | Class):
        yield answer.module
    elif isinstance(answer, Module):
        yield answer


def _functions(answer: object) -> Iterator[Function]:
    """The functions that hold the calls which an answer leads to: whoever gets a call looks at what is around it there."""
    if isinstance(answer, Value):
        if answer.home is not None and answer.origin is not None:
            yield answer.home.function_at(answer.origin.lineno)
        for part in _parts(answer):
            yield from _functions(part)
    elif isinstance(answer, list):
        for item in answer:
            yield from _functions(item)
    elif isinstance(answer, CallSite):
        yield answer.function


def _calling(module: Module, name: str) -> str:
    """What stands for the functions of a file that may call something of that name, or have a process run it."""
    names = aliases(module, name)
    lines = [line for alias in names for line in module.lines_calling(alias)]
    if module.source.holds(STARTS):
        lines += module.lines_holding(name)
    units = {unit_of(function) for function in module.functions_at(lines)}
    return _mark([*names, *(unit(module, one) for one in sorted(units))])


def _parts(value: Value) -> Iterator[Value]:
    return (part for part in (value.elem, *(value.items or ()), *(value.keys or {}).values()) if part is not None)
