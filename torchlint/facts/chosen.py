"""Which of the returns of a function a call may reach, by the flags that it gives: `get_model(config, train=True)`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..system.cached import kept
from . import alternatives
from .arguments import Arguments
from .module import Function

Choice = tuple[tuple[str, bool], ...]
"""Parameters, and what a call gives for them, sorted."""


def choice(function: Function, args: Arguments) -> Choice:
    """What a call gives for the flags that a function's returns hang on; nothing where they have none, or the call says nothing."""
    if args.open or len(function.bindings.returned) < 2:
        return ()
    found: dict[str, bool] = {}
    for name in _flags(function):
        passed = args.get(function.positions[name] - function.is_method, name)
        default = function.defaults.get(name)
        given = passed.const if passed is not None else default.value if isinstance(default, ast.Constant) else None
        if isinstance(given, bool):
            found[name] = given
    return tuple(sorted(found.items()))


def may_return(function: Function, node: ast.expr, given: Mapping[str, bool]) -> bool:
    """Whether a call that gives these flags may come to what is returned."""
    return all(given.get(name, true) == true for name, true in _conditions(function, node))


def _flags(function: Function) -> frozenset[str]:
    """The parameters whose truth alone decides what is returned."""
    return kept(function, "return flags", lambda: _find_flags(function))


def _find_flags(function: Function) -> frozenset[str]:
    own = function.positions.keys() - function.flow.stores.keys()
    nodes = (one.node for one in function.bindings.returned if one is not None)
    return frozenset(name for node in nodes for name, _ in _conditions(function, node) if name in own)


def _conditions(function: Function, node: ast.expr) -> list[tuple[str, bool]]:
    """The names that have to be true, or false, on the way to an expression."""
    return [(one.name, one.equal) for one in alternatives.behind(function.flow, node) if one.value is True]
