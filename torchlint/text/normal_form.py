"""Trees in one form: what may be written in several ways that mean the same is in the tree as facts, rules and patterns look for it."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from ..system.regex import regex

_COMPARES = regex(r"[=!<>](?:=|(?<=[<>]))")
"""`==`, `!=`, `<`, `>=`, and arrows."""
_LITERAL_ENDS = ("'", '"', *"0123456789", "True", "False", "None")
_BLOCKS = ("body", "orelse", "finalbody")
_SEVERAL = frozenset((ast.Tuple, ast.List))
_FUNCTIONS = frozenset((ast.FunctionDef, ast.AsyncFunctionDef))
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
"""What each comparison is where its sides change places."""


class AnnotatedAssign(ast.Assign, ast.AnnAssign):
    """`x: T = v` outside of classes: an `ast.Assign` with one target for all who ask for one, and an `ast.AnnAssign` besides."""

    _fields = ("targets", "annotation", "value")
    value: ast.expr

    def __init__(self, node: ast.AnnAssign, value: ast.expr) -> None:
        super().__init__(targets=[node.target], value=value)
        self.target, self.annotation, self.simple = node.target, node.annotation, node.simple
        ast.copy_location(self, node)


class PairedAssign(ast.Assign):
    """One of the assignments that `a, b = x, y` is: `a = x`. Each has the place of the whole statement, and knows all of them."""

    _fields = ("targets", "value")

    def __init__(self, whole: ast.Assign, target: ast.expr, value: ast.expr, together: list[PairedAssign]) -> None:
        super().__init__(targets=[target], value=value)
        ast.copy_location(self, whole)
        self.together = together
        together.append(self)


AnnotatedAssign.__name__ = "AnnAssign"  # by which `ast.unparse` and visitors go
PairedAssign.__name__ = "Assign"
KINDS_OF_NODES: tuple[type[ast.AST], ...] = (
    *(kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)),
    AnnotatedAssign,
    PairedAssign,
)
"""All that a tree may be made of."""


_COMPOUND = frozenset(
    kind for kind in KINDS_OF_NODES if issubclass(kind, ast.stmt) and {"body", "cases"} & {*kind._fields}
)


def bring_to_normal_form(tree: ast.Module, text: str) -> None:
    """Make of the tree of a text `x > 0` of `0 < x`, of `x: T = v` outside of classes an assignment, and of `a, b = x, y` two. All nodes keep their places."""
    _bring_assignments(tree)
    compared = [one.start() for one in _COMPARES.finditer(text) if _is_behind_literal(text, one.start())]
    if compared:
        _put_literals_last(tree, list(_lines_at(text, compared)))


def _bring_assignments(tree: ast.Module) -> None:
    """Make assignments of those that say a type, but for the fields of classes, and several of those that take several things."""
    blocks: list[tuple[list[ast.stmt], bool]] = [(tree.body, False)]
    while blocks:
        block, of_class = blocks.pop()
        several: list[tuple[int, list[ast.stmt]]] = []
        for at, statement in enumerate(block):
            kind = type(statement)
            if isinstance(statement, ast.AnnAssign):
                if statement.value is not None and not of_class:
                    block[at] = AnnotatedAssign(statement, statement.value)
            elif kind is ast.Assign:
                if type(statement.value) in _SEVERAL and type(statement.targets[0]) in _SEVERAL:  # type: ignore[attr-defined]
                    several.append((at, _paired(statement)))  # type: ignore[arg-type]
            elif kind in _COMPOUND:
                inner = kind is ast.ClassDef or (of_class and kind not in _FUNCTIONS)
                for part in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                    blocks += [(getattr(part, field), inner) for field in _BLOCKS if hasattr(part, field)]
        for at, made in reversed(several):
            block[at : at + 1] = made


def _paired(whole: ast.Assign) -> list[ast.stmt]:
    """`a = x` and `b = y` of `a, b = x, y`, where no value is made of what an earlier target is, or is a part of: not of `a, b = b, a`."""
    targets, values = (getattr(one, "elts", []) for one in (whole.targets[0], whole.value))
    has_star = any(isinstance(one, ast.Starred) for one in (*targets, *values))
    if has_star or len(whole.targets) > 1 or len(targets) != len(values) or len(targets) < 2:
        return [whole]
    bound: set[str] = set()
    for target, value in zip(targets, values, strict=True):
        if bound and any(isinstance(one, ast.Name) and one.id in bound for one in ast.walk(value)):
            return [whole]
        bound |= {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
    together: list[PairedAssign] = []
    return [PairedAssign(whole, *pair, together) for pair in zip(targets, values, strict=True)]


def _is_behind_literal(text: str, at: int) -> bool:
    """Whether a literal may stand in front of a place, and spaces: `0 < x`, `"train" == mode`."""
    while at and text[at - 1] == " ":
        at -= 1
    return text.endswith(_LITERAL_ENDS, 0, at)


def _lines_at(text: str, places: Iterable[int]) -> Iterator[int]:
    """The numbers of the lines of some places in order, as Python counts them."""
    number, since = 1, 0
    for at in places:
        number += text.count("\n", since, at) + text.count("\r", since, at) - text.count("\r\n", since, at)
        since = at
        yield number


def _put_literals_last(tree: ast.Module, lines: Sequence[int]) -> None:
    """Make `x > 0` of `0 < x` on some lines, whose numbers are in order."""
    todo: list[ast.AST] = [tree]
    while todo:
        for child in ast.iter_child_nodes(todo.pop()):
            if _touches(child, lines):
                todo.append(child)
                if isinstance(child, ast.Compare) and len(child.ops) == 1:
                    _put_literal_last(child)


def _touches(node: ast.AST, lines: Sequence[int]) -> bool:
    """Whether a node stands on any of some lines, or has no place of its own; decorators stand in front of what they decorate."""
    if not isinstance(node, ast.stmt | ast.expr | ast.excepthandler | ast.arg | ast.keyword):
        return True
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    at = bisect_left(lines, first)
    return at < len(lines) and lines[at] <= (node.end_lineno or first)


def _put_literal_last(test: ast.Compare) -> None:
    """Make `x > 0` of `0 < x`, where both sides stay the nodes that they are: facts look for what is compared on the left."""
    left, right, turned = test.left, test.comparators[0], TURNED.get(type(test.ops[0]))
    if turned is not None and _is_literal(left) and not _is_literal(right):
        test.left, test.ops, test.comparators = right, [turned()], [left]


def _is_literal(node: ast.expr) -> bool:
    """A number, with a sign perhaps, a text, a truth value or None."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)
