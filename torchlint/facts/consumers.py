"""Which calls of a function take a value, directly or through the names it is assigned to."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from . import names

if TYPE_CHECKING:
    from .flow import Flow

_BINDS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)


class Consumers:
    """Answers of one function; each set of words costs one look at its nodes, however many values are asked about."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._fed: dict[frozenset[str], frozenset[str]] = {}

    def take(self, node: ast.AST, words: frozenset[str]) -> bool:
        """Whether a call whose name ends in one of the words takes the value of an expression."""
        bound: set[str] = set()
        for child, parent in self.flow.takers(node):
            if _takes(parent, child, words):
                return True
            if isinstance(parent, _BINDS) and not _adds_up(parent):
                bound |= _targets(parent)
        return bool(bound) and not self._feeding(words).isdisjoint(bound)

    def _feeding(self, words: frozenset[str]) -> frozenset[str]:
        """The names whose value such a call takes."""
        if words not in self._fed:
            self._fed[words] = self._find(words)
        return self._fed[words]

    def _find(self, words: frozenset[str]) -> frozenset[str]:
        parents = self.flow.parents
        taken: set[ast.AST] = set()
        found: set[str] = set()
        into: dict[ast.AST, set[str]] = {}  # what each assignment reads
        around: dict[ast.AST, list[ast.AST]] = {}  # the assignments around a node, up to its statement
        for node in self.flow.nodes:
            if isinstance(node, ast.stmt):
                around[node] = [node] if isinstance(node, _BINDS) and not _adds_up(node) else []
                continue
            parent = parents[node]
            if parent in taken or _takes(parent, node, words):
                taken.add(node)
            binds = around.get(parent, [])
            around[node] = [*binds, node] if isinstance(node, ast.NamedExpr) else binds
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                if node in taken:
                    found.add(node.id)
                for bind in binds:
                    into.setdefault(bind, set()).add(node.id)
        readers: dict[str, list[ast.AST]] = {}
        for bind in into:
            for name in _targets(bind):
                readers.setdefault(name, []).append(bind)
        todo = list(found)
        while todo:
            for bind in readers.pop(todo.pop(), ()):
                new = into[bind] - found
                found |= new
                todo += new
        return frozenset(found)


def _takes(parent: ast.AST, child: ast.AST, words: frozenset[str]) -> bool:
    return isinstance(parent, ast.Call) and child is not parent.func and names.last(parent.func) in words


def _adds_up(node: ast.AST) -> bool:
    """`total += value * n`: a sum takes no summand as it is, as a list (`values += [value]`) does."""
    return (
        isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and isinstance(node.value, ast.Name | ast.BinOp)
    )


def _targets(node: ast.AST) -> set[str]:
    """The names that an assignment gives something to: of `sums[key] = x` the sums, not the key."""
    todo = list(node.targets) if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
    found: set[str] = set()
    while todo:
        target = todo.pop()
        if isinstance(target, ast.Name):
            found.add(target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            todo += target.elts
        elif isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
            todo.append(target.value)
    return found
