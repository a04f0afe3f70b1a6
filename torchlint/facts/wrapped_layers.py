"""Modules that are one layer of torch.nn under another name: what their `forward` gives is what that layer gives."""

from __future__ import annotations

import ast
from typing import Protocol

from ..system.regex import regex
from . import names, syntax
from .layers import BIAS
from .module import Class, Function
from .nodes import argument_of, given_to, is_constant, spreads

Found = tuple[Function, ast.Call, str]
"""A constructor, the call in it that says whether there is a bias, and the layer of torch that gets it."""
_LINEAR = "torch.nn.Linear"


class Code(Protocol):
    """What is asked of the project."""

    def resolve(self, function: Function, node: ast.expr) -> str | None: ...
    def method(self, klass: Class, name: str) -> Function | None: ...
    def attribute_stores(self, klass: Class, name: str) -> list[tuple[Function, ast.Attribute]]: ...
    def base_name(self, klass: Class, base: ast.expr) -> str | None: ...


_CONVOLVES = regex(r"^_?conv(?:_transpose)?(?:[123]d)?(?:_forward)?$")
"""What a convolution's own `forward` ends in: `F.conv2d(x, weight, self.bias)`, `self._conv_forward(x, weight, self.bias)`."""


def adds_bias(code: Code, klass: Class, made: ast.Call) -> bool:
    """Whether the convolution that an object of a class is has a bias by default, which the call that makes the object leaves in.

    `ConvNorm(80, 512, kernel_size=5)` of `def __init__(self, i, o, kernel_size=1, bias=True)`.
    """
    found = _convolution(code, klass) or _heir(code, klass)
    if found is None or spreads(made):
        return False
    init, layer, kind = found
    given = argument_of(layer, "bias", BIAS[kind])
    if not isinstance(given, ast.Name) or given.id not in init.positions or given.id in init.flow.stores:
        return False
    said = init.argument(made, given.id) or init.defaults.get(given.id)
    return said is not None and is_constant(said, True)


def _heir(code: Code, klass: Class) -> Found | None:
    """The call of the constructor of the convolution that a class is by inheritance, where its `forward` gives what that does."""
    init = klass.methods.get("__init__")
    kind = (code.base_name(klass, klass.bases[0]) or "") if len(klass.bases) == 1 and init is not None else ""
    if init is None or kind not in BIAS or kind == _LINEAR or not _convolves(klass):
        return None
    calls = [call for call in init.flow.calls_named("__init__") if _of_super(call)]
    return (init, calls[0], kind) if len(calls) == 1 and not spreads(calls[0]) else None


def _convolves(klass: Class) -> bool:
    """Whether what a convolution's heir gives is a convolution with its own bias: `super().forward(pad(x))`, `F.conv2d(x, w, self.bias)`."""
    forward = klass.methods.get("forward")
    given = [node.value for node in forward.flow.returns] if forward is not None else []
    return all(isinstance(one, ast.Call) and _is_convolution(one) for one in given)


def _is_convolution(call: ast.Call) -> bool:
    if names.last(call.func) == "forward":
        return _of_super(call)
    own_bias = any(names.last(one) == "bias" for one in given_to(call))
    return own_bias and _CONVOLVES.search(names.last(call.func)) is not None


def _of_super(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and syntax.is_super(call.func.value)


def _convolution(code: Code, klass: Class) -> Found | None:
    """The call that makes the one convolution whose output the `forward` of a class gives, and the constructor it stands in."""
    forward = code.method(klass, "forward")
    if forward is None:
        return None
    names = {_run(forward, node.value) for node in forward.flow.returns}
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
    return (init, layer, made) if made in BIAS and made != _LINEAR else None


def _run(forward: Function, value: ast.expr | None) -> str | None:
    """The attribute that a value is the output of: `self.conv(x)`, or a name of that."""
    if isinstance(value, ast.Name):
        named = forward.flow.assignment(value.id)
        value = named.value if named is not None else None
    return syntax.own_attribute(forward, value.func) if isinstance(value, ast.Call) else None
