"""Which names of a function are single values, since it runs their backward passes: only these can do without an argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..system.cached import kept
from . import short_functions
from .module import Function


def run_backward(function: Function) -> frozenset[str]:
    """The names of which a function says `loss.backward()`, and those that it calculates them from by sums and products."""
    return kept(function, "run backward", lambda: _run_backward(function))


def _run_backward(function: Function) -> frozenset[str]:
    calls = [call.func for call in function.flow.calls_named("backward") if not call.args and not call.keywords]
    owners = [func.value for func in calls if isinstance(func, ast.Attribute)]
    owners += _given_to_short(function)
    found = {term for owner in owners for term in _terms(_unscaled(owner))}
    todo = sorted(found)
    while todo:
        name = todo.pop()
        made = (function.flow.parents.get(store) for store in function.flow.stores.get(name, ()))
        sums = (one.value for one in made if isinstance(one, ast.Assign | ast.AugAssign))
        new = {term for one in sums for term in _terms(one)} - found
        found |= new
        todo += sorted(new)
    return frozenset(found)


def _given_to_short(function: Function) -> Iterator[ast.expr]:
    """What calls give to functions that run its backward pass, and do nothing else."""
    for call, short, inner in short_functions.calls_named(function, "backward"):
        owner = _unscaled(inner.func.value) if isinstance(inner.func, ast.Attribute) else None
        given = short.argument(call, owner.id) if isinstance(owner, ast.Name) else None
        if given is not None and not inner.args and not inner.keywords:
            yield given


def _unscaled(owner: ast.expr) -> ast.expr:
    """`loss` of `scaler.scale(loss)`, and anything else as it is."""
    match owner:
        case ast.Call(func=ast.Attribute(attr="scale"), args=[given]):
            return given
    return owner


def _terms(node: ast.expr) -> Iterator[str]:
    """The names in the sums and products that make a single value: `a` and `b` of `a / 2 + (1 - w) * b`, since others would give one of several values."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), left=left, right=right):
            yield from _terms(left)
            yield from _terms(right)
