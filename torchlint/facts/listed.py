"""Tensors that a loop does nothing with but to put them into a list."""

from __future__ import annotations

import ast

from .names import last
from .place import Place
from .torch_table import TOLD, TOLD_BY_CALL
from .uses import is_shared, readers

_SHAPES = frozenset(
    """bool bfloat16 clone contiguous detach double expand flatten float half int long permute repeat reshape squeeze t
    transpose unsqueeze view""".split()
)
"""Methods that give the elements of a tensor again, all of them, in another shape or type."""
_TELLS = TOLD | TOLD_BY_CALL
_NAMES = 3
"""Through how many names a tensor is followed."""


def is_only_listed(place: Place, node: ast.expr, names: int = _NAMES) -> bool:
    """Whether a tensor goes to `xs.append(...)` in the same loop and nowhere else, but for other shapes, slices and types of it.

    `x = torch.from_numpy(a).cuda().float()`, `xs.append(x[::2])`.
    """
    flow = place.flow
    whole = _reshaped(place, node)
    taker = flow.parents.get(whole)
    if isinstance(taker, ast.Call) and taker.args == [whole]:
        return last(taker.func) == "append" and flow.loops(taker) == flow.loops(place.target)
    name = taker.targets[0] if names and isinstance(taker, ast.Assign) and len(taker.targets) == 1 else None
    if not isinstance(name, ast.Name) or is_shared(place.function, name.id):
        return False
    reads = [read for read in readers(place.function, name.id, whole) if not _only_tells(place, read)]
    return bool(reads) and all(is_only_listed(place, read, names - 1) for read in reads)


def _reshaped(place: Place, node: ast.expr) -> ast.expr:
    """All that is made of a tensor by casts, other shapes and slices: `x.float()[::2]` of `x`."""
    parents = place.flow.parents
    while True:
        parent = parents.get(node)
        call = parents.get(parent) if isinstance(parent, ast.Attribute) and parent.attr in _SHAPES else None
        if isinstance(call, ast.Call) and call.func is parent:
            node = call
        elif isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
            node = parent
        else:
            return node


def _only_tells(place: Place, read: ast.Name) -> bool:
    """`x.shape`, `x.size(0)`"""
    part = place.flow.parents.get(read)
    return isinstance(part, ast.Attribute) and part.attr in _TELLS
