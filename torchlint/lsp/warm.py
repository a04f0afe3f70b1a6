"""A project that takes the parsed files of an editor's session, and forgets what changes: of open files no more than must be."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeVar

from ..cache.links import Index
from ..facts.evaluator import Evaluator
from ..facts.module import Class, Function, Module
from ..program.context import Context
from ..program.files import How, Said, place_of
from ..program.noting import IN_FILE, OF_A_RUN, Answer, Atom, Noting, mark
from ..program.steps import Steps
from ..program.texts import STARTS, Sought, Texts
from ..program.warm_loops import WarmLoops
from ..query.incremental import Incremental
from ..rule.analysis import Analysis
from ..system.fault import Passing
from ..system.stamp import as_bytes
from ..text.declared import import_text
from ..text.source import Source
from .kept import Kept, beyond
from .open_file import PARTS, OpenFunction, OpenModule

T = TypeVar("T")


class Interrupted(Passing):
    """A look was given up because its answer is not wanted any more. Not an Exception: no rule may swallow it."""


Stop = Callable[[], bool]
"""Whether a look should be given up."""


@dataclass(slots=True)
class File:
    """A file as last read: `stamp` says whether it is still the same, `module` is its tree once somebody asked."""

    stamp: object
    source: Source | None
    error: Exception | None
    module: Module | None = None


class Warm(Noting):
    """A project that takes the parsed files of a session, and forgets what changes."""

    _of_files = PARTS | IN_FILE

    def __init__(self, read: Callable[[str], File], paths: Sequence[str]) -> None:
        """`read` gives a file as it is now."""
        self._database: Incremental
        super().__init__({path: lambda: b"" for path in paths})
        self._file = read
        self.stop: Stop = lambda: False
        self.index: Index | None = None
        """What was known of the whole project when it was last looked at."""
        self._shown: dict[tuple[Any, ...], Kept] = {}
        """What rules said of functions of open files, by how they were shown them."""
        self._indexes: dict[str, Any] = {}
        """What is known of the whole project, by kind."""
        self._changed: Collection[str] | None = None
        """The functions at the top of the file that is being taken in, or of its classes, that are others; None where all of it is."""
        self._part: Sequence[OpenFunction] = ()
        """Those, and the functions in them."""
        self._calls_stand = False
        """Whether the edit that is taken in leaves how the file calls what its lines do not name."""
        self._asks: tuple[Steps, Context, WarmLoops] | None = None
        """Who asks for what is kept from run to run."""
        self._dispatches: tuple[Mapping[str, AbstractSet[str]], dict[Hashable, Any]] | None = None
        """What rules are shown, while imports give these other names to things."""

    def look_anew(self) -> None:
        """Forget what rules said."""
        self._shown.clear()

    def _asked_of(self, noting: bool) -> Incremental:
        return Incremental(place_of)

    def ask_again(self, analysis: Analysis) -> None:
        """Take part in a run: how answers are worked out hangs on what asked for them in the first run."""
        if self._asks is None:
            self._asks = analysis.steps, analysis.context, analysis.warm_loops
        else:
            analysis.steps, analysis.context, analysis.warm_loops = self._asks
            analysis.steps.refresh()
            analysis.context.refresh()
        if self._dispatches is None or self._dispatches[0] is not self.renames:
            self._dispatches = self.renames, analysis.dispatches
        analysis.dispatches = self._dispatches[1]

    # Open files

    def _open(self, path: str) -> OpenModule | None:
        module = self._modules.get(path)
        return module if isinstance(module, OpenModule) else None

    def source(self, path: str) -> Source | None:
        module = self._open(path)
        return module.source if module is not None and self._notes else super().source(path)

    def module(self, path: str) -> Module | None:
        module = self._open(path)
        if module is None:
            return super().module(path)
        self._database.open("outline", path)
        return module

    def note_lines(self, module: Module) -> None:
        if isinstance(module, OpenModule):  # an edit in place leaves labels but in its function
            self._database.open("outline", module.path)
        else:
            super().note_lines(module)

    def note_place(self, function: Function) -> None:
        if isinstance(function, OpenFunction):  # an edit in place leaves the functions that it is not in
            self._database.open("outline", function.module.path)
            if function.is_inner:
                function.look()
        else:
            super().note_place(function)

    def numbered(self, path: str, qualname: str, number: int) -> Function | None:
        module = self._open(path)
        if module is None:
            return super().numbered(path, qualname, number)
        self._database.open("outline", path)
        return module.numbered(qualname, number)

    def import_text(self, path: str) -> bytes:
        if self._open(path) is None or not self._notes:
            return super().import_text(path)
        found = self.quietly(lambda: super(Warm, self).import_text(path))
        self._database.open("import text", path, mark([found.decode("latin-1")]))
        return found

    def lines_listing(self, path: str, name: str) -> list[int]:
        if self._open(path) is None:
            return super().lines_listing(path, name)
        return Texts.lines_listing(self, path, name)  # an open file notes which lines it tells

    def inside(self, function: Function, ask: Callable[[Evaluator], T]) -> T:
        if not isinstance(function, OpenFunction):
            return super().inside(function, ask)

        def noted(values: Evaluator) -> T:
            function.look()
            return ask(values)

        return super().inside(function, noted)

    def attribute_stores(self, klass: Class, name: str) -> list[tuple[Function, ast.Attribute]]:
        module = klass.module
        if not isinstance(module, OpenModule):
            return super().attribute_stores(klass, name)
        found = module.quietly(lambda: super(Warm, self).attribute_stores(klass, name))
        self._database.open("stored", module.path, klass.qualname, name, _stored(found))
        for method in dict.fromkeys(method for method, _ in found):
            if isinstance(method, OpenFunction):
                method.look()
        return found

    def registering(self, klass: Class, name: str) -> Sequence[tuple[Function, ast.Call]]:
        module = klass.module
        if not isinstance(module, OpenModule):
            return super().registering(klass, name)
        found = self._registering(module, klass, name)
        self._database.open("registered", module.path, klass.qualname, name, _stored(found))
        for method in dict.fromkeys(method for method, _ in found):
            if isinstance(method, OpenFunction):
                method.look()
        return found

    def indexed(self, kind: str, find: Callable[[], T]) -> T:
        key = ("index", kind)
        if kind not in self._indexes or key not in self._database:
            self._indexes[kind] = self.apart(lambda: self.linked(key, find))
        found: T = self._indexes[kind]
        return found

    def shown(self, function: Function, how: How, look: Callable[[], Said]) -> Said:
        path = function.module.path
        if self._open(path) is not function.module or not isinstance(function, OpenFunction):
            return super().shown(function, how, look)
        key = ("found", function, how)

        def noted() -> Said:
            self._database.open("outline", path)
            for kind in ("steps", "regions"):
                self.note(kind, path)
            self.note("renames")
            found, errors = look()
            for other in beyond(found, function) | {error.path for error in errors}:
                self._database.open("text", other)
            return found, errors

        known = self._shown.get(key)
        if known is None or key not in self._database:
            known = self._shown[key] = Kept(self.linked(key, noted), function, self._open)
        return known.now()

    def take_part(self, module: OpenModule, changed: Collection[str]) -> None:
        """Take in that some functions of a file are others now, and its text."""

        def is_gone(owner: object) -> bool:
            return isinstance(owner, OpenFunction) and owner.module is module and owner.unit in changed

        self._changed = changed
        self._part = [one for one in module.functions if isinstance(one, OpenFunction) and one.unit in changed]
        self._shown = {key: said for key, said in self._shown.items() if self._database.may_stand(key)}
        try:
            self._taken(module.path, self._uses_near(module), is_gone)
        finally:
            self._changed, self._calls_stand, self._part = None, False, ()

    def _forget_gone(self, is_gone: Callable[[Any], bool]) -> None:
        if self._changed is None:
            super()._forget_gone(is_gone)
            return
        self._database.forget_linked(lambda key: key[0] in OF_A_RUN)
        # The functions themselves stay.
        self._database.forget_about(self._part, lambda key: any(isinstance(part, ast.AST) for part in key))

    def asked_again(self, key: tuple[Any, ...], ask: Callable[[], None]) -> None:
        self._database.asked_again(key, ask)

    def _stands(self, name: tuple[str, str]) -> bool:
        return name in self.answers and ("question", *name) in self._database

    def _keep_answered(self) -> None:
        known = self.answers.items()
        self.answers = {name: answer for name, answer in known if self._database.may_stand(("question", *name))}

    def _uses_near(self, module: OpenModule) -> dict[Sought, bool]:
        """Whether the file of an edit may have used what was looked for, where the edit may have changed that."""
        path = module.path
        before = self.import_text(path)
        is_same = before == module.text.fact("imports", import_text)
        self._calls_stand = is_same and not any(map(module.is_near, (b"def ", *STARTS.words)))
        return {
            sought: self.may_use(path, sought)
            for sought in self.searches
            if not is_same or module.is_near(as_bytes(sought.name)) or module.is_near(as_bytes(sought.imported))
        }

    def is_other(self, atom: Atom, changed: Collection[str]) -> bool:
        kind = atom[0]
        if kind == "all" and self._changed is not None:
            return False  # who looks at all files is noted for each
        if kind not in PARTS or (kind == "text" and self._changed is None):
            if kind == "calling" and not any(self._may_call_other(path, atom[1]) for path in changed):
                return False
            if kind == "called as" and self._calls_stand and self._is_far(*atom[1:3]):
                return False
            return super().is_other(atom, changed)
        if atom[1] not in changed or self._changed is None:
            return atom[1] in changed
        if kind in ("text", "outline"):
            return kind == "text"
        if kind == "unit":
            return atom[2] in self._changed
        if kind == "import text":
            return mark([self.import_text(atom[1]).decode("latin-1")]) != atom[-1]
        module = self._open(atom[1])
        if module is not None and kind in ("stored", "registered"):
            classes = [one for one in module.classes if one.qualname == atom[2]]
            if kind == "registered":
                return any(_stored(self._registering(module, one, atom[3])) != atom[-1] for one in classes)
            return module.holds_in_edited(as_bytes(atom[3])) and any(
                _stored(self._storing(module, one, atom[3])) != atom[-1] for one in classes
            )
        return module is None or module.is_other(atom)

    def _is_far(self, path: str, name: str) -> bool:
        """Whether an edit in place stands on no line beside a name of its file."""
        module = self._open(path)
        return module is not None and not module.is_near(as_bytes(name))

    def _may_call_other(self, path: str, name: str) -> bool:
        """Whether an edit may have made a file one that calls a name behind a dot, or one that does not."""
        module = self._open(path)
        return module is None or self._changed is None or module.is_near(b".%s(" % as_bytes(name))

    def _storing(self, module: OpenModule, klass: Class, name: str) -> list[tuple[Function, ast.Attribute]]:
        return module.quietly(lambda: super(Warm, self).attribute_stores(klass, name))

    def _registering(self, module: OpenModule, klass: Class, name: str) -> Sequence[tuple[Function, ast.Call]]:
        return module.quietly(lambda: super(Warm, self).registering(klass, name))

    def name(self, path: str) -> tuple[str, bool]:
        """The dotted name of a file, and whether it is a package."""
        return self._name(path)

    def together(self, find: Callable[[], T]) -> T:
        return find()  # its database knows what answers hang on

    def found(self, node: tuple[str, ...], answer: Answer) -> Answer:
        return answer

    def hangs_on(self, key: tuple[Any, ...]) -> None:
        """Nothing is kept."""

    def all_hang_on(self, keys: Sequence[tuple[Any, ...]]) -> list[None]:
        """Nothing is kept."""
        return [None] * len(keys)

    def _read(self, path: str) -> Source:
        self._pause()
        file = self._file(path)
        if file.source is None:
            assert file.error is not None
            raise file.error
        return file.source

    def parse(self, source: Source, name: str, is_package: bool) -> Module | None:
        self._pause()
        file = self._file(source.path)
        if (
            file.source is not source
            or file.module is None
            or (file.module.name, file.module.is_package) != (name, is_package)
        ):
            file.module = super().parse(source, name, is_package)
        if isinstance(file.module, OpenModule):
            file.module.watcher = self._database
        return file.module

    def evaluator(self, function: Function) -> Evaluator:
        self._pause()
        return super().evaluator(function)

    def _pause(self) -> None:
        if self.stop():
            raise Interrupted


def _stored(found: Iterable[tuple[Function, ast.expr]]) -> str:
    """Digest of the methods that assign an attribute, or register it."""
    return " ".join(method.qualname for method, _ in found)
