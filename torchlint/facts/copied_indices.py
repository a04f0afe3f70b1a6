"""Indices that lie on the host, and are copied to the device where a tensor there is indexed."""

from __future__ import annotations

import ast

from ..torch_api.operators import operator
from . import host_reads as reads
from .bindings import Assigned
from .indices import indexed
from .moves import SENDING
from .nodes import indices, made_first
from .place import Place
from .sending import casts, goes_to_device
from .uses import assigned
from .values import Value

_OF_DATA = frozenset(("torch.Tensor", "torch.tensor", "torch.as_tensor", "torch.from_numpy"))
"""What makes a tensor of the host of data, whatever the rest is."""


def may_be_number(place: Place, index: ast.expr) -> bool:
    """Whether a tensor of the host may have no dimension, and is read as a number: `best[i]`."""
    bound = place.function.bindings.reach.get(index)
    made = bound.node if isinstance(bound, Assigned) else index
    value = place.value(index)
    if value.is_tensor and value.scalar:
        return True
    return isinstance(made, ast.Subscript) and all(
        place.value(part).kind == "number" and not isinstance(part, ast.Slice) for part in indices(made.slice)
    )


def is_counted_by_loader(place: Place, index: Value) -> bool:
    """Whether an index is a batch of `DataLoader(range(n))`."""
    if index.kind != "batch" or not index.loader_calls:
        return False
    given = (call.args[0] for call in index.loader_calls if isinstance(call, ast.Call) and call.args)
    counts = [isinstance(one, ast.Call) and place.resolve(one.func) == "range" for one in given]
    return len(counts) == len(index.loader_calls) and all(counts)


def is_moved(place: Place, held: ast.expr) -> bool:
    """Whether a name is of what was sent to the device there: `edges = edges.to(device)`."""
    made = assigned(place.function, held) if isinstance(held, ast.Name) else None
    moves = isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in SENDING
    return isinstance(made, ast.Call) and moves and not casts(place, made) and goes_to_device(place, made)


def is_there(place: Place, held: ast.expr) -> bool:
    """Whether what has an index is a tensor of the device, as what was sent there is, or an object that holds some."""
    value = place.value(held)
    return (value.kind in ("tensor", "unknown") and value.device == "accelerator") or is_moved(place, held)


def is_of_data(place: Place, index: Value) -> bool:
    """Whether the function makes an index of data, `torch.tensor([0, 2])`: it lies on the host wherever the rest is."""
    made = made_first(index.made_by) if index.made_by is not None else None
    return isinstance(made, ast.Call) and made in place.flow.parents and place.resolve(made.func) in _OF_DATA


def places(value: Value, *, beside: bool = False) -> str:
    """The kind of an index that is no tensor: "list" of one of numbers, "array" of one of NumPy; "" of any other.

    Where it stands `beside` others, `x[..., kept]`, a list of whatever is one of numbers.
    """
    element = value.element
    if not value.proven or value.other_kinds:
        return ""
    if value.kind == "ndarray" or (value.kind == "tuple" and element is not None and element.kind == "ndarray"):
        return "array"
    if value.kind != "list":
        return ""
    if not element:
        return "list" if beside else ""
    of_array = element.kind == "ndarray" and "number" in element.other_kinds
    # With a slice, None or an ellipsis among its elements it is read as a tuple, and no tensor is made.
    numbers = element.kind == "number" and "none" not in element.other_kinds
    return "list" if of_array or (numbers and all(one.kind == "number" for one in value.items or ())) else ""


def is_first(place: Place, node: ast.Subscript, index: ast.expr) -> bool:
    """Whether no tensor of the device has the same index before it, in the same loop: what was copied once would do for both."""
    loops = place.flow.loops(node)
    alike = place.once(("subscripts by index", place.function), lambda: _by_index(place)).get(ast.dump(index), ())
    return not any(
        (one.lineno, one.col_offset) < (node.lineno, node.col_offset)
        and place.flow.loops(one) == loops
        and reads.is_on_device(place, one.value)
        for one in alike
    )


def is_filled_for(place: Place, node: ast.Subscript, index: Value) -> bool:
    """Whether an index was filled on the step for nothing else, `x[torch.arange(n), y]`: TL405 tells where."""
    made = index.made_by
    if not isinstance(made, ast.Call) or made not in place.flow.parents or place.at(place.function, made).hot is None:
        return False
    row = operator(place.resolve(made.func) or "")
    return row is not None and row.device == "factory" and node in indexed(place, made)


def _by_index(place: Place) -> dict[str, list[ast.Subscript]]:
    """The subscripts of a function, by what stands in their brackets; slices and constants left out."""
    found: dict[str, list[ast.Subscript]] = {}
    for node in place.flow.nodes:
        if isinstance(node, ast.Subscript):
            for part in indices(node.slice):
                if not isinstance(part, ast.Slice | ast.Constant):
                    found.setdefault(ast.dump(part), []).append(node)
    return found
