"""What constants of a program choose: `{"half": torch.float16, "bf16": torch.bfloat16}[kind]` behind `kind = "bf16"`."""

from __future__ import annotations

import ast

from ..system.regex import regex
from .nodes import truth
from .place import Place
from .syntax import given_to_target, stores_of

_OVERRIDES = regex(rb"(?<![.\w])(?:exec|globals|setattr)\(|(?m:^\s*global\s)")
"""What may give a name of the module another value: `exec(open("configurator.py").read())`."""
_DEPTH = 3


def holds(place: Place, test: ast.expr) -> bool | None:
    """Whether a condition on constants holds; None where something else decides: `dtype == "float16"` behind `dtype = "bfloat16"`."""
    return truth(test, lambda part: _says(place, part, _DEPTH))


def _says(place: Place, part: ast.expr, depth: int) -> bool | None:
    match part:
        case ast.Constant(value=bool() | None):
            return bool(part.value)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as asked], comparators=[right]):
            one, other = (getattr(place.value(side), "const", None) for side in (left, right))
            return None if one is None or other is None else (one == other) is isinstance(asked, ast.Eq)
        case ast.Name() if depth and (given := _only_given(place, part)) is not None:
            return truth(given, lambda inner: _says(place, inner, depth - 1))
    return None


def chosen(place: Place, node: ast.expr, depth: int = _DEPTH) -> tuple[ast.expr, list[ast.Dict]]:
    """The expression that constants choose, with the dictionaries that it is looked up in; one that they do not, as it is."""
    if depth and isinstance(node, ast.Name) and (given := _only_given(place, node)) is not None:
        return chosen(place, given, depth - 1)
    if isinstance(node, ast.Subscript) and not _may_be_overridden(place):
        table = _only_given(place, node.value) if isinstance(node.value, ast.Name) else node.value
        key = getattr(place.value(node.slice), "const", None)
        pairs = zip(table.keys, table.values, strict=True) if isinstance(table, ast.Dict) else ()
        found = [value for one, value in pairs if isinstance(one, ast.Constant) and one.value == key]
        if isinstance(table, ast.Dict) and key is not None and len(found) == 1:
            return found[0], [table]
    return node, []


def _only_given(place: Place, name: ast.Name) -> ast.expr | None:
    """What the only assignment of a name gives it, in its function or its module; None where others may."""
    stores = stores_of(place.function, name)
    if len(stores) != 1 or name.id in place.function.positions or _may_be_overridden(place):
        return None
    function, store = stores[0]
    return given_to_target(function.flow, store)


def _may_be_overridden(place: Place) -> bool:
    return place.function.module.source.holds(_OVERRIDES)
