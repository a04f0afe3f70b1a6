"""What a function that calls itself gives itself of what it was given: `move(value)` for the values of a dictionary."""

from __future__ import annotations

import ast

from .module import Function
from .nodes import names_in, root_of

_ALIKE = frozenset(("list", "tuple", "dict"))


def is_part(function: Function, node: ast.expr, name: str) -> bool:
    """Whether an expression is a parameter, or a part of it, as the function was given it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ALIKE and node.args:
        node = node.args[0]
    root = root_of(node, ast.Attribute, ast.Subscript)
    if root is None or name in function.flow.stores:
        return False
    return root.id == name or _goes_through(function, root.id, name)


def _goes_through(function: Function, part: str, whole: str) -> bool:
    """Whether all that binds a name are loops and comprehensions through something: `for key, part in whole.items()`."""
    flow = function.flow
    loops = [flow.parents.get(store) for store in flow.stores.get(part, ())]
    loops = [flow.parents.get(one) if isinstance(one, ast.Tuple) else one for one in loops]
    return bool(loops) and all(
        isinstance(one, ast.For | ast.comprehension) and whole in names_in(one.iter) for one in loops
    )
