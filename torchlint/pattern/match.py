"""Whether a node has the shape of a pattern, and what the pattern catches of it: one way for `ast` and for libcst."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from . import on_ast, on_libcst
from .shape import Hole, Named, Node, Parameter, Part, Several, Shape
from .shape import shape as parsed

Resolve = Callable[[ast.expr], str | None]
"""What a dotted name of the place is called where it is defined."""


class Language(Protocol):
    """How nodes are read: `on_ast` or `on_libcst`."""

    @property
    def view(self) -> Callable[[Any], tuple[Any, ...]]: ...
    @property
    def written(self) -> Callable[[Any], str]: ...
    @property
    def name(self) -> Callable[[Any], ast.expr | None]: ...


class Match:
    """The node that has the shape, its place, and what its holes caught: nodes of `ast`, or of libcst."""

    __slots__ = ("caught", "place", "whole")

    def __init__(self, whole: Any, place: Any, caught: dict[str, Any]) -> None:
        self.whole = whole
        self.place = place
        self.caught = caught

    def __getitem__(self, name: str) -> Any:
        return self.caught[name]

    def __contains__(self, name: str) -> bool:
        return name in self.caught


def around(
    pattern: str, place: ast.AST, parent: ast.AST, parents: Callable[[], Mapping[ast.AST, ast.AST]], resolve: Resolve
) -> Match | None:
    """The match of a pattern whose place is this node, which Dispatch found by its name or kind.

    `parents` is asked only where the whole is more than the node and its parent.
    """
    shape = parsed(pattern)
    whole: ast.AST | None = place if shape.height == 0 else parent
    for _ in range(shape.height - 1):
        whole = parents().get(whole) if whole is not None else None
    if whole is None or not shape.may_fit(whole):
        return None
    return _Matching(shape, on_ast, resolve, place).of(whole)


def in_tree(pattern: str, node: Any, resolve: Resolve) -> Match | None:
    """The match of a pattern that is a node of libcst."""
    return _Matching(parsed(pattern), on_libcst, resolve, None).of(node)


class _Matching:
    __slots__ = ("caught", "fixed", "language", "place", "resolve", "shape")

    def __init__(self, shape: Shape, language: Language, resolve: Resolve, place: ast.AST | None) -> None:
        self.shape = shape
        self.language = language
        self.resolve = resolve
        self.place: Any = place
        self.fixed = place is not None
        self.caught: dict[str, Any] = {}

    def of(self, whole: Any) -> Match | None:
        return Match(whole, self.place, self.caught) if self.fits(self.shape.whole, whole) else None

    def fits(self, part: Part, node: Any) -> bool:
        if node is None:
            return False
        if part is self.shape.place:
            if self.fixed and node is not self.place:
                return False
            self.place = node
        if isinstance(part, Hole):
            return self._caught(part.name, node)
        if isinstance(part, Node):
            return self._same(part, self.language.view(node))
        if isinstance(part, Named):
            name = self.language.name(node)
            return name is not None and self.resolve(name) == part.dotted
        if isinstance(part, Parameter):
            return self.fits(part.part, node)
        return self.fits(part.part, node) and self._caught(part.name, node)

    def _caught(self, name: str, node: Any) -> bool:
        """Note what a hole holds; a second time it must be written alike."""
        if name and name in self.caught:
            return self._written(self.caught[name]) == self._written(node)
        if name:
            self.caught[name] = node
        return True

    def _written(self, node: Any) -> str:
        return node if isinstance(node, str) else self.language.written(node)

    def _same(self, part: Node, view: tuple[Any, ...]) -> bool:
        if view[0] != part.kind:
            return False
        if part.kind == "call":
            return self.fits(part.parts[0], view[1]) and self._arguments(part.parts[1], view[2], view[3])
        for one, other in zip(part.parts, view[1:], strict=True):
            if isinstance(one, Several):
                same = self._several(one, other)
            elif isinstance(one, Part):
                same = self.fits(one, other)
            else:
                same = type(one) is type(other) and one == other
            if not same:
                return False
        return True

    def _several(self, several: Several, nodes: list[Any]) -> bool:
        if several.scattered:
            return all(any(self.fits(part, node) for node in nodes) for part in several.parts)
        enough = len(nodes) >= len(several.parts) if several.more else len(nodes) == len(several.parts)
        return enough and all(map(self.fits, several.parts, nodes))

    def _arguments(self, several: Several, positional: list[Any], keywords: list[tuple[str | None, Any]]) -> bool:
        if several.more and not several.parts and not several.keywords:
            return True  # `(...)`
        wanted, given = several.keywords or {}, dict(keywords)
        by_name = {part.name for part in several.parts[len(positional) :] if isinstance(part, Parameter)}
        if not several.more and (len(keywords) != len(wanted) + len(by_name) or None in positional):
            return False
        for part in several.parts[len(positional) :]:
            if not isinstance(part, Parameter):
                return False
            wanted = {**wanted, part.name: part.part}
        # What stands behind `*x` has no place of its own.
        parts = several.parts[: len(positional)]
        return (
            (several.more or len(positional) == len(parts))
            and all(map(self.fits, parts, positional))
            and all(name in given and self.fits(part, given[name]) for name, part in wanted.items())
        )
