"""Generators that yield what they are given, element by element, as it is."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from .nodes import NEXT
from .torch_table import ITERATION_WRAPPERS

_BEGINS = frozenset(("iter", "__iter__"))
_REPEATS = frozenset(("repeat",))


def handed_on(function: ast.AST, parameters: Collection[str]) -> str | None:
    """The parameter whose elements a generator yields: `for batch in batches: yield batch`, `yield from batches`, or by an iterator of its own."""
    nodes = list(ast.walk(function))
    yielded = [node.value for node in nodes if isinstance(node, ast.Yield)]
    whole = [node.value for node in nodes if isinstance(node, ast.YieldFrom)]
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    if whole:
        over = map(_unwrapped, whole)
        given = _only(one.id if isinstance(one, ast.Name) else None for one in over) if not yielded else None
    else:
        given = _looped_over(nodes, yielded, stored) or _advanced(nodes, yielded, stored) if yielded else None
    if given is not None and stored.count(given) == 1:
        given = _repeated(nodes, given)
    return given if given in parameters and given not in stored else None


def _looped_over(nodes: list[ast.AST], yielded: list[ast.expr | None], stored: list[str]) -> str | None:
    """`batches` of `for batch in batches: yield batch`, counted or not."""
    each = yielded[0].id if isinstance(yielded[0], ast.Name) else ""
    if stored.count(each) != 1 or not all(isinstance(one, ast.Name) and one.id == each for one in yielded):
        return None
    loops = (node for node in nodes if isinstance(node, ast.For))
    return next((over for loop in loops if (over := _over(loop, each)) is not None), None)


def _repeated(nodes: list[ast.AST], each: str) -> str | None:
    """`batches` of `for each in repeat(batches)`, which gives the same again and again."""
    loops = (node for node in nodes if isinstance(node, ast.For))
    over = (loop.iter for loop in loops if isinstance(loop.target, ast.Name) and loop.target.id == each)
    return next((_of(one, _REPEATS) for one in over), None)


def _over(loop: ast.For, each: str) -> str | None:
    """What a loop goes through whose variable has that name: `for each in x`, `for i, each in enumerate(x)`, `for each in tqdm(x)`."""
    target, over = loop.target, _unwrapped(loop.iter)
    if isinstance(over, ast.Call) and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target, counted = target.elts[1], _of(over, ("enumerate",))
    else:
        counted = over.id if isinstance(over, ast.Name) else None
    return counted if isinstance(target, ast.Name) and target.id == each else None


def _unwrapped(over: ast.expr) -> ast.expr:
    """What is gone through, behind what leaves its elements alone: `x` of `tqdm(x, desc="steps")`."""
    while True:
        match over:
            case ast.Call(ast.Name(id=called) | ast.Attribute(attr=called), [given, *_]) if (
                called in ITERATION_WRAPPERS
            ):
                over = given
            case _:
                return over


def _advanced(nodes: list[ast.AST], yielded: list[ast.expr | None], stored: list[str]) -> str | None:
    """`batches` of `rest = iter(batches)` and `yield next(rest)`, begun anew as often as it likes."""
    rest = _only(_of(one, NEXT) for one in yielded)
    begun = [
        node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == rest
    ]
    return _only(_of(one, _BEGINS) for one in begun) if rest is not None and stored.count(rest) == len(begun) else None


def _of(node: ast.expr | None, methods: Collection[str]) -> str | None:
    """`x` of `next(x)` and `x.__next__()`."""
    if not isinstance(node, ast.Call) or len(node.args) + len(node.keywords) > 1:
        return None
    func, given = node.func, node.args[0] if node.args else None
    called = func.id if isinstance(func, ast.Name) else ""
    if isinstance(func, ast.Attribute) and given is None:
        called, given = func.attr, func.value
    return given.id if called in methods and isinstance(given, ast.Name) else None


def _only(names: Iterable[str | None]) -> str | None:
    """The name that all of several are."""
    found = {*names}
    return found.pop() if len(found) == 1 else None
