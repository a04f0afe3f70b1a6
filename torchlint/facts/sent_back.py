"""Data of the host that was made of what lay on the device before, and is sent there again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..torch_api.operators import operator
from . import bindings
from . import host_reads as reads
from .names import last
from .nodes import given_to, root_of
from .place import Place
from .torch_table import TOLD, TOLD_BY_CALL

_COPIES = ("cpu", "tolist", "item")
"""Methods that copy a tensor of the device to the host."""
_ADDS = frozenset(("append", "extend", "insert"))
"""Methods that put something into a list; what others do to an object nobody knows."""
_TELLS = TOLD | TOLD_BY_CALL
_COUNTS = ("numpy.", "math.", "torch.")
"""Libraries whose functions give what is calculated of their arguments, and read nothing else."""
_ARRAYS = frozenset(("ndarray", "tensor", "list", "tuple", "number", "dict", "size", "str"))
"""What has methods that give what is calculated of it, and read nothing else."""
_ON_HOST = "scipy.optimize."
"""What nothing of the device solves: an assignment of boxes to objects has to be sent back."""
_NUMBERS = frozenset(("number", "str", "none", "size", "dtype", "device", "name", "function", "module"))
_Seen = dict[ast.expr | bindings.Binding, bool | None]
"""What is known of expressions and bindings so far; None of those that are looked into."""
_MOST = 200
"""A value that is made of more expressions is not looked into."""


def is_sent_back(place: Place, data: ast.expr) -> bool:
    """Whether data is made, in the function of the place, of what that copied from the device, and of numbers and options: `rescale(masks.cpu().numpy(), 2)`.

    What other data of the host is in, `crop(image, boxes.cpu().numpy())`, has to be sent.
    """
    copies = any(True for name in _COPIES for _ in place.flow.calls_named(name))
    return copies and _comes_back(place, data, {}) is True


def _comes_back(place: Place, node: ast.expr, seen: _Seen) -> bool | None:
    """Whether an expression is made of what was copied from the device; False where there is other data in it, None of numbers and options alone."""
    if node not in seen:
        seen[node] = None
        seen[node] = _looked_into(place, node, seen) if len(seen) < _MOST else False
    return seen[node]


def _looked_into(place: Place, node: ast.expr, seen: _Seen) -> bool | None:
    """The same, worked out."""
    if isinstance(node, ast.Name):
        return _name(place, node, seen)
    if isinstance(node, ast.Call):
        return _call(place, node, seen)
    if isinstance(node, ast.Attribute):
        own = root_of(node, ast.Attribute)
        if node.attr in _TELLS or place.resolve(node) is not None or (own is not None and _is_own(place, own)):
            return None
        return _comes_back(place, node.value, seen)
    if isinstance(node, ast.Lambda):
        return False
    parts = (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr | ast.comprehension))
    return _all(place, [one.iter if isinstance(one, ast.comprehension) else one for one in parts], seen)


def _all(place: Place, parts: list[ast.expr], seen: _Seen) -> bool | None:
    """The same of what is made of several parts."""
    return _either({_comes_back(place, one, seen) for one in parts})


def _is_own(place: Place, name: ast.Name) -> bool:
    return name.id == place.function.own_name


def _call(place: Place, call: ast.Call, seen: _Seen) -> bool | None:
    """The same of what a call gives: a copy of what lies on the device, or what is calculated of its arguments."""
    func = call.func
    name = place.resolve(func)
    if name == "len":
        return None
    if name is not None and name.startswith(_ON_HOST):
        return False
    receiver = func.value if isinstance(func, ast.Attribute) and name is None else None
    if isinstance(func, ast.Attribute) and receiver is not None:
        if func.attr in _TELLS:
            return None
        if func.attr == "cpu":
            return not place.value(receiver).on_cpu
        if func.attr in _COPIES and reads.is_on_device(place, receiver):
            return True
        own = root_of(receiver, ast.Attribute)
        receiver = None if own is not None and _is_own(place, own) else receiver
        if receiver is not None and place.value(receiver).kind not in _ARRAYS and not _is_of_tensors(func.attr):
            return False  # `optimizer.solve()`
    found = _all(place, [*([receiver] if receiver is not None else []), *given_to(call)], seen)
    counts = name is not None and ("." not in name or name.startswith(_COUNTS))
    return found if counts or found is not None else False  # nobody knows what that reads


def _is_of_tensors(method: str) -> bool:
    """Whether a method is one of tensors or arrays, by its name."""
    return method in ("astype", "numpy") or operator(f"torch.Tensor.{method}") is not None


def _name(place: Place, name: ast.Name, seen: _Seen) -> bool | None:
    """The same of a name, by all that it may stand for."""
    if place.resolve(name) is not None:
        return None
    found = _ways(place, name, place.function.bindings.reach.get(name), seen)
    return found if found is not None else _all(place, list(_beside(place, name)), seen)


def _beside(place: Place, name: ast.Name) -> Iterator[ast.expr]:
    """What a function is given that fills an array and gives nothing back: `lengths` of `fill(path, lengths)`."""
    for read in place.flow.loads.get(name.id, ()):
        call = place.flow.parents.get(read)
        if isinstance(call, ast.Call) and read in call.args and isinstance(place.flow.parents.get(call), ast.Expr):
            yield from (one for one in given_to(call) if one is not read)


def _ways(place: Place, name: ast.Name, bound: bindings.Binding | None, seen: _Seen) -> bool | None:
    """The same of all ways in which a name is bound."""
    return _either({_bound(place, name, one, seen) for one in bindings.leaves([bound])})


def _either(found: set[bool | None]) -> bool | None:
    return False if False in found else True if True in found else None


def _bound(place: Place, name: ast.Name, bound: bindings.Binding | None, seen: _Seen) -> bool | None:
    """The same of one way in which a name is bound."""
    if bound is None or isinstance(bound, bindings.Before):
        value = place.value(name)
        return None if value.kind in _NUMBERS or (value.is_tensor and not value.on_cpu) else False
    if bound not in seen:
        seen[bound] = None
        seen[bound] = _held(place, name, bound, seen)
    return seen[bound]


def _held(place: Place, name: ast.Name, bound: bindings.Binding, seen: _Seen) -> bool | None:
    """The same, worked out."""
    match bound:
        case bindings.Assigned(node=made) | bindings.Iterated(node=made):
            return _comes_back(place, made, seen)
        case bindings.Augmented(node=added, before=before):
            return _either({_comes_back(place, added.value, seen), _ways(place, name, before, seen)})
        case bindings.Narrowed(before=before):
            return _ways(place, name, before, seen)
        case bindings.Stored(node=part, value=put):
            inside = _either({_all(place, _indices(part), seen), _ways(place, name, put, seen)})
            return _either({inside, _before(place, name, bound, root_of(part), seen)})
        case bindings.Changed(node=call) if last(call.func) in _ADDS:
            inside = _all(place, given_to(call), seen)
            return _either({inside, _before(place, name, bound, root_of(call.func), seen)})
    return False


def _before(place: Place, name: ast.Name, bound: bindings.Binding, root: ast.Name | None, seen: _Seen) -> bool | None:
    """The same of what a name stood for before something was put into it."""
    return _ways(place, name, bound.reach.get(root) if root is not None else None, seen)


def _indices(part: ast.expr) -> list[ast.expr]:
    """What stands in the brackets of `x[i][j:k]`."""
    found: list[ast.expr] = []
    while isinstance(part, ast.Subscript):
        found.append(part.slice)
        part = part.value
    return found
