"""Assignments that say a type, as assignments: `x: T = f()` binds what `x = f()` does."""

from __future__ import annotations

import ast

from ..system.regex import regex

_ANNOTATED = regex(r"(?m)^[ \t]*[\w.\[\]()\"'-]+[ \t]*:[^=\n]*=")
"""A line that may begin such an assignment."""
_BLOCKS = ("body", "orelse", "finalbody")


class AnnotatedAssign(ast.Assign, ast.AnnAssign):
    """`x: T = v` outside of classes: an `ast.Assign` with one target for all who ask for one, and an `ast.AnnAssign` besides."""

    _fields = ("targets", "annotation", "value")
    value: ast.expr

    def __init__(self, node: ast.AnnAssign, value: ast.expr) -> None:
        super().__init__(targets=[node.target], value=value)
        self.target, self.annotation, self.simple = node.target, node.annotation, node.simple
        ast.copy_location(self, node)


KINDS_OF_NODES: tuple[type[ast.AST], ...] = (
    *(kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)),
    AnnotatedAssign,
)
"""All that a tree may be made of."""
AnnotatedAssign.__name__ = "AnnAssign"  # by which `ast.unparse` and visitors go


def plain_assignments(tree: ast.Module, text: str) -> None:
    """Make assignments of those of a text's tree that say a type, but for the fields of classes."""
    if _ANNOTATED.search(text) is None:
        return
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
