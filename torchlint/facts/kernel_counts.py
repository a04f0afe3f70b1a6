"""Counts that a kernel finds on the device, by which the host makes the memory that the next one fills."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .nodes import assigned_in, given_to, keyword_of, names_in, number, root_of
from .place import Place

_MAKES = frozenset("empty zeros ones full new_empty new_zeros new_ones new_full".split())
"""What makes memory of a size that it is given."""
_LAUNCHES = ("launch", "launch_tiled")
"""What Warp runs kernels by."""


def is_count_for_memory(place: Place, read: ast.expr) -> bool:
    """Whether a read gives the sum of what a kernel has counted, and memory is made by it: nobody knows that number before.

    `count[grid](x, counts); offsets = counts.cumsum(0); total = offsets[-1].item(); found = torch.empty(total, device=device)`
    """
    match read:
        case ast.Call(func=ast.Attribute(attr="item", value=ast.Subscript(value=ast.Name(id=sums), slice=last))):
            pass
        case ast.Call(func=ast.Name(id="int"), args=[ast.Subscript(value=ast.Name(id=sums), slice=last)]):
            pass
        case _:
            return False
    if number(last) != -1 or not _makes_memory(place, read):
        return False
    counted = {name for summed in _summed_in(place, sums) for name in names_in(summed)}
    return bool(counted) and not counted.isdisjoint(_filled_by_kernels(place))


def _makes_memory(place: Place, read: ast.expr) -> bool:
    """Whether memory is made of the size that a statement reads."""
    bound = assigned_in(place.flow.statement(read))
    makers = (call for name in sorted(_MAKES) for call in place.flow.calls_named(name))
    return any(not bound.isdisjoint(names_in(given)) for call in makers for given in given_to(call))


def _summed_in(place: Place, sums: str) -> Iterator[ast.expr]:
    """What is summed up, one element after the other, in what has a name: `sums = counts.cumsum(0)`, `torch.cumsum(counts, 0, out=sums[1:])`."""
    for call in place.flow.calls_named("cumsum"):
        of_torch = place.resolve(call.func) == "torch.cumsum"
        summed = call.args[0] if of_torch and call.args else getattr(call.func, "value", None)
        out = keyword_of(call, "out")
        root = root_of(out, ast.Subscript) if out is not None else None
        named = {root.id} if root is not None else assigned_in(place.flow.statement(call))
        if summed is not None and sums in named:
            yield summed


def _filled_by_kernels(place: Place) -> set[str]:
    """The names of what kernels are given, `kernel[grid](x, counts)` or `wp.launch(kernel, inputs=[counts])`, and of the tensors over the same memory."""
    kernels = [call for call in place.flow.calls if isinstance(call.func, ast.Subscript)]
    kernels += [call for name in _LAUNCHES for call in place.flow.calls_named(name)]
    filled = {name for call in kernels for given in given_to(call) for name in names_in(given)}
    for call in place.flow.calls_named("to_torch"):
        if names_in(call) & filled:
            filled |= assigned_in(place.flow.statement(call))
    return filled
