"""A file that is open in an editor: it takes an edit inside of a function in place, and tells which of its parts are looked at.

What stands outside of the function keeps its tree, its functions and what is known of them, so that the engine of questions
has to ask again only what was made of that function, or of the text of the file. Where lines come or go, what stands below
is moved by so many; places are told by labels of lines, which stay.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from ..facts.module import Class, Function, FunctionNode, Module, first_line
from ..system.cached import cached_property
from ..system.stamp import as_bytes, digest
from ..text.glass import Glass
from ..text.source import Searches, Source, Words
from ..text.whole_words import WholeWords
from .edits import Edit, edit_between, has_same_head, holds_no_code, parsed_function, says_same

if TYPE_CHECKING:
    from ..query.database import Database

T = TypeVar("T")

PARTS = frozenset(
    (
        *("text", "unit", "unit text", "holds text", "lines calling", "lines holding", "outline", "import text"),
        *("says", "says lines", "stored", "registered"),
    )
)
"""Kinds of things that an open file tells are looked at."""
_KEPT_OF_MODULE = frozenset(
    """path name is_package body functions classes stars watcher searches finds edited _around import_names imports aliases top_functions
    top_classes _spans nested assigned by_qualname _later _by_name _asked _tree _source _labels _moved _units""".split()
)
"""What an edit inside of a function leaves of a module as it is."""
_BY_LINE = frozenset(("_spans",))
"""What of that tells lines."""
_KEPT_OF_FUNCTION = frozenset(
    "flow bindings bound _free _rebound nested defaults parameters positions own_loops decorator_names is_abstract loops loop_numbers call_numbers assigned_attributes".split()
)
"""What is known of a function by its own tree."""
_APART = 1 << 40
"""How far apart the labels of two lines are when a file is opened; others come to lie between them."""
_STEP = 1 << 20
"""How far the label of a new line lies behind that of the line above it, where there is room."""


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
        self, module: Module, node: FunctionNode | ast.Module, qualname: str, parent: Function | None, cls: Class | None
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
        return (0, 0) if isinstance(node, ast.Module) else (self._module.label(node.lineno), node.col_offset)

    @property
    def root(self) -> FunctionNode | ast.Module:
        self.look()
        return self._node

    @property
    def decorators(self) -> list[ast.expr]:
        if self.is_inner:
            self.look()
        return [] if isinstance(self._node, ast.Module) else self._node.decorator_list

    @property
    def outermost(self) -> OpenFunction:
        """The function around it that stands in no other; itself where that is the body of the module."""
        found = self
        while found.is_inner:
            assert isinstance(found.parent, OpenFunction)
            found = found.parent
        return found

    @property
    def unit_lines(self) -> tuple[int, int]:
        """The first and the last line of the outermost function around it; of the file for the body of the module."""
        node = self.outermost._node
        if isinstance(node, ast.Module):
            return 1, len(self._module.text.lines)
        return first_line(node), node.end_lineno or node.lineno

    @property
    def unit_start(self) -> tuple[int, int]:
        """The line and the offset where the outermost function around it begins."""
        line, _ = self.unit_lines
        return line, self._module.text.lines[line - 1]

    def binds(self, name: str) -> bool:
        self.look()
        return self._module.quietly(lambda: super(OpenFunction, self).binds(name))

    @property
    def rebound(self) -> Mapping[str, tuple[ast.AST, ...]]:
        self.look()
        found: Mapping[str, tuple[ast.AST, ...]] = self.own("_rebound", Function.find_rebound)
        return found


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
        return self._module.label(self._node.lineno), self._node.col_offset

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
        self._labels: list[int] | None = None
        """The labels of the lines, and of the one behind the last; None where no line has come or gone."""
        self._moved: dict[ast.AST, list[dict[str, Any]]] = {}
        """Where the lines of the nodes of a statement are kept, for statements that stand in no function."""
        super().__init__(source, name, is_package)
        source.remember()

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

    def look_at(self, node: ast.AST) -> None:
        """Told that somebody looks at the lines of a node: at the text of the outermost function around it."""
        if self.watcher is None:
            return
        function = self.quietly(lambda: self._function_around(node))
        if function is None:
            self.look()
        else:
            self.watcher.open("unit text", self.path, function.unit, self._unit_text(function.unit))

    def _function_around(self, node: ast.AST) -> OpenFunction | None:
        """The outermost function that all lines of a node are in."""
        line: int = node.lineno  # type: ignore[attr-defined]
        function = self.function_at(line)
        assert isinstance(function, OpenFunction)
        _, last = function.unit_lines
        return function.outermost if function.parent is not None and (node.end_lineno or line) <= last else None  # type: ignore[attr-defined]

    def _unit_text(self, unit: str) -> str:
        """Digest of the text of the outermost functions of a name."""
        units: dict[str, list[OpenFunction]] = self.own("_units", OpenModule._outermost_by_name)
        known: dict[str, str] = self.own("_unit_texts", lambda _: {})
        if unit not in known:
            spans = (self.text.span(*function.unit_lines) for function in units[unit])
            known[unit] = digest(*(self.text.data[start:end] for start, end in spans)).hex()
        return known[unit]

    def _outermost_by_name(self) -> dict[str, list[OpenFunction]]:
        found: dict[str, list[OpenFunction]] = {}
        for function in self.functions[1:]:
            assert isinstance(function, OpenFunction)
            if not function.is_inner:
                found.setdefault(function.unit, []).append(function)
        return found

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
            self.watcher.open(kind, self.path, text, self._said(found))
        return found

    def told_lines(self, name: str, find: Callable[[Source], list[int]]) -> list[int]:
        """The lines of which the text says something, by that name."""
        found = self._source.told_lines(name, find)
        if self.watcher is not None:
            self.finds[name] = find
            self.watcher.open("says lines", self.path, name, self._said(found))
        return found

    def _said(self, lines: list[int]) -> str:
        return str([self.label(line) for line in lines])

    # Lines

    def label(self, line: int) -> int:
        return self._labels[line - 1] if self._labels is not None else line * _APART

    def line(self, label: int) -> int:
        return bisect_left(self._labels, label) + 1 if self._labels is not None else label // _APART

    def _labelled(self, edit: Edit, count: int) -> list[int] | None:
        """The labels of the lines after an edit; None where there is no room for those of new ones. `count` were there before."""
        labels = self._labels if self._labels is not None else [line * _APART for line in range(1, count + 2)]
        kept = labels[edit.first - 1 : edit.last][: max(edit.last - edit.first + 1 + edit.more, 0)]
        above = kept[-1] if kept else labels[edit.first - 2] if edit.first > 1 else 0
        new = max(edit.last - edit.first + 1 + edit.more - len(kept), 0)
        step = min((labels[edit.last] - above) // (new + 1), _STEP)
        if new and not step:
            return None
        more = [above + step * number for number in range(1, new + 1)]
        return [*labels[: edit.first - 1], *kept, *more, *labels[edit.last :]]

    def _asked_for(self, kind: str, text: str) -> list[int]:
        return super().lines_holding(f"{text}(" if kind == "lines calling" else text)

    def is_other(self, atom: tuple[str, ...]) -> bool:
        """Whether the thing that an atom of the file is about is another one since the last edit."""
        kind, _, what, before = atom
        if kind == "unit text":
            return self._unit_text(what) != before
        if kind == "says":
            return repr(self._source.fact(what, self.finds[what])) != before
        if kind == "says lines":
            return self._said(self._source.told_lines(what, self.finds[what])) != before
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
        return self.is_near(wanted) and self._said(self.quietly(lambda: self._asked_for(kind, what))) != before

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
        edit = edit_between(before, after)
        if edit is None:
            return None
        labels = self._labelled(edit, len(before)) if edit.more else self._labels
        if edit.more and labels is None:
            return None
        function = self._outermost(edit, before)
        end = edit.last + edit.more
        is_bare = all(map(holds_no_code, chain(before[edit.first - 1 : edit.last], after[edit.first - 1 : end])))
        changed: frozenset[str] = frozenset()
        self._around = b"", b""
        if function is None or (is_bare and (function._node.end_lineno or 0) < edit.first):  # type: ignore[union-attr]
            if not is_bare or edit.first < 3 or self._is_in_statement(edit, before):
                return None
            self._move(edit)
        else:
            old = function._node
            assert not isinstance(old, ast.Module)
            start, old_end = first_line(old), old.end_lineno or 0
            taken = self._put(function, after, edit, is_bare)
            if taken is None:
                return None
            if taken:
                changed = frozenset((function.unit,))
                self._around = b"".join(before[start - 1 : old_end]), b"".join(after[start - 1 : old.end_lineno])
        source.remember(self._source)
        self._source, self._labels = source, labels
        near = slice(max(edit.first - 2, 0), edit.last + 1), slice(max(edit.first - 2, 0), end + 1)
        self.edited = b"".join(before[near[0]]), b"".join(after[near[1]])
        self._forget(changed, edit)
        return changed

    def _outermost(self, edit: Edit, before: list[bytes]) -> OpenFunction | None:
        """The outermost function that an edit is in, or that stands right above what it puts in or takes away."""
        line = min(edit.first, edit.last)
        while line > 0 and holds_no_code(before[line - 1]):
            line -= 1
        function: Function | None = self.function_at(line)
        while function is not None and function.parent is not None and function.parent.parent is not None:
            function = function.parent
        if not isinstance(function, OpenFunction) or isinstance(function._node, ast.Module):
            return None
        return function if all(map(holds_no_code, before[function._node.end_lineno or 0 : edit.last])) else None

    def _is_in_statement(self, edit: Edit, before: list[bytes]) -> bool:
        """Whether lines with nothing but comments may belong to a statement of the module or of its classes."""
        if edit.more and before[edit.first - 2].rstrip(b"\r\n").endswith(b"\\"):
            return True
        todo = list(self._tree.body)
        while todo:
            statement = todo.pop()
            if first_line(statement) <= edit.last and edit.first <= (statement.end_lineno or 0):
                if not isinstance(statement, ast.ClassDef) or edit.first < first_line(statement.body[0]):
                    return True
                todo = list(statement.body)
        return False

    def _put(self, function: OpenFunction, lines: list[bytes], edit: Edit, is_bare: bool) -> bool | None:
        """Put the new text of a function in its place, and tell whether it is another one; None where it can't be put there."""
        old = function._node
        assert not isinstance(old, ast.Module)
        start = first_line(old)
        if edit.more and edit.first <= old.lineno:
            return None
        below = max(edit.last, old.end_lineno or 0)
        new = parsed_function(b"".join(lines[start - 1 : below + edit.more]), start, old.col_offset)
        if new is None or not (edit.first > first_line(old.body[0]) or has_same_head(old, new)):
            return None
        if says_same(old, new, edit, is_bare):
            self._move(edit)
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
        self._move(Edit(start, below, edit.more), old, new)
        pairs: Iterable[tuple[Any, Any]] = zip((*known, *known_classes), (*inner, *inner_classes), strict=True)
        for one, other in pairs:
            one._node = other._node
        old.body, old.end_lineno, old.end_col_offset = new.body, new.end_lineno, new.end_col_offset
        return True

    def _move(self, edit: Edit, old: FunctionNode | None = None, new: FunctionNode | None = None) -> None:
        """Move the nodes below an edit, and the ends of those around it.

        The text of `old` ends as that of `new`, which takes its place.
        """
        end = (old.end_lineno, old.end_col_offset) if old is not None else None
        todo: list[tuple[ast.AST, bool]] = [(node, True) for node in self._tree.body]
        while todo:
            node, is_outside = todo.pop()
            last = getattr(node, "end_lineno", None)
            if last is not None:
                if node is old:
                    self._moved.pop(node, None)
                if node is old or last < edit.first:
                    continue
                if first_line(node) > edit.last:  # type: ignore[arg-type]
                    if edit.more:
                        self._move_all(node, edit.more, keep=is_outside)
                    continue
                self._moved.pop(node, None)
                if new is not None and (last, node.end_col_offset) == end:  # type: ignore[attr-defined]
                    node.end_lineno, node.end_col_offset = new.end_lineno, new.end_col_offset  # type: ignore[attr-defined]
                else:
                    node.lineno, node.end_lineno = edit.line(node.lineno), edit.line(last)  # type: ignore[attr-defined]
            is_outside = is_outside and isinstance(node, ast.ClassDef)
            todo.extend((inner, is_outside) for inner in ast.iter_child_nodes(node))

    def _move_all(self, statement: ast.AST, more: int, *, keep: bool) -> None:
        """Move all nodes of a statement by some lines."""
        places = self._moved.get(statement)
        if places is None:
            places = _places(statement)
            if keep:
                self._moved[statement] = places
        for place in places:
            place["lineno"] += more
            place["end_lineno"] += more

    def _forget(self, changed: Collection[str], edit: Edit) -> None:
        """Forget what is kept of the file that may hang on the text, or on functions that are others now."""
        _keep(self._kept, _KEPT_OF_MODULE - _BY_LINE if edit.more or changed else _KEPT_OF_MODULE)
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


def _places(statement: ast.AST) -> list[dict[str, Any]]:
    """Where the lines of all nodes of a statement are kept."""
    return [node.__dict__ for node in ast.walk(statement) if "lineno" in node.__dict__]


def _is_inside(one: Function | Class, function: Function) -> bool:
    return one.parent is not None and function in one.parent.scopes


def _outline(function: Function) -> tuple[object, ...]:
    return function.qualname, function.cls and function.cls.qualname, sorted(function.imports.items())


# What is kept of the parts of a file is told of too, each time it is read

_OF_STRUCTURE = {OpenModule: {*_KEPT_OF_MODULE, "function_of", "class_of"}, OpenFunction: {"nested"}}
"""What depends on the definitions of the file alone, which an edit in place leaves as they are."""
_OF_HEAD = {
    OpenFunction: {"defaults", "parameters", "positions", "decorator_names"},
    OpenClass: {"assigned", "getters", "cached_getters"},
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
