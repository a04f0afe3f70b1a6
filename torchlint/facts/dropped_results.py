"""Whether anybody uses one of several things that a function gives: `out, _ = self.attend(x)` of `return out, weights`."""

from __future__ import annotations

import ast
import itertools

from .place import Place
from .uses import is_shared, readers

_CALLERS = 20
_DEPTH = 3
"""Through how many functions a result is given on."""


def is_unused(place: Place, read: ast.AST, depth: int = _DEPTH) -> bool:
    """Whether a read of a value is only there to give it, or what is made of it, to callers that all leave it out.

    So is one behind an option that nobody gives: `if return_attention: return x, weights`.
    """
    child: ast.AST = read
    for parent in place.flow.ancestors(read):
        match parent:
            case ast.Attribute() | ast.Subscript() if child is parent.value:
                pass
            case ast.Call() if child is parent.func:
                pass
            case ast.Assign(targets=[ast.Name(id=name)]):
                return _is_unread(place, name, parent.value, depth)
            case ast.Tuple() if isinstance(place.flow.parents.get(parent), ast.Return):
                at = next(at for at, part in enumerate(parent.elts) if part is child)
                return _is_left_out(place, at, depth) or place.at(place.function, read).rare
            case ast.Return():
                return place.at(place.function, read).rare
            case _:
                return False
        child = parent
    return False


def _is_unread(place: Place, name: str, value: ast.expr, depth: int) -> bool:
    """Whether all reads that may find what a name is given are of that kind."""
    if is_shared(place.function, name):
        return False
    return all(is_unused(place, one, depth) for one in readers(place.function, name, value))


def _is_left_out(place: Place, at: int, depth: int) -> bool:
    """Whether all calls of the place's function that are known leave out that part of what it gives."""
    calls = list(itertools.islice(place.analysis.context.calls(place.function), _CALLERS + 1)) if depth else []
    return 0 < len(calls) <= _CALLERS and all(
        one.given is None and _leaves_out(place.at(one.function, one.call), one.call, at, depth - 1) for one in calls
    )


def _leaves_out(place: Place, call: ast.Call, at: int, depth: int) -> bool:
    """`out, _ = attend(x)`, `attend(x)[0]`"""
    match place.flow.parents.get(call):
        case ast.Subscript(slice=ast.Constant(value=int(index))):
            return 0 <= index != at
        case ast.Assign(targets=[ast.Tuple(elts=parts)]) if at < len(parts):
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            return len(names) == len(parts) and _is_unread(place, names[at], call, depth)
    return False
