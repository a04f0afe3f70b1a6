"""Lists of lists of layers, a row for each branch: `self.convs.append(row)`, of `row = nn.ModuleList()` that layers are put into."""

from __future__ import annotations

import ast
from typing import NamedTuple

from . import names, syntax
from .module import Class, Function


class Row(NamedTuple):
    """A list of layers that is put into a list of the object."""

    made: ast.expr
    """What makes it: `nn.ModuleList()`."""
    layers: list[ast.expr]
    """What is appended to it."""
    name: str
    """The attribute whose list it is put into."""


def with_layer(function: Function, layer: ast.expr) -> Row | None:
    """The row that a layer is appended to, `row.append(nn.Conv2d(3, 8, 1))`; None where anything else is done with that."""
    call = function.flow.parents.get(layer)
    grown = syntax.appended_to(function.flow, call) if isinstance(call, ast.Call) else None
    return _row(function, grown.id) if grown is not None else None


def of_attribute(klass: Class, name: str) -> list[tuple[Function, Row]] | None:
    """The rows that methods append to a list of the object; None where something else is."""
    found: list[tuple[Function, Row]] = []
    for method, read in klass.uses.get(name, ()):
        use = method.flow.parents[read]
        if not isinstance(use, ast.Attribute):
            continue
        call = syntax.called(method.flow, use)
        given = call.args[0] if call is not None and use.attr == "append" and len(call.args) == 1 else None
        row = _row(method, given.id) if isinstance(given, ast.Name) else None
        if row is None:
            return None
        found.append((method, row))
    return found


def _row(function: Function, name: str) -> Row | None:
    flow = function.flow
    stores = flow.stores.get(name, ())
    made = syntax.given_to_target(flow, stores[0]) if len(stores) == 1 else None
    layers: list[ast.expr] = []
    kept: list[str] = []
    for load in flow.loads.get(name, ()):
        use = flow.parents[load]
        if isinstance(use, ast.Call) and use.args == [load] and isinstance(use.func, ast.Attribute):
            attribute = syntax.own_attribute(function, use.func.value) if use.func.attr == "append" else None
            if attribute is None:
                return None
            kept.append(attribute)
            continue
        call = syntax.called(flow, use) if isinstance(use, ast.Attribute) and use.attr == "append" else None
        if call is None or len(call.args) != 1:
            return None
        layers.append(call.args[0])
    return Row(made, layers, kept[0]) if made is not None and len(kept) == 1 else None


def taken(function: Function, read: ast.Attribute) -> list[ast.expr] | None:
    """Where a method reads what rows hold: `self.convs[i][j]`, or each read of the name that is given it; None where that is not known."""
    flow = function.flow
    row = flow.parents[read]
    if isinstance(row, ast.Attribute):
        return [] if row.attr == "append" else None
    if _is_counted(row):
        return []
    if not isinstance(row, ast.Subscript) or isinstance(row.slice, ast.Slice):
        return None
    layer = flow.parents[row]
    if _is_counted(layer):
        return []
    if not isinstance(layer, ast.Subscript) or layer.value is not row or isinstance(layer.slice, ast.Slice):
        return None
    given = flow.parents[layer]
    if not isinstance(given, ast.Assign):
        return [layer]
    target = given.targets[0]
    if len(given.targets) != 1 or not isinstance(target, ast.Name) or len(flow.stores[target.id]) != 1:
        return None
    return list(flow.loads.get(target.id, ()))


def _is_counted(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and names.last(node.func) == "len"


def held_by(function: Function, func: ast.expr) -> str | None:
    """The attribute whose rows hold what is called: `self.norms[i][j]`, `norm` of `norm = self.norms[i][j]`."""
    flow = function.flow
    stores = flow.stores.get(func.id, ()) if isinstance(func, ast.Name) else ()
    given = flow.parents[stores[0]] if len(stores) == 1 else None
    held = given.value if isinstance(given, ast.Assign) else func
    match held:
        case ast.Subscript(value=ast.Subscript(value=rows)):
            return syntax.own_attribute(function, rows)
    return None
