"""Which calls of a function take a value, directly or through the names it is assigned to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import names
from .nodes import assigned_in

if TYPE_CHECKING:
    from .flow import Flow

BINDS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)
GOES_THROUGH = (ast.For, ast.AsyncFor, ast.comprehension)
_Through = ast.For | ast.AsyncFor | ast.comprehension
_NEAR = 3
"""How many loops around a name may bind it."""
_Bind = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr


class Consumers:
    """Answers of one function; each set of words costs one look at its nodes, however many values are asked about."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._fed: dict[tuple[frozenset[str], frozenset[ast.AST]], dict[str, int]] = {}
        self._reads: dict[tuple[frozenset[str], frozenset[ast.AST]], dict[str, list[ast.expr | _Bind]]] = {}
        """Where each name is read for such a call: itself, or the assignment that reads it."""
        self._given: dict[_Through, dict[str, ast.expr | None]] = {}
        self._parts: dict[tuple[frozenset[str], frozenset[ast.AST]], set[ast.expr]] = {}
        """What loops and comprehensions go through and hand to such a call, one by one."""

    def take(self, node: ast.AST, words: frozenset[str], handed: frozenset[ast.AST] = frozenset()) -> bool:
        """Whether a call whose name ends in one of the words takes the value of an expression, or a function that hands it on to one takes it as one of what is `handed`."""
        bound: set[str] = set()
        for child, parent in self.flow.takers(node):
            if takes(parent, child, words) or child in handed:
                return True
            if isinstance(parent, GOES_THROUGH) and child is parent.iter:
                self._feeding(words, handed)
                parts = self._parts[words, handed]
                return bool(parts) and any(one in parts for one in (node, *self.flow.expressions(node)))
            if isinstance(parent, BINDS) and not adds_up(parent):
                bound |= assigned_in(parent)
        if not bound:
            return False
        fed = self._feeding(words, handed)
        first = self._first_read(node)
        reads = self._reads[words, handed]
        return any(fed.get(name, -1) >= first and self._comes_to(node, first, reads[name]) for name in bound)

    def _first_read(self, node: ast.AST) -> int:
        """The first line that may read what is bound at a node: what stands above, in no loop around both, reads another value."""
        loops = self.flow.loops(node)
        return loops[-1].lineno if loops else node.lineno  # type: ignore[attr-defined]

    def _comes_to(self, node: ast.AST, first: int, reads: list[ast.expr | _Bind]) -> bool:
        """Whether what is bound at a node may be read at one of some places."""
        # What a `try` has bound may be read where it fails.
        around = ((parent, arm) for parent, arm in self.flow.arms(node) if isinstance(parent, ast.If | ast.IfExp))
        arms = {id(parent): arm for parent, arm in around if not self.flow.loops(parent)}
        return any(one.lineno >= first and not self._is_behind_other(one, arms) for one in reads)

    def _is_behind_other(self, read: ast.AST, arms: dict[int, str]) -> bool:
        """Whether a place is in another branch than one whose branches these are, of what no loop runs again."""
        return any(arms.get(id(parent), arm) != arm for parent, arm in self.flow.arms(read)) if arms else False

    def _feeding(self, words: frozenset[str], handed: frozenset[ast.AST]) -> dict[str, int]:
        """The names whose value such a call takes, and the last line that each is read for it."""
        key = words, handed
        if key not in self._fed:
            self._parts[key] = set()
            self._fed[key] = self._find(words, handed)
        return self._fed[key]

    def _find(self, words: frozenset[str], handed: frozenset[ast.AST]) -> dict[str, int]:
        parents = self.flow.parents
        taken: set[ast.AST] = set()
        found: dict[str, int] = {}
        reads = self._reads.setdefault((words, handed), {})
        into: dict[_Bind, set[str]] = {}  # what each assignment reads
        around: dict[ast.AST, list[_Bind]] = {}  # the assignments around a node, up to its statement
        for node in self.flow.nodes:
            if isinstance(node, ast.stmt):
                around[node] = [node] if isinstance(node, BINDS) and not adds_up(node) else []
                continue
            parent = parents[node]
            if parent in taken or takes(parent, node, words) or node in handed:
                taken.add(node)
            binds = around.get(parent, [])
            around[node] = [*binds, node] if isinstance(node, ast.NamedExpr) else binds
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                if node in taken:
                    found[node.id] = max(found.get(node.id, 0), node.lineno)
                    reads.setdefault(node.id, []).append(node)
                    part = self._part(node)
                    if part is not None and part not in self._parts[words, handed]:
                        self._parts[words, handed].add(part)
                        for inner in ast.walk(part):
                            if isinstance(inner, ast.Name):
                                found[inner.id] = max(found.get(inner.id, 0), node.lineno)
                                reads.setdefault(inner.id, []).append(node)
                for bind in binds:
                    into.setdefault(bind, set()).add(node.id)
        if not found:
            return found
        # The assignments to each name, each with the first line that may read it.
        readers: dict[str, list[tuple[int, _Bind]]] = {}
        for bind in into:
            for name in assigned_in(bind):
                readers.setdefault(name, []).append((self._first_read(bind), bind))
        todo = list(found)
        while todo:
            name = todo.pop()
            left: list[tuple[int, _Bind]] = []
            for first, bind in readers.get(name, ()):
                if first > found[name] or not self._comes_to(bind, first, reads[name]):
                    left.append((first, bind))
                    continue
                for read in into[bind]:
                    reads.setdefault(read, []).append(bind)
                    found[read] = max(found.get(read, -1), bind.lineno)
                    todo.append(read)
            readers[name] = left
        return found

    def _part(self, name: ast.Name) -> ast.expr | None:
        """What the loop or comprehension around a name goes through that binds it: of `enumerate` and `zip` what gives that name."""
        comprehension = self.flow.comprehension(name)
        near: list[ast.AST] = [*(comprehension.generators if comprehension else ()), *self.flow.loops(name)[:_NEAR]]
        for one in near[:_NEAR]:
            if isinstance(one, GOES_THROUGH):
                if one not in self._given:
                    self._given[one] = dict(parts_given(one.target, one.iter))
                if name.id in self._given[one]:
                    return self._given[one][name.id]
        return None


def parts_given(target: ast.expr, whole: ast.expr) -> Iterator[tuple[str, ast.expr | None]]:
    """The names of a target, each with the part of the iterable that gives it; None for what is counted."""
    todo: list[tuple[ast.expr, ast.expr | None]] = [(target, whole)]
    while todo:
        target, given = todo.pop()
        if isinstance(target, ast.Name):
            yield target.id, given
        elif isinstance(target, ast.Tuple | ast.List):
            parts: list[ast.expr | None] = [given] * len(target.elts)
            if isinstance(given, ast.Call) and not any(
                isinstance(one, ast.Starred) for one in (*given.args, *target.elts)
            ):
                called = names.last(given.func)
                if called == "enumerate" and len(parts) == 2 and given.args:
                    parts = [None, given.args[0]]
                elif called == "zip" and len(given.args) == len(parts):
                    parts = [*given.args]
            todo += zip(target.elts, parts, strict=True)
        elif isinstance(target, ast.Starred):
            todo.append((target.value, given))


def takes(parent: ast.AST, child: ast.AST, words: frozenset[str]) -> bool:
    """Whether a node is a call whose name ends in one of the words, and is given the other."""
    return isinstance(parent, ast.Call) and child is not parent.func and names.last(parent.func) in words


def adds_up(node: ast.AST) -> bool:
    """`total += value * n`: a sum takes no summand as it is, as a list (`values += [value]`) does."""
    return (
        isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and isinstance(node.value, ast.Name | ast.BinOp)
    )
