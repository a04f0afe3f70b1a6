"""Which calls of a function take a value, directly or through the names it is assigned to."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from . import names

if TYPE_CHECKING:
    from .flow import Flow

_BINDS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)
_Bind = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr


class Consumers:
    """Answers of one function; each set of words costs one look at its nodes, however many values are asked about."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._fed: dict[frozenset[str], dict[str, int]] = {}

    def take(self, node: ast.AST, words: frozenset[str]) -> bool:
        """Whether a call whose name ends in one of the words takes the value of an expression."""
        bound: set[str] = set()
        for child, parent in self.flow.takers(node):
            if _takes(parent, child, words):
                return True
            if isinstance(parent, _BINDS) and not _adds_up(parent):
                bound |= _targets(parent)
        if not bound:
            return False
        fed = self._feeding(words)
        first = self._first_read(node)
        return any(fed.get(name, -1) >= first for name in bound)

    def _first_read(self, node: ast.AST) -> int:
        """The first line that may read what is bound at a node: what stands above, in no loop around both, reads another value."""
        loops = self.flow.loops(node)
        return loops[-1].lineno if loops else node.lineno  # type: ignore[attr-defined]

    def _feeding(self, words: frozenset[str]) -> dict[str, int]:
        """The names whose value such a call takes, and the last line that each is read for it."""
        if words not in self._fed:
            self._fed[words] = self._find(words)
        return self._fed[words]

    def _find(self, words: frozenset[str]) -> dict[str, int]:
        parents = self.flow.parents
        taken: set[ast.AST] = set()
        found: dict[str, int] = {}
        into: dict[_Bind, set[str]] = {}  # what each assignment reads
        around: dict[ast.AST, list[_Bind]] = {}  # the assignments around a node, up to its statement
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
                    found[node.id] = max(found.get(node.id, 0), node.lineno)
                for bind in binds:
                    into.setdefault(bind, set()).add(node.id)
        if not found:
            return found
        # The assignments to each name, those with the earliest first reader last: they are taken as the lines go up.
        readers: dict[str, list[tuple[int, _Bind]]] = {}
        for bind in into:
            for name in _targets(bind):
                readers.setdefault(name, []).append((self._first_read(bind), bind))
        for binds_of in readers.values():
            binds_of.sort(key=lambda one: -one[0])
        todo = list(found)
        while todo:
            name = todo.pop()
            pending = readers.get(name, [])
            while pending and pending[-1][0] <= found[name]:
                _, bind = pending.pop()
                for read in into[bind]:
                    if found.get(read, -1) < bind.lineno:
                        found[read] = bind.lineno
                        todo.append(read)
        return found


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
