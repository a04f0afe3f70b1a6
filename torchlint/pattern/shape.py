"""A pattern, parsed: its parts, and the place in it that a rule is shown."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from typing import Any

from . import on_ast
from .words import HOLE, is_hole, parsed


class Hole:
    """`$x`: any expression, caught as `name`, or any name where a word stands; `$_` is not caught."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = "" if name == "_" else name


class Named:
    """`torch.cat`: what the imports of the place, or Python, call so."""

    __slots__ = ("dotted",)

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted


class Caught:
    """`($x := part)`"""

    __slots__ = ("name", "part")

    def __init__(self, name: str, part: Part) -> None:
        self.name = name
        self.part = part


class Parameter:
    """`name := part` among arguments: the argument at this place, or by this keyword."""

    __slots__ = ("name", "part")

    def __init__(self, name: str, part: Part) -> None:
        self.name = name
        self.part = part


class Node:
    """Anything else: what it is, in a word of `on_ast`, and its parts in the same order."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: str, parts: tuple[Any, ...]) -> None:
        self.kind = kind
        self.parts = parts


class Several:
    """Elements or arguments in their order, `more` of them behind where it says so; or, `scattered`, among others anywhere.

    `keywords` are the arguments by keyword, in any order, others among them where there may be more.
    """

    __slots__ = ("keywords", "more", "parts", "scattered")

    def __init__(
        self, parts: list[Part], *, more: bool, scattered: bool = False, keywords: dict[str, Part] | None = None
    ) -> None:
        self.parts = parts
        self.more = more
        self.scattered = scattered
        self.keywords = keywords


Part = Hole | Named | Caught | Parameter | Node
_ALWAYS = frozenset(("call", "attribute", "subscript", "ternary", "if", "while", "assert", "for", "with"))
"""Kinds of nodes that are all there is to say of a node of their classes, where their parts are free."""
_SAME = (
    (ast.With, ast.AsyncWith),
    (ast.FunctionDef, ast.AsyncFunctionDef),
    (ast.Name, ast.Attribute),
)


class Shape:
    """The parts of a pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._places: list[tuple[tuple[int, int], Part]] = []
        statement = parsed(pattern)
        node = statement.value if isinstance(statement, ast.Expr) and not pattern.endswith(";") else statement
        self.whole = self._part(node, outside=True)
        kind = type(node)
        self.classes: tuple[type[ast.AST], ...] = (kind,)
        """The classes of `ast` that the whole of it may be."""
        if kind is not ast.Attribute or isinstance(self.whole, Named):
            self.classes = next((pair for pair in _SAME if kind in pair), (kind,))
        here = [part for part in walk(self.whole) if isinstance(part, Caught) and part.name == "here"]
        self.place: Part = self.whole
        """The part that a rule is shown."""
        if here or self._places:
            self.place = here[0].part if here else max(self._places, key=lambda one: one[0])[1]
        height = _height(self.whole, self.place)
        assert height is not None, f"the place of this lies nowhere (no `name := part` can be one): `{pattern}`"
        self.height = height
        """How many nodes of `ast` the whole lies above the place."""
        self._keywords = frozenset(
            self.whole.parts[1].keywords or ()
            if isinstance(self.whole, Node) and self.whole.kind == "call" and self.place is self.whole
            else ()
        )
        """Arguments that the call has by keyword, for certain."""
        first = node.args[0] if isinstance(node, ast.Call) and node.args and self.place is self.whole else None
        self._first = type(first) if isinstance(first, ast.List | ast.Tuple) else None
        """What is written out as the first argument, a list or a tuple."""
        self._adds = isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp)
        """Whether it is an assignment of what an operator gives."""
        self.bare = self.place is self.whole and _always(self.whole)
        """Whether it is every node of its name or kind: `$x.item(...)`, `torch.compile`, `if $_: ...`."""

    def may_fit(self, whole: ast.AST) -> bool:
        """Whether a node may be the whole of it, by what is quickest to tell."""
        if not isinstance(whole, self.classes):
            return False
        if self._keywords:
            assert isinstance(whole, ast.Call)
            return self._keywords.issubset([keyword.arg for keyword in whole.keywords])
        if self._first is not None:
            assert isinstance(whole, ast.Call)
            return bool(whole.args) and isinstance(whole.args[0], self._first)
        return not self._adds or (isinstance(whole, ast.Assign) and isinstance(whole.value, ast.BinOp))

    def _part(self, node: ast.AST, *, outside: bool) -> Part:
        """What a node of the pattern stands for; `outside` of brackets it may be the place."""
        part = self._made(node, outside=outside)
        if outside and _has_name(part):
            end = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
            self._places.append((end, part))
        return part

    def _made(self, node: ast.AST, *, outside: bool) -> Part:
        if isinstance(node, ast.Name) and is_hole(node.id):
            return Hole(node.id.removeprefix(HOLE))
        dotted = _dotted(node)
        if dotted is not None:
            return Named(dotted)
        if isinstance(node, ast.NamedExpr) and not is_hole(node.target.id):
            return Parameter(node.target.id, self._part(node.value, outside=False))
        if isinstance(node, ast.NamedExpr):
            return Caught(node.target.id.removeprefix(HOLE), self._part(node.value, outside=False))
        kind, *parts = on_ast.view(node)
        assert kind, f"a pattern can't hold `{ast.unparse(node)}`"
        if kind == "call":
            func, positional, keywords = parts
            named = {name: self._part(value, outside=False) for name, value in keywords}
            # The name of what is called is no place beside the call.
            return Node(kind, (self._made(func, outside=outside), self._several(positional, named)))
        if kind == "assign":
            targets = self._several(parts[0], outside=outside)
            if len(targets.parts) == 1 and _is_free(targets.parts[0]):
                targets = Several([], more=True)
            return Node(kind, (targets, self._part(parts[1], outside=outside)))
        return Node(kind, tuple(self._inner(kind, at, part, outside=outside) for at, part in enumerate(parts)))

    def _inner(self, kind: str, at: int, part: Any, *, outside: bool) -> Any:
        if isinstance(part, ast.AST):
            inside = kind.startswith("comprehension") or (kind == "subscript" and at == 1)
            return self._part(part, outside=outside and not inside)
        if isinstance(part, list):
            scattered = kind in ("def", "class", "with")
            # The bases of a class stand in brackets, its decorators do not.
            bare = kind in ("def", "with") or (kind == "class" and at == 1)
            return self._several(part, outside=outside and bare, scattered=scattered)
        if isinstance(part, str) and is_hole(part) and kind in ("attribute", "def", "class"):
            return Hole(part.removeprefix(HOLE))
        return part

    def _several(
        self,
        nodes: list[ast.expr],
        keywords: dict[str, Part] | None = None,
        *,
        outside: bool = False,
        scattered: bool = False,
    ) -> Several:
        more = [at for at, node in enumerate(nodes) if isinstance(node, ast.Constant) and node.value is ...]
        assert more in ([], [len(nodes) - 1]), f"`...` stands behind the other elements in `{self.pattern}`"
        parts = [self._part(node, outside=outside) for node in nodes[: len(nodes) - len(more)]]
        return Several(parts, more=bool(more), scattered=scattered, keywords=keywords)


@functools.cache
def shape(pattern: str) -> Shape:
    """The parts of a pattern, parsed once."""
    return Shape(pattern)


def walk(part: Any) -> Iterator[Part]:
    """A part and all parts in it."""
    if isinstance(part, Part):
        yield part
    for inner in _below(part):
        yield from walk(inner)


def _below(part: Any) -> tuple[Any, ...]:
    if isinstance(part, Caught | Parameter):
        return (part.part,)
    if isinstance(part, Node):
        return part.parts
    return (*part.parts, *(part.keywords or {}).values()) if isinstance(part, Several) else ()


def _dotted(node: ast.AST) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or any(map(is_hole, (node.id, *parts))):
        return None
    return ".".join([node.id, *parts[::-1]])


def _is_free(part: object) -> bool:
    return isinstance(part, Hole) and not part.name


def _has_name(part: Part) -> bool:
    if isinstance(part, Node) and part.kind == "call":
        return _has_name(part.parts[0]) or isinstance(part.parts[0], Named)
    if isinstance(part, Node) and part.kind == "attribute":
        return isinstance(part.parts[1], str)
    return isinstance(part, Named) and "." in part.dotted


def _always(part: Part) -> bool:
    """Whether the part is every node of its name or kind."""
    if isinstance(part, Named):
        return True
    if not isinstance(part, Node) or part.kind not in _ALWAYS:
        return False
    holes = [inner.name for inner in walk(part) if isinstance(inner, Hole) and inner.name]
    if len(holes) != len(set(holes)):
        return False
    inner = part.parts[0] if part.kind == "call" else None
    called = inner.parts if isinstance(inner, Node) and inner.kind == "attribute" else ()
    return all(
        isinstance(one, Hole | str | Named)
        or (isinstance(one, Several) and one.more and not one.parts and not one.keywords)
        for one in (*called, *(p for p in part.parts if not (called and p is inner)))
    )


def _height(part: Any, place: Part) -> int | None:
    """How many nodes of `ast` lie between a part and the place in it, the place among them."""
    if part is place:
        return 0
    for inner in _below(part) if not isinstance(part, Parameter) else ():
        found = _height(inner, place)
        if found is not None:
            levels = 0 if isinstance(part, Caught | Several) else 1
            # A `with` has its items, a call its keywords, a comprehension its generator in between.
            if isinstance(part, Several) and part.keywords and any(inner is k for k in part.keywords.values()):
                levels = 1
            if isinstance(part, Node) and (part.kind == "with" or _is_generated(part, inner)):
                levels = 2
            return found + levels
    return None


def _is_generated(part: Node, inner: object) -> bool:
    """Whether a part of a comprehension belongs to its `for`."""
    return part.kind.startswith("comprehension") and inner in part.parts[-2:]
