"""Data of the host that a loop only reads, only adds to, or collects element by element."""

from __future__ import annotations

import ast

from . import syntax
from .flow import Loop
from .nodes import names_in, root_of, steps
from .place import Place

_READERS = frozenset(("torch.tensor", "torch.as_tensor", "torch.from_numpy", "len", "print", "range", "enumerate"))
"""Functions that leave what they are given as it is."""


def stays_same(place: Place, data: ast.expr) -> bool:
    """Whether the data is a name, or an attribute of one, that the loop around the place only reads."""
    root, loop = root_of(data, ast.Attribute), place.loop()
    if loop is None or root is None or root.id == "self" or root.id in place.flow.globals:
        return False
    if any(_within(loop, store) for store in place.flow.stores.get(root.id, ())):
        return False
    return not any(_may_change(place, load) for load in place.flow.loads.get(root.id, ()) if _within(loop, load))


def _may_change(place: Place, name: ast.Name) -> bool:
    """Whether a use of a name may change what it holds: a method of it, a write to a part of it, a call that takes it."""
    node: ast.AST = name
    for parent in place.flow.ancestors(name):
        if isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is node:
            if not isinstance(parent.ctx, ast.Load):
                return True
        elif isinstance(parent, ast.Call):
            return place.resolve(parent.func) not in _READERS
        else:
            return isinstance(parent, ast.AugAssign) and parent.target is node
        node = parent
    return False


def only_grows(place: Place, data: ast.expr) -> bool:
    """Whether the data is a list that the loop around the place only adds to: `rewards.append(r)`, `tokens += [token]`."""
    while isinstance(data, ast.List) and len(data.elts) == 1:
        data = data.elts[0]  # `[tokens]`, a batch of one
    loop = place.loop()
    if loop is None or not isinstance(data, ast.Name) or data.id in place.flow.globals:
        return False
    if any(guard.block is not None for guard in place.flow.guards(place.target, loop)):
        return False  # from time to time
    stores = place.flow.stores.get(data.id, ())
    inside = [store for store in stores if _within(loop, store)]
    if len(inside) == len(stores) or not all(_is_extended(place, store) for store in inside):
        return False
    begins = (syntax.given_to_target(place.flow, store) for store in stores if store not in inside)
    if not all(isinstance(one, ast.List) for one in begins):
        return False
    called = [
        method for load in place.flow.loads.get(data.id, ()) if _within(loop, load) and (method := _method(place, load))
    ]
    return bool(inside or called) and all(method in ("append", "extend") for method in called)


def _is_extended(place: Place, store: ast.Name) -> bool:
    """`tokens += [token]`"""
    statement = place.flow.parents[store]
    return isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.List)


def _method(place: Place, load: ast.Name) -> str:
    """`append` of `tokens.append(token)`, `del` of `del tokens[0]`; "" of what only reads."""
    use = place.flow.parents[load]
    if isinstance(use, ast.Subscript) and not isinstance(use.ctx, ast.Load):
        return "del"
    return use.attr if isinstance(use, ast.Attribute) else ""


def _within(loop: Loop, name: ast.Name) -> bool:
    return loop.lineno <= name.lineno <= (loop.end_lineno or loop.lineno)


def collected_in(place: Place, made: ast.expr) -> str | None:
    """The tensor of the device that gets one element on each iteration, and that the loop does not read."""
    statement, loop = place.statement, place.loop((ast.For,))
    if not isinstance(statement, ast.Assign) or not isinstance(loop, ast.For) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not (
        isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and made in steps(statement.value)
    ):
        return None
    counters = names_in(loop.target)
    index = target.slice.elts[0] if isinstance(target.slice, ast.Tuple) and target.slice.elts else target.slice
    if not (isinstance(index, ast.Name) and index.id in counters) or place.value(target.value).device != "accelerator":
        return None
    read = [load for load in place.flow.loads.get(target.value.id, ()) if _within(loop, load)]
    return target.value.id if read == [target.value] else None
