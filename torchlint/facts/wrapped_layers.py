"""Modules that are one layer of torch.nn under another name: what their `forward` gives is what that layer gives."""

from __future__ import annotations

import ast
from typing import Protocol

from . import syntax
from .layers import BIAS
from .module import Class, Function
from .nodes import argument_of, is_constant, spreads


class Code(Protocol):
    """What is asked of the project."""

    def resolve(self, function: Function, node: ast.expr) -> str | None: ...
    def method(self, klass: Class, name: str) -> Function | None: ...
    def attribute_stores(self, klass: Class, name: str) -> list[tuple[Function, ast.Attribute]]: ...


def adds_bias(code: Code, klass: Class, made: ast.Call) -> bool:
    """Whether the convolution that an object of a class is has a bias by default, which the call that makes the object leaves in.

    `ConvNorm(80, 512, kernel_size=5)` of `def __init__(self, i, o, kernel_size=1, bias=True)`.
    """
    found = _convolution(code, klass)
    if found is None or spreads(made):
        return False
    init, layer = found
    given = argument_of(layer, "bias", BIAS[code.resolve(init, layer.func) or ""])
    if not isinstance(given, ast.Name) or given.id not in init.positions or given.id in init.flow.stores:
        return False
    said = init.argument(made, given.id) or init.defaults.get(given.id)
    return said is not None and is_constant(said, True)


def _convolution(code: Code, klass: Class) -> tuple[Function, ast.Call] | None:
    """The call that makes the one convolution whose output the `forward` of a class gives, and the constructor it stands in."""
    forward = code.method(klass, "forward")
    if forward is None:
        return None
    names = {_run(forward, node.value) for node in forward.flow.nodes if isinstance(node, ast.Return)}
    name = names.pop() if len(names) == 1 else None
    stores = code.attribute_stores(klass, name) if name is not None else []
    if len(stores) != 1 or stores[0][0].name != "__init__":
        return None
    init, target = stores[0]
    layer = syntax.given_to_target(init.flow, target)
    if not isinstance(layer, ast.Call) or spreads(layer):
        return None
    made = code.resolve(init, layer.func) or ""
    # The features of a linear layer stand in another call than those of its norm.
    return (init, layer) if made in BIAS and made != "torch.nn.Linear" else None


def _run(forward: Function, value: ast.expr | None) -> str | None:
    """The attribute that a value is the output of: `self.conv(x)`, or a name of that."""
    if isinstance(value, ast.Name):
        named = forward.flow.assignment(value.id)
        value = named.value if named is not None else None
    return syntax.own_attribute(forward, value.func) if isinstance(value, ast.Call) else None
