"""Calls that begin a loader anew, each time that they are made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import names
from .module import Function
from .place import Place
from .torch_table import ITERATION_WRAPPERS

_BEGINS = frozenset(("iter", "enumerate", "zip", "itertools.cycle", "itertools.islice", "itertools.chain"))
_WRAPS = ITERATION_WRAPPERS | {"enumerate", "zip"}


def begins_loader(place: Place, call: ast.Call) -> bool:
    """Whether a call gives a new iterator of a loader: `iter(loader)`, `loader.__iter__()`, `cycle(loader)` of itertools or of a generator of the project."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "__iter__":
        return _is_begun(place, call.func.value)
    if place.resolve(call.func) in _BEGINS:
        return any(_is_begun(place, given) for given in call.args)
    targets = place.project.targets(place.function, call)
    return len(targets) == 1 and _is_generator(targets[0]) and _goes_through_loader(place, targets[0], call)


def _is_begun(place: Place, given: ast.expr) -> bool:
    """Whether an expression is a loader, which whoever goes through it begins, or begins one itself: not an iterator that goes on."""
    value = place.value(given)
    begun = value.kind == "loader" and not value.begun
    return begun or (isinstance(given, ast.Call) and begins_loader(place, given))


def _is_generator(function: Function) -> bool:
    """Whether calling a function gives a generator as it is, and not what a decorator keeps or makes of it."""
    return function.decorator_names <= {"staticmethod"} and bool(function.yields)


def _goes_through_loader(place: Place, generator: Function, call: ast.Call) -> bool:
    """Whether a generator gives what it takes out of loaders alone that it begins itself."""
    own = place.at(generator, call)

    def begins(over: ast.expr) -> bool:
        given = _handed(generator, call, over)
        return _is_begun(place, given) if given is not None else _is_begun(own, over)

    return all(any(map(begins, _sources(generator, given))) for given in generator.yields)


def _sources(generator: Function, given: ast.Yield | ast.YieldFrom) -> Iterator[ast.expr]:
    """What the loops around a `yield` go through, and what the generator makes iterators of in front of them."""
    if isinstance(given, ast.YieldFrom) and given.value is not None:
        yield from _unwrapped(given.value)
    for loop in generator.flow.loops(given):
        if isinstance(loop, ast.For):
            yield from _unwrapped(loop.iter)
    for statement in generator.telling:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            yield from _unwrapped(statement.value)


def _unwrapped(over: ast.expr) -> Iterator[ast.expr]:
    """What is gone through, and what is wrapped for that: `loader` of `enumerate(tqdm(loader))`."""
    if not isinstance(over, ast.Call):
        yield over
    elif names.last(over.func) in _WRAPS:
        for given in over.args:
            yield from _unwrapped(given)


def _handed(generator: Function, call: ast.Call, over: ast.expr) -> ast.expr | None:
    """What the call gives a parameter of the generator, which that leaves as it is."""
    if not isinstance(over, ast.Name) or over.id in generator.flow.stores:
        return None
    return generator.argument(call, over.id)
