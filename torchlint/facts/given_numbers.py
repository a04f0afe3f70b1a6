"""Numbers by what all calls give, whatever an annotation says of a parameter, and what is calculated of them."""

from __future__ import annotations

import ast
from typing import Any, Protocol

from .bindings import Assigned, leaves
from .module import Function
from .nodes import number, spreads
from .values import Value

_STEPS = 6
"""Through so many names and operators a number is followed."""


class Code(Protocol):
    """What is asked of the project."""

    def parameter(self, function: Function, name: str) -> Value: ...
    def value(self, function: Function, node: ast.expr) -> Value: ...
    def own_sites(self, function: Function) -> list[Any]: ...


def is_number(code: Code, function: Function, node: ast.expr, steps: int = _STEPS) -> bool:
    """Whether something is a parameter that all calls of the project give numbers, or made of such alone: `high - low`, `size > 0`."""
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.Name):
        return _is_named(code, function, node, steps)
    else:
        return _surely(code.value(function, node))
    return steps > 0 and all(is_number(code, function, part, steps - 1) for part in parts)


def _is_named(code: Code, function: Function, name: ast.Name, steps: int) -> bool:
    """The same of a name: on all ways to it."""
    binding = function.bindings.reach.get(name)
    if binding is None:
        given = code.parameter(function, name.id) if name.id in function.positions else code.value(function, name)
        if given.kind == "number" and not given.other_kinds:
            return True
        may_be = "number" in given.other_kinds or number(function.defaults.get(name.id)) is not None
        return steps > 0 and may_be and _is_given(code, function, name.id, steps - 1)
    made = list(leaves([binding]))
    return steps > 0 and all(
        isinstance(one, Assigned) and is_number(code, function, one.node, steps - 1) for one in made
    )


def _is_given(code: Code, function: Function, name: str, steps: int) -> bool:
    """Whether all calls outside of tests give a parameter a number that may be a tensor by its annotation, or leave it one."""
    sites = code.own_sites(function) if name in function.positions else []
    return bool(sites) and all(_gives(code, function, name, site, steps) for site in sites)


def _gives(code: Code, function: Function, name: str, site: Any, steps: int) -> bool:
    call = site.given or site.call
    node = function.argument(call, name)
    if node is not None:
        return is_number(code, site.function, node, steps)
    return not spreads(call) and number(function.defaults.get(name)) is not None


def _surely(value: Value) -> bool:
    return value.kind == "number" and value.proven and not value.other_kinds
