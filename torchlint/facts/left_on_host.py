"""What stays on the host of what is moved by its parts: of what a function unpacks, `images, lengths = batch`, and of what a class holds."""

from __future__ import annotations

import ast
from collections.abc import Callable

from . import names
from .flow import Flow
from .module import Class, Function
from .moves import MOVES
from .nodes import given_to
from .syntax import called, own_attribute

_OF_OBJECTS = ("to", "cuda", "to_device")
"""Methods that move an object."""
_MAKES = ("replace", "_replace", "__class__", "type")
"""What makes an object of one, and of other fields for some."""
_ARITHMETIC = (
    ast.BinOp,
    ast.UnaryOp,
    ast.Subscript,
    ast.Slice,
    ast.Constant,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)


def stays(flow: Flow, call: ast.Call, given: ast.expr, is_moved: Callable[[ast.expr], bool]) -> bool:
    """Whether a call is given what was unpacked and bound no more, beside another part of the same that was moved by itself."""
    name = _only_name(given)
    stores = flow.stores.get(name, ()) if name is not None else ()
    unpacked = flow.parents.get(stores[0]) if len(stores) == 1 else None
    if not isinstance(unpacked, ast.Tuple | ast.List):
        return False
    others = {part.id for part in unpacked.elts if isinstance(part, ast.Name)} - {name}
    return any(_is_moved_alone(flow, other, others) and is_moved(other) for other in given_to(call))


def left_fields(klass: Class) -> list[str]:
    """The fields of a class, annotated or set by its constructor, that its objects leave where they are when they are moved."""
    annotated = [name for name, made in klass.assigned.items() if isinstance(made, ast.AnnAssign)]
    stored = [name for name, stores in klass.stores.items() if any(one.name == "__init__" for one, _ in stores)]
    return [name for name in dict.fromkeys((*annotated, *stored)) if is_left(klass, name)]


def is_left(klass: Class, field: str) -> bool:
    """Whether objects of a class are moved by a method of their own that names all fields that it moves, and not this one.

    `def to(self, device): return replace(self, words=self.words.to(device))`
    """
    method = next((klass.methods[name] for name in _OF_OBJECTS if name in klass.methods), None)
    if method is None or method.flow.calls_named("super"):
        return False
    loads = method.flow.loads.get(method.own_name, ())
    moved = {name for load in loads if (name := _field_moved(method, load)) is not None}
    return bool(moved - {field}) and all(_leaves(method, klass, load, field) for load in loads)


def _field_moved(method: Function, load: ast.Name) -> str | None:
    """The `x` of `self.x.to(device)`."""
    field = method.flow.parents[load]
    move = method.flow.parents.get(field)
    if not isinstance(field, ast.Attribute) or not isinstance(move, ast.Attribute) or move.attr not in MOVES:
        return None
    return own_attribute(method, field) if called(method.flow, move) is not None else None


def _leaves(method: Function, klass: Class, load: ast.Name, field: str) -> bool:
    """Whether a read of the object is one of another field, or hands on this one, or all of them, as they are."""
    whole: ast.expr = load
    around = method.flow.parents[load]
    if isinstance(around, ast.Attribute) and not around.attr.startswith("_"):
        if around.attr != field:
            return True
        whole, around = around, method.flow.parents[around]
    if isinstance(around, ast.keyword):
        around = method.flow.parents[around]
    if isinstance(around, ast.Attribute):
        return whole is load and around.attr in _MAKES
    is_made = isinstance(around, ast.Call) and names.last(around.func) in (*_MAKES, klass.name)
    return is_made or (whole is load and isinstance(around, ast.Return))


def _only_name(node: ast.expr) -> str | None:
    """The one name that an expression calculates with: `lengths` of `lengths[keep] - 1` has two, and of `lengths - 1` one."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif not isinstance(part, _ARITHMETIC):
            return None
    return found.pop() if len(found) == 1 else None


def _is_moved_alone(flow: Flow, node: ast.expr, parts: set[str]) -> bool:
    """Whether an expression is one of the parts, moved where it is given, `x.cuda()`, or bound once more before."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return isinstance(node.func.value, ast.Name) and node.func.value.id in parts
    name = _only_name(node)
    return name in parts and name is not None and len(flow.stores.get(name, ())) > 1
