"""What an answer about a project depends on, so that a cache knows when it would be another one.

`Recording` is a project that notes what is read of its files so finely that few changes make it another thing.

Whoever gets a function of another file depends on its text, whoever gets a class on its head (bases, names of methods), and
both on the statements of the module. Whoever looks further is seen, by way of the class (`cache/watched_class.py`): at a
method, at who stores an attribute, at all of it; or by way of the module (`cache/watched.py`): at what stands at its top
under a name, at the functions that hold a text, or only at whether the file holds something. A call counts with the
function that it stands in. Finer is only what happens between the methods here and the evaluation of functions, which look
at nothing else: a name that leads through a file depends on what the file binds it to, a value on the functions that it was
made in, a search for callers on which files mention the name and, in those, on the functions that call it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from ..facts.module import Class, Function, Module
from ..facts.units import BODY, bound, head, stores, top, top_of, unit, unit_of
from ..facts.values import Callee, Common, Value
from ..program.by_file import Told
from ..program.calling import CallSite, aliases
from ..program.definitions import MOST_HEIRS, origins
from ..program.files import How, Said
from ..program.noting import BY_TEXT, IN_FILE, Atom, Noting, mark
from ..program.places import place_of
from ..program.texts import STARTS
from ..query.closures import NOTHING
from ..settings.home import Home
from ..system.cached import kept
from ..text.finders import found_by_name
from ..text.source import Searches, Source
from ..text.whole_words import as_pattern
from .by_function import ByFunction, Extent, key_of
from .watched import Watched

T = TypeVar("T")


class Recording(Noting):
    """A project that notes which parts of its files each answer depends on."""

    def __init__(
        self,
        files: Mapping[str, Callable[[], bytes]],
        home: Home | None = None,
        before: Told | None = None,
        changed: Collection[str] = (),
    ) -> None:
        """`before` and `changed` are what `Noting` takes."""
        self.by_function: ByFunction | None = None
        """Where it is kept what rules say of single functions, if it is."""
        self._nested = 0
        """How many of the project's own questions the present one is asked by."""
        super().__init__(files, home, before, changed)

    def _own(self, answer: Callable[[], T]) -> T:
        """An answer of the project itself, which notes what it depends on."""
        self._nested += 1
        try:
            return answer()
        finally:
            self._nested -= 1

    def _given(self, answer: T) -> T:
        """Somebody outside gets an answer, and may look at all it leads to."""
        if self._notes and not self._nested:
            self._own(lambda: self._note_given(answer))
        return answer

    def _note_given(self, answer: object) -> None:
        for part in _parts_of(answer):
            self._note_part(part)
        for function in _functions(answer):
            self._note_unit(function)

    def _parsed(self, source: Source, name: str, is_package: bool) -> Module:
        return Watched(source, name, is_package, self)

    @property
    def is_asked(self) -> bool:
        """Whether what is looked at counts: not what the project does for a question of its own, which notes what that is about."""
        return not self._nested and self._notes and not self._database.quiet

    @property
    def is_noting(self) -> bool:
        """Whether what is looked at counts, by the project's own questions too."""
        return self._notes and not self._database.quiet

    def look_at(self, path: str) -> None:
        """Told that somebody looks at all of a file."""
        self.note("text", path)

    def note_functions(self, kind: str, module: Module, text: str) -> None:
        """Told that somebody looks at the functions of a file that hold a text ("holding"), or call something of a name ("calls")."""
        if self._notes:
            find = _calling if kind == "calls" else _holding
            told = kept(module, f"{kind} {text}", lambda: self._own(lambda: find(module, text)))
            self.note(kind, module.path, text, told)

    def note_named(self, module: Module, name: str, found: Sequence[Function]) -> None:
        """Told that somebody looks at the functions of a name."""
        self.note("named", module.path, name, self._own(lambda: _units(found)))

    def note_statements(self, module: Module) -> None:
        """Told that somebody looks at the statements of a file itself."""
        self._note_named(module, BODY)

    def note_tops(self, module: Module) -> None:
        """Told that somebody looks at the names of what stands at the top of a file."""
        self.note("tops", module.path, "", self._own(lambda: _tops(module)))

    def note_top(self, module: Module, name: str) -> None:
        """Told that somebody looks up what stands at the top of a file under a name."""
        self._own(lambda: self._note_top(module, name))

    def note_fact(self, path: str, name: str, find: Callable[[Source], Any]) -> None:
        """Told that somebody asks what the text of a file says."""
        if found_by_name(name) is not None:
            self.fact(path, name, find)
        else:
            self.look_at(path)

    def note_held(self, path: str, wanted: Searches | bytes, found: bool) -> None:
        """Told that somebody asks whether the text of a file holds something."""
        pattern = as_pattern(wanted)
        if pattern is None:
            self.look_at(path)
        else:
            self.note("pattern", path, f"{pattern[0]} {pattern[1].decode('latin-1')}", str(found))

    def _note_part(self, part: Function | Class | Module) -> None:
        """Somebody gets a part of a file: of a class its name, bases and methods' names; who looks further is seen."""
        if isinstance(part, Module):
            self._note_named(part, BODY)
        elif top_of(part) == BODY:
            self.note("text", part.module.path)
        elif isinstance(part, Class) and part.parent is not part.module.body:
            self._note_top(part.module, top_of(part))
        else:
            if isinstance(part, Class):
                self.note_head(part)
            else:
                self._note_unit(part)
            self._note_named(part.module, BODY)

    def _note_top(self, module: Module, name: str) -> None:
        self.note("top", module.path, name, self.quietly(lambda: top(module, name)))
        self._note_named(module, BODY)

    # What rules say

    @property
    def _of_functions(self) -> ByFunction | None:
        """Where it is kept, in this process."""
        return self.by_function if self.by_function is not None and self.by_function.is_of_here else None

    def shown(self, function: Function, how: How, look: Callable[[], Said]) -> Said:
        module, known = function.module, self._of_functions
        if known is None or function.parent is None or module.text.cell(1) is not None:
            return super().shown(function, how, look)
        extent = Extent.of(function)
        key = key_of(function, how, extent)
        if (again := known.again(key, extent)) is not None:
            return again, []

        def noted() -> Said:
            self._own(lambda: self._note_part(function))
            for kind in ("steps", "regions"):
                self.note(kind, module.path)
            self.note("renames")
            found, errors = look()
            for other in extent.beyond(found):
                self.note("text", other)
            for near in extent.related(found):
                self._own(partial(self._note_unit, near))
            return found, errors

        found, errors = self.linked(("file", module.path), lambda: self.linked(("shown", *key), noted))
        if not errors:
            known.learn(key, extent.told(found))
        return found, errors

    def told_of(self, function: Function, what: str, find: Callable[[], bool]) -> bool:
        known = self._of_functions
        if known is None or function.parent is None:
            return super().told_of(function, what, find)
        key = (*place_of(function), what)
        again = known.told_again(key)
        if again is not None:
            self._database.use(("shown", *key), again.hangs_on or NOTHING)
            return bool(again.told)

        def noted() -> bool:
            self._own(lambda: self._note_part(function))
            return find()

        told = self.linked(("shown", *key), noted)
        known.learn(key, told)
        return told

    # Files

    def module(self, path: str) -> Module | None:
        if not self._notes:
            return super().module(path)
        if not self._database.quiet:
            self.note("text", path)
            return self.quietly(lambda: super(Recording, self).module(path))
        module = super().module(path)
        self.note("parses", path, str(module is not None))
        return module

    # Names

    def definition(self, name: str, near: Module) -> Function | Class | Module | None:
        ask = super().definition
        return self._given(self._own(lambda: ask(name, near)))

    def is_namespace(self, name: str, near: Module) -> bool:
        ask = super().is_namespace
        return self._own(lambda: ask(name, near))

    def _definition(self, name: str, near: Module) -> Function | Class | Module | None:
        return self.quietly(lambda: super(Recording, self)._definition(name, near))

    def canonical(self, name: str, near: Module) -> str:
        ask = super().canonical
        if name.partition(".")[0] == "torch":
            return ask(name, near)
        return self._own(lambda: ask(name, near))

    def _follow(self, name: str, near: Module) -> str:
        return self.quietly(lambda: super(Recording, self)._follow(name, near))

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
            self.note("name", module.path, name, self._own(lambda: bound(module, name)))

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
        if self._notes:
            self._note_named(function.module, unit_of(function))

    def _note_named(self, module: Module, name: str) -> None:
        self.note("unit", module.path, name, self._own(lambda: unit(module, name)))

    def run_by(self, value: Value) -> list[Function]:
        ask = super().run_by
        return self._given(self._own(lambda: ask(value)))

    def numbered(self, path: str, qualname: str, number: int) -> Function | None:
        ask = super().numbered
        return self._given(self._own(lambda: self.quietly(lambda: ask(path, qualname, number))))

    def note_place(self, function: Function) -> None:
        self._own(lambda: self._note_unit(function))

    def module_for_calls(self, path: str, name: str) -> Module | None:
        module = self.quietly(lambda: super(Recording, self).module_for_calls(path, name))
        if self._notes and module is not None:
            self.note_functions("calls", module, name)
        return module

    def module_for_name(self, path: str, name: str) -> Module | None:
        module = self.quietly(lambda: super(Recording, self).module_for_name(path, name))
        if self._notes and module is not None:
            self.note_functions("holding", module, name)
        return module

    def functions_of(self, path: str) -> Sequence[Function]:
        found = self.quietly(lambda: super(Recording, self).functions_of(path))
        if self._notes and found:
            self.note("looping", path, "", self._own(lambda: _looping(found)))
        return found

    def modules_for_imports(self, paths: Iterable[str]) -> list[Module]:
        every = list(paths)
        found = self.quietly(lambda: super(Recording, self).modules_for_imports(every))
        for module in found:
            self._note_imports(module)
        for path in {*every} - {module.path for module in found}:
            self.note("text", path)  # it does not parse yet
        return found

    def listing(self, path: str, name: str) -> Mapping[Function, Collection[int]]:
        found = self.quietly(lambda: super(Recording, self).listing(path, name))
        if self._notes and found:
            self.note("lists", path, name, self._own(lambda: _units(found)))
        return found

    def calls_of(self, function: Function) -> Iterator[CallSite]:
        found = super().calls_of(function)
        while (site := self._given(self._own(lambda: next(found, None)))) is not None:
            yield site

    # Classes

    def bases(self, klass: Class) -> list[Class]:
        self.note_head(klass)
        ask = super().bases
        return self._given(self._own(lambda: ask(klass)))

    def is_module(self, klass: Class) -> bool:
        self.note_head(klass)
        ask = super().is_module
        return self._own(lambda: ask(klass))

    def method(self, klass: Class, name: str) -> Function | None:
        self.note_head(klass)
        ask = super().method
        return self._given(self._own(lambda: ask(klass, name)))

    def having(self, name: str, paths: Iterable[str]) -> list[Class]:
        every = list(paths)
        found = self.quietly(lambda: super(Recording, self).having(name, every))
        if self._notes:
            for path, heads in self._own(lambda: self.quietly(lambda: [(one, _heads(found, one)) for one in every])):
                self.note("having", path, name, heads)
        return self._given(found)

    def classes_named(self, path: str, name: str) -> list[Class]:
        found = self.quietly(lambda: super(Recording, self).classes_named(path, name))
        if len(found) == 1:
            self.note_head(found[0])
        else:
            self._database.open("text", path)
        return self._given(found)

    def root(self, klass: Class) -> Class:
        ask = super().root
        return self._own(lambda: ask(klass))  # nobody looks into it: roots are compared

    def base_words(self, klass: Class) -> list[str]:
        ask = super().base_words
        return self._own(lambda: ask(klass))

    def overridden(self, method: Function) -> list[Function]:
        ask = super().overridden
        found = self._own(lambda: ask(method))
        for base in found if self._notes else ():
            self._note_unit(base)
        return found  # it is asked who calls them, and nobody looks around them

    def inherits(self, klass: Class, base: Class) -> bool:
        ask = super().inherits
        return self._own(lambda: ask(klass, base))

    def subclasses(self, klass: Class) -> list[Class]:
        ask = super().subclasses
        found = self._own(lambda: self.quietly(lambda: ask(klass)))
        for heir in found if self._notes else ():
            self.note_head(heir)
            if (init := heir.methods.get("__init__")) is not None:
                self._note_unit(init)  # whoever asks for who runs a constructor looks into those
        return self._given(found)

    def of_heirs(self, klass: Class, name: str, most: int = MOST_HEIRS) -> list[Function]:
        ask = super().of_heirs
        found = self._own(lambda: ask(klass, name, most))
        for method in found if self._notes else ():
            self._note_unit(method)
        return self._given(found)

    def attribute_stores(self, klass: Class, name: str) -> list[tuple[Function, ast.Attribute]]:
        self.note_stores(klass, name)
        found = self.quietly(lambda: super(Recording, self).attribute_stores(klass, name))
        for method in dict.fromkeys(method for method, _ in found) if self._notes else ():
            self._own(lambda method=method: self._note_unit(method))  # type: ignore[misc]
        return found

    def note_stores(self, klass: Class, name: str) -> None:
        """Told that somebody looks at where a class gives its objects an attribute."""
        if self._notes:
            self.note("stores", klass.module.path, klass.qualname, name, self._own(lambda: self._stores(klass, name)))

    def _attribute(self, klass: Class, name: str) -> Value:
        self.note_stores(klass, name)
        return self.quietly(lambda: super(Recording, self)._attribute(klass, name))

    def _stores(self, klass: Class, name: str) -> str:
        found = self.quietly(lambda: super(Recording, self).attribute_stores(klass, name))
        return self.quietly(lambda: stores(klass, name, [method for method, _ in found]))

    def note_head(self, klass: Class) -> None:
        """Told that somebody looks at the bases of a class, or at the names of its methods."""
        if self._notes:
            self.note("class", klass.module.path, klass.qualname, self._own(lambda: self._head(klass)))

    def _head(self, klass: Class) -> str:
        return self.quietly(lambda: head(klass))

    # The whole project

    def imports_of(self, module: Module) -> list[Module]:
        self._note_imports(module)
        return super().imports_of(module)

    def _note_imports(self, module: Module) -> None:
        self.note("imports", module.path, self._own(lambda: mark(sorted(origins(module)))))

    def _find_imports(self, module: Module) -> list[Module]:
        find = super()._find_imports
        return self._own(lambda: self.quietly(lambda: find(module)))

    def mentioned(self, module: Module, pattern: re.Pattern[bytes]) -> bool:
        ask = super().mentioned
        found = self._own(lambda: ask(module, pattern))
        self.note_held(module.path, pattern, found)
        return found

    # How things are now

    def now(self, atom: Atom) -> str | None:
        kind = atom[0]
        if kind not in IN_FILE or kind in BY_TEXT:
            return super().now(atom)
        module = self.module(atom[1]) if atom[1] in self._files else None
        if kind == "parses":
            return str(module is not None)
        if module is None:
            return ""
        if kind == "name":
            return bound(module, atom[2])
        if kind == "unit":
            return unit(module, atom[2])
        if kind == "top":
            return top(module, atom[2])
        if kind == "tops":
            return _tops(module)
        if kind == "having":
            return _heads(super().having(atom[2], (atom[1],)), atom[1])
        if kind == "lists":
            return _units(super().listing(atom[1], atom[2]))
        if kind == "calls":
            return _calling(module, atom[2])
        if kind == "holding":
            return _holding(module, atom[2])
        if kind == "named":
            return _units(module.functions_named(atom[2]))
        if kind == "looping":
            return _looping(module.functions)
        if kind == "imports":
            return mark(sorted(origins(module)))
        klass = next((klass for klass in module.classes if klass.qualname == atom[2]), None)
        if klass is None:
            return ""
        return self._head(klass) if kind == "class" else self._stores(klass, atom[3])


def _parts_of(answer: object) -> Iterator[Function | Class | Module]:
    """The functions, classes and files that an answer leads to."""
    if isinstance(answer, Common):
        if answer.function is not None:
            yield answer.function
        if answer.class_ is not None:
            yield answer.class_
        yield from answer.classes
        for one in answer.choices if isinstance(answer, Callee) else ():
            yield from _parts_of(one)
        for part in _parts(answer):
            yield from _parts_of(part)
    elif isinstance(answer, list | tuple):
        for item in answer:
            yield from _parts_of(item)
    elif isinstance(answer, Function | Class | Module):
        yield answer


def _functions(answer: object) -> Iterator[Function]:
    """The functions that hold the calls which an answer leads to: whoever gets a call looks at what is around it there."""
    if isinstance(answer, Common):
        if answer.made_in is not None and answer.made_by is not None:
            yield answer.made_in.function_at(answer.made_by.lineno)
        for part in _parts(answer):
            yield from _functions(part)
    elif isinstance(answer, list):
        for item in answer:
            yield from _functions(item)
    elif isinstance(answer, CallSite):
        yield answer.function


def _tops(module: Module) -> str:
    """Digest of the names of what stands at the top of a file."""
    return mark([*module.top_functions, "", *module.top_classes])


def _calling(module: Module, name: str) -> str:
    """Digest of the functions of a file that may call something of that name, or have a process run it."""
    names = aliases(module, name)
    lines = [line for alias in names for line in module.lines_calling(alias)]
    if module.source.holds(STARTS):
        lines += module.lines_holding(name)
    return mark([*names, _units(module.functions_at(lines))])


def _looping(functions: Sequence[Function]) -> str:
    """Digest of the functions of a file that hold loops, of its own statements, and of the names of all of its functions."""
    body = functions[0].module.body
    return mark([_units([body, *(one for one in functions if one.own_loops)]), *(one.qualname for one in functions)])


def _holding(module: Module, text: str) -> str:
    """Digest of the functions of a file that hold a text."""
    return _units(module.functions_at(module.lines_holding(text)))


def _heads(classes: Iterable[Class], path: str) -> str:
    """Digest of what is noted of those of some classes that are of a file."""
    return mark(f"{klass.qualname} {head(klass)}" for klass in classes if klass.module.path == path)


def _units(functions: Iterable[Function]) -> str:
    """Digest of what is noted of some functions of a file."""
    return mark(sorted({unit(function.module, unit_of(function)) for function in functions}))


def _parts(value: Common) -> Iterator[Value]:
    return (part for part in (value.element, *(value.items or ()), *(value.entries or {}).values()) if part is not None)
