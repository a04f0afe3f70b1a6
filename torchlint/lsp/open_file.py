"""A file that is open in an editor: it takes an edit inside of a function in place, and tells which of its parts are looked at.

What stands outside of the function keeps its tree, its functions and what is known of them, so that the engine of questions
has to ask again only what was made of that function, or of the text of the file.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from ..facts.module import BODIES, Class, Function, FunctionNode, Module, first_line
from ..system.cached import cached_property
from ..system.stamp import as_bytes
from ..text.source import Searches, Source, Words
from ..text.whole_words import WholeWords

if TYPE_CHECKING:
    from ..query.database import Database

T = TypeVar("T")

PARTS = frozenset(
    ("text", "unit", "holds text", "lines calling", "lines holding", "outline", "import text", "fact", "says", "stored")
)
"""Kinds of things that an open file tells are looked at."""
_KEPT_OF_MODULE = frozenset(
    """path name is_package body functions classes stars watcher searches finds edited _around import_names imports aliases top_functions
    top_classes _spans nested assigned function_from _asked _tree _source""".split()
)
"""What an edit inside of a function leaves of a module as it is."""
_KEPT_OF_FUNCTION = frozenset(
    "flow bindings bound _free nested defaults parameters own_loops decorator_names is_abstract loops_by_place".split()
)
"""What is known of a function by its own tree."""


class Glass(Source):
    """The text of an open file as others see it: an answer depends on all of it, or on whether it holds something."""

    def __init__(self, module: OpenModule) -> None:
        object.__getattribute__(self, "__dict__")["_module"] = module

    def holds(self, wanted: Searches | bytes) -> bool:
        module: OpenModule = object.__getattribute__(self, "__dict__")["_module"]
        return module.holds(wanted)

    def fact(self, name: str, find: Callable[[Source], T]) -> T:
        module: OpenModule = object.__getattribute__(self, "__dict__")["_module"]
        return module.fact(name, find)

    def __getattribute__(self, name: str) -> Any:
        if name in ("holds", "fact", "__class__"):
            return object.__getattribute__(self, name)
        module: OpenModule = object.__getattribute__(self, "__dict__")["_module"]
        if name == "path":
            return module.path
        module.look()
        return getattr(module.text, name)


class _Part:
    """A part of an open file: who reads what is kept of it is noted."""

    __slots__ = ()

    module: Module
    _kept: dict[str, Any]
    """What is kept of it, of which nobody is told."""

    @property
    def _module(self) -> OpenModule:
        module = self.module
        assert isinstance(module, OpenModule)
        return module

    def look(self) -> None:
        """Told that somebody looks into it."""
        self._module.look()

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        self.look()
        return self._kept

    def own(self, name: str, answer: Callable[[Any], Any]) -> Any:
        """What is kept of it under a name."""
        kept = self._kept
        if name not in kept:
            kept[name] = self._module.quietly(lambda: answer(self))
        return kept[name]


class OpenFunction(_Part, Function):
    """A function of an open file. Of one that stands in no other, the head stays as it is as long as the file is the same."""

    __slots__ = ("_node", "unit")

    _kept = Function.__dict__["__dict__"]
    _node: FunctionNode | ast.Module
    unit: str
    """The name of the outermost function around it."""

    def __init__(
        self,
        module: Module,
        node: FunctionNode | ast.Module,
        qualname: str,
        parent: Function | None,
        cls: Class | None,
    ) -> None:
        self.unit = parent.unit if isinstance(parent, OpenFunction) and parent.parent is not None else qualname
        super().__init__(module, node, qualname, parent, cls)

    @property
    def is_inner(self) -> bool:
        """Whether it stands in another function."""
        return self.parent is not None and self.parent.parent is not None

    @property
    def node(self) -> FunctionNode | ast.Module:
        if self.parent is None:
            self._module.look()
        else:
            self.look()
        return self._node

    @node.setter
    def node(self, node: FunctionNode | ast.Module) -> None:
        self._node = node

    def look(self) -> None:
        """Told that somebody looks into the function."""
        module = self._module
        if module.watcher is not None and self.parent is not None:
            module.watcher.open("unit", module.path, self.unit)

    @property
    def start(self) -> tuple[int, int]:
        if self.is_inner:
            self.look()
        node = self._node
        return (0, 0) if isinstance(node, ast.Module) else (node.lineno, node.col_offset)

    @property
    def root(self) -> FunctionNode | ast.Module:
        self.look()
        return self._node

    @property
    def decorators(self) -> list[ast.expr]:
        if self.is_inner:
            self.look()
        return [] if isinstance(self._node, ast.Module) else self._node.decorator_list

    def binds(self, name: str) -> bool:
        self.look()
        return self._module.quietly(lambda: super(OpenFunction, self).binds(name))


class OpenClass(_Part, Class):
    """A class of an open file."""

    __slots__ = ("_node",)

    _kept = Class.__dict__["__dict__"]
    _node: ast.ClassDef

    @property
    def node(self) -> ast.ClassDef:
        self.look()
        return self._node

    @node.setter
    def node(self, node: ast.ClassDef) -> None:
        self._node = node

    @property
    def is_inner(self) -> bool:
        """Whether it stands in a function."""
        return self.parent.parent is not None

    @property
    def start(self) -> tuple[int, int]:
        if self.is_inner:
            self.look()
        return self._node.lineno, self._node.col_offset

    @property
    def bases(self) -> list[ast.expr]:
        if self.is_inner:
            self.look()
        return self._node.bases


class OpenModule(_Part, Module):
    """A module that takes edits in place. Raises SourceError where the file does not parse."""

    _kept = Module.__dict__["__dict__"]

    of_function = OpenFunction
    of_class = OpenClass

    _source: Source
    _tree: ast.Module

    def __init__(self, source: Source, name: str, is_package: bool) -> None:
        self.watcher: Database | None = None
        """Who is told what is looked at."""
        self.searches: dict[str, Searches] = {}
        """What was searched for, by how it is called in what answers hang on."""
        self.finds: dict[str, Callable[[Source], Any]] = {}
        """How facts of the text are found, by their names."""
        self.edited = (b"", b"")
        """The lines of the last edit, before and after it."""
        self._around = (b"", b"")
        """The text of the function that the last edit was in, before and after it; nothing where the edit says the same."""
        super().__init__(source, name, is_package)

    @property
    def text(self) -> Source:
        """The file itself."""
        return self._source

    @property
    def source(self) -> Source:
        return Glass(self) if self.watcher is not None else self._source

    @source.setter
    def source(self, source: Source) -> None:
        self._source = source

    @property
    def tree(self) -> ast.Module:
        self.look()
        return self._tree

    @tree.setter
    def tree(self, tree: ast.Module) -> None:
        self._tree = tree

    @property
    def _module(self) -> OpenModule:
        return self

    def look(self) -> None:
        """Told that somebody looks at all of the file."""
        if self.watcher is not None:
            self.watcher.open("text", self.path)

    def quietly(self, ask: Callable[[], T]) -> T:
        """What somebody finds out who need not be told what is looked at for it."""
        watcher, self.watcher = self.watcher, None
        try:
            return ask()
        finally:
            self.watcher = watcher

    def holds(self, wanted: Searches | bytes) -> bool:
        """Whether the text holds something."""
        found = self._source.holds(wanted)
        if self.watcher is not None:
            if isinstance(wanted, bytes):
                name = f"text {wanted.decode('latin-1')}"
            else:
                name = str(id(wanted))
                self.searches[name] = wanted
            self.watcher.open("holds text", self.path, name, str(found))
        return found

    def fact(self, name: str, find: Callable[[Source], T]) -> T:
        """What the text says, by that name."""
        found = self._source.fact(name, find)
        if self.watcher is not None:
            self.finds[name] = find
            self.watcher.open("says", self.path, name, repr(found))
        return found

    def lines_calling(self, name: str) -> list[int]:
        return self._lines("lines calling", name)

    def lines_holding(self, text: str) -> list[int]:
        return self._lines("lines holding", text)

    def _lines(self, kind: str, text: str) -> list[int]:
        found = self.quietly(lambda: self._asked_for(kind, text))
        if self.watcher is not None:
            self.watcher.open(kind, self.path, text, str(found))
        return found

    def _asked_for(self, kind: str, text: str) -> list[int]:
        return super().lines_holding(f"{text}(" if kind == "lines calling" else text)

    def is_other(self, atom: tuple[str, ...]) -> bool:
        """Whether the thing that an atom of the file is about is another one since the last edit."""
        kind, _, what, before = atom
        if kind == "says":
            return repr(self._source.fact(what, self.finds[what])) != before
        if kind == "holds text":
            wanted = what[5:].encode("latin-1") if what.startswith("text ") else self.searches[what]
            if isinstance(wanted, bytes):
                words: Collection[bytes] = (wanted,)
            elif isinstance(wanted, WholeWords) or (isinstance(wanted, Words) and wanted.pattern is None):
                words = (*wanted.words, *wanted.sure)
            else:
                words = (b"",)
            return any(map(self.is_near, words)) and str(self._source.holds(wanted)) != before
        wanted = as_bytes(what)
        return self.is_near(wanted) and str(self.quietly(lambda: self._asked_for(kind, what))) != before

    def is_near(self, text: bytes) -> bool:
        """Whether the last edit may have written or taken away a text."""
        return b"\n" in text or any(text in lines for lines in self.edited)

    def holds_in_edited(self, text: bytes) -> bool:
        """Whether the function that is another one since the last edit holds a text, or did."""
        return any(text in around for around in self._around)

    # Edits

    def take(self, source: Source) -> frozenset[str] | None:
        """Take a text in place; the outermost functions that are others now. None where more is, and nothing was taken."""
        try:
            return self.quietly(lambda: self._take(source))
        except RecursionError:
            return None

    def _take(self, source: Source) -> frozenset[str] | None:
        before, after = self._source.data.splitlines(True), source.data.splitlines(True)
        if len(before) != len(after):
            return None
        others = [number for number, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b]
        if not others:
            return None
        first, last = others[0], others[-1]
        function = self._outermost(first, last)
        if function is None:
            if first < 3 or not all(_is_bare(line) for n in (first, last) for line in (before[n - 1], after[n - 1])):
                return None
            if first != last or self._is_in_statement(first):
                return None
            changed: frozenset[str] = frozenset()
        else:
            taken = self._put(function, after, first, last)
            if taken is None:
                return None
            changed = frozenset((function.unit,)) if taken else frozenset()
        self._source = source
        self.edited = b"".join(before[first - 1 : last]), b"".join(after[first - 1 : last])
        self._around = b"", b""
        if function is not None and changed:
            start = first_line(function._node) - 1  # type: ignore[arg-type]
            self._around = b"".join(before[start : function.last_line]), b"".join(after[start : function.last_line])
        self._forget(changed)
        return changed

    def _outermost(self, first: int, last: int) -> OpenFunction | None:
        """The outermost function whose lines hold all of these."""
        function: Function | None = self.function_at(first)
        while function is not None and function.parent is not None and function.parent.parent is not None:
            function = function.parent
        if not isinstance(function, OpenFunction) or isinstance(function._node, ast.Module):
            return None
        return function if last <= (function._node.end_lineno or 0) else None

    def _is_in_statement(self, line: int) -> bool:
        """Whether a statement of the module or of its classes holds the line."""
        todo = list(self._tree.body)
        while todo:
            statement = todo.pop()
            if first_line(statement) <= line <= (statement.end_lineno or 0):
                if not isinstance(statement, ast.ClassDef) or line < statement.body[0].lineno:
                    return True
                todo = list(statement.body)
        return False

    def _put(self, function: OpenFunction, lines: list[bytes], first: int, last: int) -> bool | None:
        """Put the new text of a function in its place, and tell whether it is another one; None where it can't be put there."""
        old = function._node
        assert not isinstance(old, ast.Module)
        start = first_line(old)
        new = _parsed(b"".join(lines[start - 1 : old.end_lineno]), start, old.col_offset)
        if new is None or not _has_same_head(old, new) or new.end_lineno != old.end_lineno:
            return None
        if _is_same(old, new, first, last):
            return False
        functions, classes, stars, imports = self.functions, self.classes, self.stars, function.imports
        self.functions, self.classes, self.stars, function.imports = [], [], [], {}
        try:
            self._statements(new.body, function, None, f"{function.qualname}.")
            inner, inner_classes, has_stars = self.functions, self.classes, bool(self.stars)
            are_same_imports = function.imports == imports
        finally:
            self.functions, self.classes, self.stars, function.imports = functions, classes, stars, imports
        known = [one for one in functions if one is not function and _is_inside(one, function)]
        known_classes = [one for one in classes if _is_inside(one, function)]
        if has_stars or not are_same_imports:
            return None
        if list(map(_outline, known)) != list(map(_outline, inner)):
            return None
        if [one.qualname for one in known_classes] != [one.qualname for one in inner_classes]:
            return None
        pairs: Iterable[tuple[Any, Any]] = zip((*known, *known_classes), (*inner, *inner_classes), strict=True)
        for one, other in pairs:
            one._node = other._node
        old.body = new.body
        self._end(old, new.end_col_offset)
        return True

    def _end(self, node: FunctionNode, column: int | None) -> None:
        """A function ends at a column, and what ends with it."""
        around: list[ast.stmt] = list(self._tree.body)
        while around:
            one = around.pop()
            if one.lineno <= node.lineno and (one.end_lineno or 0) >= (node.end_lineno or 0):
                if one.end_lineno == node.end_lineno:
                    one.end_col_offset = column
                if one is node:
                    return
                around = [inner for field in BODIES for inner in _statements(getattr(one, field, ()))]

    def _forget(self, changed: Collection[str]) -> None:
        """Forget what is kept of the file that may hang on the text, or on functions that are others now."""
        _keep(self._kept, _KEPT_OF_MODULE)
        for klass in self.classes:
            assert isinstance(klass, OpenClass)
            klass._kept.clear()
        for function in self.functions:
            assert isinstance(function, OpenFunction)
            is_other = function.unit in changed
            _keep(function._kept, () if is_other else _KEPT_OF_FUNCTION)


def _keep(kept: dict[str, Any], names: Collection[str]) -> None:
    for name in [name for name in kept if name not in names]:
        del kept[name]


def _statements(block: Iterable[ast.AST]) -> Iterable[ast.stmt]:
    for one in block:
        if isinstance(one, ast.stmt):
            yield one
        else:
            yield from one.body  # type: ignore[attr-defined]


def _is_bare(line: bytes) -> bool:
    """Whether nothing stands on a line but a comment."""
    return not line.strip() or line.lstrip().startswith(b"#")


def _parsed(text: bytes, line: int, column: int) -> FunctionNode | None:
    """The tree of a function whose text begins on that line of a file, at that column; None where it isn't just one function."""
    before = b"\n" * (line - 2) + b"if 1:\n" if column else b"\n" * (line - 1)
    if column and line < 2:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse((before + text).decode()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if column and len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        body = body[0].body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    return body[0]


def _has_same_head(one: FunctionNode, other: FunctionNode) -> bool:
    return one.__class__ is other.__class__ and _head(one) == _head(other)


def _head(node: FunctionNode) -> list[object]:
    parts = [
        node.args,
        *node.decorator_list,
        *([node.returns] if node.returns else []),
        *getattr(node, "type_params", ()),
    ]
    dumped = [ast.dump(part, include_attributes=True) for part in parts]
    return [node.name, node.lineno, node.col_offset, *dumped]


def _is_same(old: ast.AST, new: ast.AST, first: int, last: int) -> bool:
    """Whether two statements say the same whose texts differ on some lines only."""
    if old.__class__ is not new.__class__ or any(getattr(old, a) != getattr(new, a) for a in old._attributes):
        return False
    for field, value in ast.iter_fields(old):
        other = getattr(new, field)
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            if len(value) != len(other):
                return False
            for one, two in zip(value, other, strict=True):
                if one.lineno != two.lineno or one.end_lineno != two.end_lineno:
                    return False
                if first_line(one) <= last and (one.end_lineno or 0) >= first and not _is_same(one, two, first, last):
                    return False
        elif isinstance(value, list):
            if list(map(_dump, value)) != list(map(_dump, other)):
                return False
        elif _dump(value) != _dump(other):
            return False
    return True


def _dump(value: object) -> object:
    if isinstance(value, ast.AST):
        return ast.dump(value, include_attributes=True)
    return (value.__class__, repr(value))


def _is_inside(one: Function | Class, function: Function) -> bool:
    around: Function | None = one.parent
    while around is not None and around is not function:
        around = around.parent
    return around is function


def _outline(function: Function) -> tuple[object, ...]:
    node = function._node  # type: ignore[attr-defined]
    cls = function.cls.qualname if function.cls is not None else ""
    return (
        function.qualname,
        cls,
        node.lineno,
        first_line(node),
        node.end_lineno,
        node.col_offset,
        sorted(function.imports.items()),
    )


# What is kept of the parts of a file is told of too, each time it is read

_OF_STRUCTURE = {
    OpenModule: {*_KEPT_OF_MODULE, "function_of", "class_of"},
    OpenFunction: {"nested"},
}
"""What depends on the definitions of the file alone, which an edit in place leaves as they are."""
_OF_HEAD = {
    OpenFunction: {"defaults", "parameters", "decorator_names"},
    OpenClass: {"assigned", "getters"},
}
"""What is others' only where the function or class stands in a function."""


def _looked_at(kind: type[Any], name: str, answer: Callable[[Any], Any]) -> property:
    """The property of a part that stands for what is kept of it under a name."""
    is_structure, is_head = (name in table.get(kind, ()) for table in (_OF_STRUCTURE, _OF_HEAD))

    def given(self: Any) -> Any:
        if not (is_structure or (is_head and not self.is_inner)):
            self.look()
        return self.own(name, answer)

    return property(given)


for _kind in (OpenModule, OpenFunction, OpenClass):
    for _name, _kept in vars(_kind.__base__).items():
        if isinstance(_kept, cached_property):
            setattr(_kind, _name, _looked_at(_kind, _name, getattr(_kept, "_answer", None) or _kept.func))
