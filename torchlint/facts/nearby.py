"""The nodes of a function around some of its lines, without walking all of it."""

from __future__ import annotations

import ast
import functools
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from . import names
from .flow import CHILDREN, roots
from .module import first_line

if TYPE_CHECKING:
    from .module import Function, Module

CALLS: frozenset[type[ast.AST]] = frozenset((ast.Call,))


def calls_on(module: Module, lines: Collection[int], name: str) -> Iterator[tuple[Function, ast.Call]]:
    """The calls of anything of that last name around some lines of a file, with their functions."""
    for function, own in module.functions_at(lines).items():
        for node, _ in nodes_on(function, own, CALLS):
            if isinstance(node, ast.Call) and names.last(node.func) == name:
                yield function, node


def nodes_on(
    function: Function, lines: Collection[int], kinds: frozenset[type[ast.AST]] = frozenset(CHILDREN)
) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The nodes of the statements that touch the lines, each with its parent, in source order; more than asked for, never less.

    Of a compound statement (`if`, `for`, `def`) the header and the blocks are looked at apart. Only nodes of some `kinds`.
    """
    numbers = sorted(lines)
    if not numbers:
        return
    top, walked = function.root, _walked(kinds)
    stack: list[tuple[ast.AST, ast.AST]] = [(node, top) for node in reversed(_touching(top.body, numbers))]
    if not isinstance(top, ast.Module):
        stack += [(default, top) for default in reversed(roots(function)[: -len(top.body)])]
    pop, push = stack.pop, stack.append
    inner: list[tuple[ast.AST, ast.AST]] = []
    pop_inner, push_inner = inner.pop, inner.append
    while stack:
        node, parent = pop()
        kind = type(node)
        if kind in _PLACED:
            first = first_line(node) if kind in _DECORATED else node.lineno  # type: ignore[arg-type, attr-defined]
            at = bisect_left(numbers, first)
            if at == len(numbers) or numbers[at] > (node.end_lineno or node.lineno):  # type: ignore[attr-defined]
                continue
        if kind in _COMPOUND:
            if kind in kinds:
                yield node, parent
            for field in CHILDREN[kind]:
                value = getattr(node, field)
                if type(value) is list:
                    for child in reversed(_touching(value, numbers) if field in BLOCKS else value):
                        if type(child) in CHILDREN:
                            push((child, node))
                elif value is not None:
                    push((value, node))
            continue
        # Inside a compound statement it is worth looking again; inside an expression or a simple statement it is not.
        push_inner((node, parent))
        while inner:
            node, parent = pop_inner()
            kind = type(node)
            if kind in kinds:
                yield node, parent
            for field in CHILDREN[kind]:
                value = getattr(node, field)
                if type(value) is list:
                    for child in reversed(value):
                        if type(child) in walked:
                            push_inner((child, node))
                elif type(value) in walked:
                    push_inner((value, node))


@functools.lru_cache(maxsize=64)
def _walked(kinds: frozenset[type[ast.AST]]) -> frozenset[type[ast.AST]]:
    """The nodes that are of some kinds, or have nodes below them."""
    return frozenset(kind for kind, fields in CHILDREN.items() if fields or kind in kinds)


def _touching(block: list[ast.stmt], numbers: list[int]) -> list[ast.stmt]:
    """The statements of a block that may touch the lines; all of a short one."""
    if len(block) < 16:
        return block
    low = bisect_left(numbers, first_line(block[0]))
    high = bisect_right(numbers, block[-1].end_lineno or block[-1].lineno)
    if (high - low) * 4 > len(block):
        return block
    found: set[int] = set()
    for number in numbers[low:high]:
        at = bisect_right(block, number, key=first_line) - 1
        while at >= 0 and (block[at].end_lineno or 0) >= number and at not in found:
            found.add(at)
            at -= 1
    return [block[at] for at in sorted(found)]


BLOCKS = frozenset(("body", "orelse", "finalbody"))
_DECORATED = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
_PLACED = frozenset(kind for kind in CHILDREN if issubclass(kind, ast.stmt | ast.expr | ast.excepthandler))
"""Nodes that have lines."""
_COMPOUND = frozenset(
    (
        ast.If,
        ast.For,
        ast.AsyncFor,
        ast.While,
        ast.With,
        ast.AsyncWith,
        ast.Try,
        ast.ExceptHandler,
        ast.Match,
        ast.match_case,
        ast.ClassDef,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        *([ast.TryStar] if hasattr(ast, "TryStar") else ()),
    )
)
