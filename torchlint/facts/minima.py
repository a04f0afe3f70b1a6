"""Which torch a module can be imported under: `assert torch.__version__ >= "2.1"`, `if TORCH_VERSION < (1, 10): raise ...`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from ..torch_api.version import Range
from . import names, versions


def demanded(tree: ast.Module) -> Range:
    """The versions of torch that no statement of the module itself refuses; all versions where it refuses every one."""
    found: Range | None = Range()
    demands = list(_demands(tree))
    bound = _bound(tree) if demands else {}
    for test, holds in demands:
        asked = versions.condition(versions.spelled_out(test, bound), holds)
        if asked is not None and found is not None:
            found = found.intersection(asked)
    return found or Range()


def _demands(tree: ast.Module) -> Iterator[tuple[ast.expr, bool]]:
    """The tests that decide whether the module is imported, each with the outcome that lets it be."""
    for statement in tree.body:
        match statement:
            case ast.Assert():
                yield statement.test, True
            case ast.If():
                if _ends(statement.body):
                    yield statement.test, False
                elif _ends(statement.orelse):
                    yield statement.test, True


def _ends(body: list[ast.stmt]) -> bool:
    """Whether a block leaves the module for good."""
    match body[-1:]:
        case [ast.Raise()]:
            return True
        case [ast.Expr(value=ast.Call(func=called))]:
            return names.last(called) in ("exit", "_exit", "abort")
    return False


def _bound(tree: ast.Module) -> dict[str, ast.expr]:
    """What the names stand for that the module binds once, in an assignment of its own."""
    found: dict[str, ast.expr] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if versions.is_small(value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if versions.is_small(value):
                found[name] = value
    stores = Counter(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return {name: value for name, value in found.items() if stores[name] == 1}
