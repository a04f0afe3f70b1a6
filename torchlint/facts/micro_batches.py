"""Loops over the parts of a batch, which is taken apart for its gradients to be added up: `for part in x.split(n)`."""

from __future__ import annotations

import ast

from .flow import Loop
from .names import last
from .nodes import argument_of, bound_names, names_in
from .place import Place
from .uses import assigned

_APART = frozenset(("split", "chunk", "tensor_split"))
"""What takes a tensor apart."""


def goes_through(place: Place, loop: Loop) -> bool:
    """Whether a loop goes through the parts of tensors, or slices them by its number, and runs the same on each."""
    if not isinstance(loop, ast.For) or _chooses_by_turn(place, loop):
        return False
    return _are_parts(place, loop.iter) or _slices(place, loop)


def _are_parts(place: Place, given: ast.expr) -> bool:
    if isinstance(given, ast.Name):
        made = assigned(place.function, given)
        return isinstance(made, ast.Call) and _are_parts(place, made)
    if not isinstance(given, ast.Call):
        return False
    called = place.resolve(given.func)
    if called in ("zip", "enumerate"):
        return bool(given.args) and all(_are_parts(place, one) for one in given.args)
    method = last(given.func)
    if method not in _APART:
        return False
    is_function = called == f"torch.{method}"
    whole = given.args[0] if is_function and given.args else getattr(given.func, "value", None)
    parts = argument_of(given, "chunks", int(is_function)) if method == "chunk" else None
    if whole is None or (parts is not None and place.value(parts).const == 1):
        return False
    return place.value(whole).kind in ("tensor", "batch")


def _slices(place: Place, loop: ast.For) -> bool:
    """`for start in range(0, len(x), n): part = x[start : start + n]`"""
    given = loop.iter
    counted = isinstance(given, ast.Call) and place.resolve(given.func) == "range" and len(given.args) == 3
    if not counted or not isinstance(loop.target, ast.Name):
        return False
    slices = (node for statement in loop.body for node in ast.walk(statement) if isinstance(node, ast.Slice))
    return any(isinstance(one.lower, ast.Name) and one.lower.id == loop.target.id for one in slices)


def _chooses_by_turn(place: Place, loop: ast.For) -> bool:
    """Whether each turn calls something of its own: `models[i](part)`."""
    by = bound_names(loop.target)
    called = (call.func for call in place.flow.calls_in(loop))
    return any(isinstance(one, ast.Subscript) and not by.isdisjoint(names_in(one.slice)) for one in called)
