"""Which names of a function are single values, since it runs their backward passes: only these can do without an argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..system.cached import kept
from .module import Function


def run_backward(function: Function) -> frozenset[str]:
    """The names of which a function says `loss.backward()`, and those that it adds up to them."""
    return kept(function, "run backward", lambda: _run_backward(function))


def _run_backward(function: Function) -> frozenset[str]:
    calls = [call.func for call in function.flow.calls_named("backward") if not call.args and not call.keywords]
    owners = [func.value for func in calls if isinstance(func, ast.Attribute)]
    found = {owner.id for owner in owners if isinstance(owner, ast.Name)}
    todo = [*found]
    while todo:
        name = todo.pop()
        made = (function.flow.parents.get(store) for store in function.flow.stores.get(name, ()))
        sums = (one.value for one in made if isinstance(one, ast.Assign | ast.AugAssign))
        new = {term for one in sums for term in _terms(one)} - found
        found |= new
        todo += sorted(new)
    return frozenset(found)


def _terms(node: ast.expr) -> Iterator[str]:
    """The names that a sum adds, each as it is or multiplied by a number: `a` and `b` of `a + 0.5 * b`."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            yield from _terms(left)
            yield from _terms(right)
        case ast.BinOp(op=ast.Mult(), left=ast.Constant(), right=ast.Name(id=name)):
            yield name
