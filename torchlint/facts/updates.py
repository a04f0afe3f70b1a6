"""Updates of parameters that a program writes out itself."""

from __future__ import annotations

import ast

from .nodes import given_to

_WRITES = frozenset(("add_", "sub_", "copy_"))


def from_gradient(statement: ast.stmt) -> str | None:
    """The name of the parameter that a statement changes by its own gradient: `p.data.add_(p.grad, alpha=-lr)`, `p -= lr * p.grad`."""
    written: ast.expr
    if isinstance(statement, ast.AugAssign):
        written, rest = statement.target, [statement.value]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        if not isinstance(func, ast.Attribute) or func.attr not in _WRITES:
            return None
        written, rest = func.value, given_to(statement.value)
    else:
        return None
    if isinstance(written, ast.Attribute) and written.attr == "data":
        written = written.value
    if not isinstance(written, ast.Name):
        return None
    reads = (
        node for value in rest for node in ast.walk(value) if isinstance(node, ast.Attribute) and node.attr == "grad"
    )
    own = any(isinstance(node.value, ast.Name) and node.value.id == written.id for node in reads)
    return written.id if own else None
