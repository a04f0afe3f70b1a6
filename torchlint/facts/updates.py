"""Updates of parameters that a program writes out itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .nodes import given_to, steps
from .syntax import same

_COPIES = frozenset(("clone", "detach", "to"))
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


def remade(statements: list[ast.stmt], keys: set[str]) -> Iterator[list[ast.expr]]:
    """What else goes into each entry of one of the keys that statements make anew of what it was.

    `p.data` of `shadow[name] = decay * shadow[name] + (1 - decay) * p.data`, also where the sum has a name before it is kept.
    """
    named: dict[str, list[ast.expr]] = {}
    for statement in statements:
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            named.setdefault(statement.target.id, []).append(statement.value)
        if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            named[target.id] = [statement.value]
        elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Name) and target.slice.id in keys:
            summed = _copied(statement.value)
            sums = named.get(summed.id, []) if isinstance(summed, ast.Name) else [summed]
            parts = [part for one in sums for part in _operands(one)]
            rest = [part for part in parts if not any(_is_same_place(step, target) for step in steps(part))]
            if len(rest) < len(parts):
                yield rest


def _copied(node: ast.expr) -> ast.expr:
    """`x` of `x.detach().clone()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _COPIES:
        node = node.func.value
    return node


def _operands(node: ast.expr) -> list[ast.expr]:
    """`a`, `b` and `c` of `a * b + c`."""
    return [*_operands(node.left), *_operands(node.right)] if isinstance(node, ast.BinOp) else [node]


def _is_same_place(node: ast.expr, target: ast.Subscript) -> bool:
    return isinstance(node, ast.Subscript) and same(node.value, target.value) and same(node.slice, target.slice)


def written(statement: ast.stmt) -> Iterator[ast.expr]:
    """The places that a statement, or one inside of it, writes to, with what they are parts of: by assignment, or by a method in place."""
    for part in ast.walk(statement):
        if isinstance(part, ast.Assign):
            for target in part.targets:
                yield from steps(target)
        elif isinstance(part, ast.AugAssign):
            yield from steps(part.target)
        elif isinstance(part, ast.Expr):
            yield from steps(part.value)
