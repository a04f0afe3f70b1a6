"""Data that a function makes of nothing but what a loop gives it on each iteration alike: the same list of words for every token."""

from __future__ import annotations

import ast
import itertools

from .bindings import Assigned, Before, Iterated, Parameter
from .loop_data import is_only_read, stays_same
from .place import Place

_MAKES = frozenset(
    "enumerate filter float int len list map max min range reversed set sorted str sum tuple zip".split()
)
"""Functions of Python that give the same again for the same."""
_PARTS = (
    *(ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.comprehension, ast.Starred),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Slice, ast.Lambda),
)
_IGNORED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.arguments)
_CALLERS = 10
_STEPS = 12
"""How many operations and names lead from the data to a parameter at most."""


def given_alike(place: Place, data: ast.expr) -> list[str]:
    """The parameters that the data is made of alone, where a loop that calls the function gives them the same each time; none where it does not."""
    function = place.function
    made_of: set[str] = set()
    if not function.positions or not _is_made(place, data, made_of, _STEPS) or not made_of:
        return []
    if not all(is_only_read(place, function, name) for name in made_of):
        return []
    callers = list(itertools.islice(place.callers(function), _CALLERS + 1))
    if len(callers) > _CALLERS:
        return []
    alike = any(
        site.given is None and _gives_alike(place.at(site.function, site.call), place, site.call, made_of)
        for site in callers
    )
    return sorted(made_of) if alike else []


def _gives_alike(there: Place, place: Place, call: ast.Call, wanted: set[str]) -> bool:
    """Whether a call stands in a loop that trains or runs a model, and gives parameters what stays the same in it."""
    if there.loop() is None or any(isinstance(one, ast.Starred) for one in call.args):
        return False
    given = [place.function.argument(call, name) for name in wanted]
    if not all(one is not None and (_is_constant(one) or stays_same(there, one)) for one in given):
        return False
    return there.hot is not None or there.warm is not None


def _is_constant(node: ast.expr) -> bool:
    """A number, a text, or a list of such."""
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(_is_constant, node.elts))
    return isinstance(node, ast.Constant)


def _is_made(place: Place, node: ast.AST, parameters: set[str], steps: int) -> bool:
    """Whether an expression is made of parameters, which are noted, and of constants, by what gives the same again."""
    if not steps:
        return False
    if isinstance(node, ast.Name):
        bound = place.function.bindings.reach.get(node)
        if isinstance(bound, Assigned | Iterated):
            return _is_made(place, bound.node, parameters, steps - 1)
        if isinstance(bound, Parameter):
            return True
        if node.id not in place.function.positions or not (bound is None or isinstance(bound, Before)):
            return False
        parameters.add(node.id)
        return True
    if isinstance(node, ast.Call):
        if node.keywords or place.resolve(node.func) not in _MAKES:
            return False
        return all(_is_made(place, one, parameters, steps - 1) for one in node.args)
    if isinstance(node, _PARTS):
        children = (one for one in ast.iter_child_nodes(node) if not isinstance(one, _IGNORED))
        loads = (one for one in children if not isinstance(getattr(one, "ctx", None), ast.Store))
        return all(_is_made(place, one, parameters, steps - 1) for one in loads)
    return isinstance(node, ast.Constant)
