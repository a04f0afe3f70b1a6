"""Normalisation layers: those of torch, and classes of the project that are one."""

from __future__ import annotations

import ast

from . import layers, names
from .module import Class, Function
from .place import Place
from .values import Value

_ABSTRACT = frozenset(("torch.nn.modules.batchnorm._BatchNorm", "torch.nn.modules.instancenorm._InstanceNorm"))
"""The classes of which torch makes its norms, and projects those of their own."""
_FUNCTIONS = frozenset(("torch.nn.functional.batch_norm", "torch.nn.functional.instance_norm", "torch.batch_norm"))


def is_norm(place: Place, value: Value) -> bool:
    """Whether a value is a norm, or its class."""
    if not value.proven or value.other_kinds:
        return False
    if value.kind == "name" and value.choices:
        return all(is_norm(place, one) for one in value.choices)
    return value.class_name in layers.NORMS or (value.class_ is not None and _is_own_norm(place, value.class_))


def _is_own_norm(place: Place, klass: Class) -> bool:
    """Whether a class of the project is a norm of torch's that does what that does, and what it likes with the result."""
    key = ("own norm", klass)
    return place.once(key, lambda: _inherits_norm(place, klass))


def _inherits_norm(place: Place, klass: Class) -> bool:
    inherited = [place.project.base_name(one, base) for one in place.project.ancestry(klass) for base in one.bases]
    if layers.NORMS.isdisjoint(inherited) and _ABSTRACT.isdisjoint(inherited):
        return False
    own = [one.methods["forward"] for one in place.project.ancestry(klass) if "forward" in one.methods]
    return all(map(_begins_with_norm, own))


def _begins_with_norm(forward: Function) -> bool:
    """`x = super().forward(x)` in front of all else but calls that check the input, or `return` of it; `F.batch_norm(x, ...)` as well."""
    first = next((one for one in forward.telling if not isinstance(one, ast.Expr)), None)
    made = first.value if isinstance(first, ast.Assign | ast.Return) else None
    if not isinstance(made, ast.Call):
        return False
    given = [one.id for one in made.args if isinstance(one, ast.Name)][:1]
    if given != [one.arg for one in forward.parameters[1:2]]:
        return False
    return names.resolve(forward, made.func) in _FUNCTIONS or _is_of_parent(made.func)


def _is_of_parent(func: ast.expr) -> bool:
    """`super().forward`."""
    owner = func.value if isinstance(func, ast.Attribute) and func.attr == "forward" else None
    return isinstance(owner, ast.Call) and names.last(owner.func) == "super"
