"""Tensors of one dimension: what numbers, sorts or picks gives, and elements of these."""

from __future__ import annotations

import ast

from .bindings import Iterated
from .names import last
from .nodes import keyword_of, number
from .place import Place
from .uses import assigned

_FLAT = frozenset(f"torch.{name}" for name in "arange linspace randperm bincount ravel masked_select".split())
"""What gives one dimension whatever it is given."""
_FLATTENS = frozenset(("flatten", "ravel", "masked_select", "bincount"))
_WITHOUT_DIM = frozenset(("unique", "argsort"))
"""What gives one dimension where no dimension is named: `argsort` along the last, which is one of several in what nobody goes through element by element."""
_KEEPS = frozenset("to cuda cpu long int detach clone contiguous flip".split())
"""What gives as many dimensions as it is given."""
_DEPTH = 4


def is_element(place: Place, node: ast.expr) -> bool:
    """Whether a value is one element of a tensor of one dimension: `i` of `for i in order`, `order[k]`, or a name for that."""
    bound = place.function.bindings.reach.get(node) if isinstance(node, ast.Name) else None
    if isinstance(bound, Iterated):
        return is_flat(place, bound.node)
    if isinstance(node, ast.Name):
        node = assigned(place.function, node) or node
    return isinstance(node, ast.Subscript) and place.value(node.slice).kind == "number" and is_flat(place, node.value)


def is_flat(place: Place, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether an expression is a tensor of one dimension, as far as it is written."""
    if isinstance(node, ast.Name):
        made = assigned(place.function, node) if depth else None
        return made is not None and is_flat(place, made, depth - 1)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Slice) and is_flat(place, node.value, depth)
    if not isinstance(node, ast.Call):
        return False
    name = place.resolve(node.func) or ""
    if name in _FLAT:
        return True
    method, is_function = last(node.func), name.startswith("torch.")
    if method in _WITHOUT_DIM:
        return keyword_of(node, "dim") is None and len(node.args) <= is_function
    if is_function or not isinstance(node.func, ast.Attribute):
        return False
    if method in ("view", "reshape"):
        return len(node.args) == 1 and number(node.args[0]) == -1
    if method in _FLATTENS:
        return not node.args or method in ("masked_select", "bincount")
    return method in _KEEPS and is_flat(place, node.func.value, depth)
