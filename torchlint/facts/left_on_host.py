"""What stays on the host of what a function unpacks: it moves `images` of `images, lengths = batch`, and not `lengths`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from .flow import Flow
from .nodes import given_to

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
