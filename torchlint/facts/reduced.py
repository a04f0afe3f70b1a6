"""Copies to the host that are reduced there, as the device could do in front of the copy."""

from __future__ import annotations

import ast

from . import syntax, uses
from .module import Function
from .place import Place

_REDUCES = frozenset("sum mean argmax argmin max min amax amin any all std var median".split())
_SAME = frozenset("numpy detach float double long int half flatten reshape view squeeze ravel astype".split())
"""Methods of a copy that leave it as large as it is."""
_REDUCED_BY = frozenset(f"{library}.{name}" for library in ("numpy", "torch") for name in (*_REDUCES, "bincount"))
_USES = 16
"""Of a name that is read more often, nobody is asked what each of its readers is."""
_STEPS = 4
"""How many names and functions are looked through."""


def is_reduced(place: Place, copy: ast.expr) -> bool:
    """Whether all that is done with a copy reduces it: `predicted.eq(y).cpu().sum()`, `correct += accuracy(logits.cpu().numpy(), labels)`."""
    return _reduces(place, copy, _STEPS)


def _reduces(place: Place, whole: ast.expr, steps: int) -> bool:
    """Whether the first that is done with something reduces it; where it has a name, or is handed on, all that read that."""
    for child, parent in place.flow.upwards(whole):
        match parent:
            case ast.Attribute():
                is_method = syntax.called(place.flow, parent) is not None
                if not is_method or parent.attr not in _SAME:
                    return is_method and parent.attr in _REDUCES
            case ast.Assign(targets=[ast.Name(name)]):
                return bool(steps) and _all(place, list(uses.readers(place.function, name, parent.value)), steps - 1)
            case ast.Call(func=method) if method is child:
                continue
            case ast.Call(func=function, args=[first, *_]) if first is child and place.resolve(function) in _REDUCED_BY:
                return True
            case ast.Call():
                return bool(steps) and _is_reduced_by(place, parent, child, steps - 1)
            case ast.Compare() | ast.BinOp():
                continue
            case ast.Subscript(value=held, slice=ast.Name()) if held is child:
                continue
            case _:
                return False
    return False


def _all(place: Place, reads: list[ast.Name], steps: int) -> bool:
    return 0 < len(reads) <= _USES and all(_reduces(place, read, steps) for read in reads)


def _is_reduced_by(place: Place, call: ast.Call, given: ast.AST, steps: int) -> bool:
    """Whether the project's function that a call runs reduces what it is given there."""
    if given not in call.args or any(isinstance(one, ast.Starred) for one in call.args):
        return False
    functions = place.may_run(call)
    return bool(functions) and all(
        _reduces_parameter(place, function, call.args.index(given) + function.is_method, steps)
        for function in functions
    )


def _reduces_parameter(place: Place, function: Function, at: int, steps: int) -> bool:
    if at >= len(function.parameters):
        return False
    name = function.parameters[at].arg
    reads = function.flow.loads.get(name, [])
    return name not in function.flow.stores and bool(reads) and _all(place.at(function, reads[0]), reads, steps)
