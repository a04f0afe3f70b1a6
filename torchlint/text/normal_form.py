"""Trees in one form: what may be written in several ways that mean the same is in the tree as facts, rules and patterns look for it."""

from __future__ import annotations

import ast

from ..system.regex import regex

_ANNOTATED = regex(r"(?m)^[ \t]*[\w.\[\]()\"'-]+[ \t]*:[^=\n]*=")
"""A line that may begin such an assignment."""
_BLOCKS = ("body", "orelse", "finalbody")
_LITERAL_FIRST = regex(r"""["'\d] *(?:[=!]=|[<>]=? |(?<=\d)[<>](?=[a-zA-Z_(]))""")
"""Where a literal may be compared with what stands behind it: `0 < x`, `"train" == mode`."""
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


AnnotatedAssign.__name__ = "AnnAssign"  # by which `ast.unparse` and visitors go
KINDS_OF_NODES: tuple[type[ast.AST], ...] = (
    *(kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)),
    AnnotatedAssign,
)
"""All that a tree may be made of."""


def bring_to_normal_form(tree: ast.Module, text: str) -> None:
    """Make of the tree of a text `x > 0` of `0 < x`, and of `x: T = v` outside of classes an assignment. All nodes keep their places."""
    if _ANNOTATED.search(text) is not None:
        _assign_annotated(tree)
    if _LITERAL_FIRST.search(text) is not None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                _put_literal_last(node)


def _assign_annotated(tree: ast.Module) -> None:
    """Make assignments of those that say a type, but for the fields of classes."""
    blocks: list[tuple[list[ast.stmt], bool]] = [(tree.body, False)]
    while blocks:
        block, of_class = blocks.pop()
        for at, statement in enumerate(block):
            if isinstance(statement, ast.AnnAssign):
                if statement.value is not None and not of_class:
                    block[at] = AnnotatedAssign(statement, statement.value)
                continue
            is_class = isinstance(statement, ast.ClassDef)
            inner = is_class or (of_class and not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef))
            for part in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                blocks += [(getattr(part, field), inner) for field in _BLOCKS if hasattr(part, field)]


def _put_literal_last(test: ast.Compare) -> None:
    """Make `x > 0` of `0 < x`, where both sides stay the nodes that they are: facts look for what is compared on the left."""
    left, right, turned = test.left, test.comparators[0], TURNED.get(type(test.ops[0]))
    if turned is not None and _is_literal(left) and not _is_literal(right):
        test.left, test.ops, test.comparators = right, [turned()], [left]


def _is_literal(node: ast.expr) -> bool:
    """A number, with a sign perhaps, a text, a truth value or None."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)
