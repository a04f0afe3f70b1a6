"""Which of two statements of a function runs whenever the other one does."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from .flow import Block, Flow

_THROUGH = ast.If | ast.With | ast.AsyncWith
_LOOPS = ast.For | ast.AsyncFor | ast.While
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def followed(flow: Flow, first: ast.stmt, later: ast.stmt) -> bool:
    """Whether `later` runs once each time that `first` has run, unless something raises.

    It stands behind `first` in the same block, or in one around it that only `if` and `with` lie between, and no
    statement between the two leaves.
    """
    for node, block in _outwards(flow, first):
        at = block.index[node] + 1
        end = block.index.get(later, len(block.statements))
        if any(map(leaves, block.statements[at:end])):
            return False
        if later in block.index:
            return end >= at
    return False


def preceded(flow: Flow, later: ast.stmt, first: ast.stmt) -> bool:
    """Whether `first` has run once each time that `later` runs, in the same pass of the same loop."""
    blocks = _outwards(flow, later)
    return next((block.index[first] < block.index[node] for node, block in blocks if first in block.index), False)


def _outwards(flow: Flow, statement: ast.stmt) -> Iterator[tuple[ast.stmt, Block]]:
    """The blocks around a statement that only `if` and `with` lie between, innermost first, with what of them holds it."""
    node: ast.AST | None = statement
    while isinstance(node, ast.stmt) and (block := flow.block(node)) is not None:
        yield node, block
        parent = flow.parents.get(node)
        node = parent if isinstance(parent, _THROUGH) else None


def leaves(statement: ast.stmt) -> bool:
    """Whether a statement may leave the block that it stands in: `return`, `raise`, and `break` and `continue` of a loop around it."""
    return _leaves([statement], looped=False)


def _leaves(nodes: Iterable[ast.AST], *, looped: bool) -> bool:
    for node in nodes:
        if isinstance(node, ast.Return | ast.Raise) or (isinstance(node, ast.Break | ast.Continue) and not looped):
            return True
        if isinstance(node, _LOOPS):
            if _leaves(node.body, looped=True) or _leaves(node.orelse, looped=looped):
                return True
        elif not isinstance(node, _SCOPES | ast.expr) and _leaves(ast.iter_child_nodes(node), looped=looped):
            return True
    return False
