"""What `max`, `min` and `sorted` compare by: what a key makes of each thing that they go through."""

from __future__ import annotations

import ast

from .batches import held
from .call_values import by_methods
from .place import Place
from .values import UNKNOWN, Value

_LOOKS_UP = ("get", "__getitem__")
"""Methods of a dictionary that give what it has under a key."""


def compared(place: Place, given: ast.expr, key: ast.expr | None) -> Value:
    """What a key makes of each element of what is given, `losses.get`, `lambda name: losses[name]`, `lambda pair: pair[1]`; the element without one."""
    match key:
        case None:
            return _element(place, given)
        case ast.Attribute(value=mapping, attr=attr) if attr in _LOOKS_UP:
            return _held(place, mapping)
        case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=name)]), body=body):
            return _made(place, given, name, body)
        case ast.Call(args=[ast.Constant(value=int(at))]) if place.resolve(key.func) == "operator.itemgetter":
            return _part(place, given, at)
    return UNKNOWN


def _made(place: Place, given: ast.expr, name: str, body: ast.expr) -> Value:
    """What stands in a lambda for what it calls by a name."""
    match body:
        case ast.Subscript(value=mapping, slice=ast.Name(id=index)) if index == name:
            return _held(place, mapping)
        case ast.Subscript(value=ast.Name(id=pair), slice=ast.Constant(value=int(at))) if pair == name:
            return _part(place, given, at)
    return by_methods(body, name, _element(place, given), place.value)


def _held(place: Place, mapping: ast.expr) -> Value:
    """What a dictionary is known to have under its keys."""
    value = place.value(mapping)
    return held(value) if value.kind == "dict" and value.proven and not value.other_kinds else UNKNOWN


def _part(place: Place, given: ast.expr, at: int) -> Value:
    """What stands at a place of each pair that is gone through."""
    items = _element(place, given).items or ()
    return items[at] if -len(items) <= at < len(items) else UNKNOWN


def _element(place: Place, given: ast.expr) -> Value:
    """What a list is known to hold."""
    value = place.value(given)
    known = value.kind == "list" and value.proven and not value.other_kinds
    return value.element if known and value.element is not None else UNKNOWN
