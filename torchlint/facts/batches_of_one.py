"""Batches that are one thing with a dimension in front: `x.unsqueeze(0)`, `x[None]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .flow import Flow
from .names import last
from .nodes import argument_of, indices, is_constant, keyword_of, number, receiver_of

_OF_FIRST = frozenset("from_numpy interpolate normalize pad Variable".split())
"""What gives as many things as its first argument holds."""
_AS_MANY = frozenset("clone contiguous cpu cuda detach double float half requires_grad_ to type type_as".split())
"""Methods that give as many things as their object holds."""
_JOINS = frozenset(("cat", "stack", "concatenate", "vstack"))
_REPEATS = frozenset(("repeat", "expand", "tile"))


def is_of_one(flow: Flow, node: ast.expr) -> bool:
    """Whether a batch is one thing with a dimension in front, here or by a name; what is joined may be more."""
    values = list(_values(flow, node))
    parts = [part for value in values if value is not None for part in ast.walk(value)]
    return None not in values and not any(map(_multiplies, parts)) and any(map(_unsqueezes, parts))


def _values(flow: Flow, node: ast.expr) -> Iterator[ast.expr | None]:
    """What a batch is, by names and as what it is made of: `torch.from_numpy(picture)`; None where that is not assigned."""
    todo: list[ast.expr | None] = [node]
    seen = set[str]()
    while todo:
        one = todo.pop()
        if isinstance(one, ast.Name) and one.id in flow.stores:
            made = [flow.parents.get(store) for store in flow.stores[one.id]] if one.id not in seen else []
            todo += [each.value if isinstance(each, ast.Assign) else None for each in made]
            seen.add(one.id)
        elif isinstance(one, ast.IfExp):
            todo += one.body, one.orelse
        else:
            yield one
            todo += _made_of(one) if isinstance(one, ast.Call) else []


def _made_of(call: ast.Call) -> list[ast.expr]:
    """What holds as many things as a call gives; nothing where that is not known."""
    name = last(call.func)
    if name in _AS_MANY or name in _REPEATS:
        return [receiver_of(call)]
    return call.args[:1] if name in _OF_FIRST else []


def _multiplies(node: ast.AST) -> bool:
    """`torch.cat([x, x.flip(3)])`, `x.repeat(4, 1, 1, 1)`, `x[None] * y[:, None]`; not `x.repeat(1, 3, 1, 1)`, `np.repeat(x, 3, axis=2)`."""
    if isinstance(node, ast.BinOp):
        return _is_of_all(node.left, node.right) or _is_of_all(node.right, node.left)
    if not isinstance(node, ast.Call):
        return False
    name = last(node.func)
    if name in _JOINS:
        return True
    if name not in _REPEATS:
        return False
    axis = keyword_of(node, "axis")
    if axis is not None:
        return not isinstance(axis, ast.Constant) or not axis.value
    return not node.args or number(node.args[0]) != 1


def _is_of_all(row: ast.expr, column: ast.expr) -> bool:
    """`x[None]` and `y[:, None]`, which have a row for each of `y` together."""
    behind = indices(column.slice)[1:] if isinstance(column, ast.Subscript) else ()
    return isinstance(row, ast.Subscript) and _unsqueezes(row) and any(map(_is_new, behind)) and not _unsqueezes(column)


def _is_new(index: ast.expr) -> bool:
    return is_constant(index, None) or last(index) == "newaxis"


def _unsqueezes(node: ast.AST) -> bool:
    """`x.unsqueeze(0)`, `np.expand_dims(x, 0)`, `x[None]`, `x[np.newaxis, ...]`"""
    if isinstance(node, ast.Subscript):
        return any(map(_is_new, indices(node.slice)[:1]))
    if not isinstance(node, ast.Call):
        return False
    if last(node.func) == "expand_dims":
        return number(argument_of(node, "axis", 1)) == 0
    return last(node.func) == "unsqueeze" and number(argument_of(node, "dim", 0)) == 0
