"""Tensors that a loop does nothing with but to put them into a list, and lists that hold nothing else."""

from __future__ import annotations

import ast

from . import syntax
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


def only_element(place: Place, listed: ast.Name) -> ast.expr | None:
    """What a list that begins empty gets on each turn of one loop, where nothing else is done with it but at one place: `x` of `xs.append(x)`."""
    flow, name = place.flow, listed.id
    stores, reads = flow.stores.get(name, ()), flow.loads.get(name, ())
    if len(stores) != 1 or len(reads) != 2 or listed not in reads or is_shared(place.function, name):
        return None
    begun = syntax.given_to_target(flow, stores[0])
    if not isinstance(begun, ast.List) or begun.elts:
        return None
    grown = [call for call, taker in syntax.method_calls(flow, "append") if taker in reads and taker is not listed]
    return grown[0].args[0] if grown and syntax.appended_to(flow, grown[0]) is not None and grown[0].args else None
