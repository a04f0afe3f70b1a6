"""Copies of tensors that one call could make: a clone beside a cast or a move."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .flow import Flow

DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
}
"""The dtype that each casting method gives."""

_PLAIN = frozenset(("dtype", "device", "other", "non_blocking"))


FRESH = frozenset(
    (
        "cat",
        "stack",
        "matmul",
        "bmm",
        "where",
        "exp",
        "log",
        "sqrt",
        "sigmoid",
        "tanh",
        "softmax",
        "log_softmax",
        "cumsum",
        "repeat",
    )
)
"""Operations that write a tensor of their own in every case, as functions of torch and as methods."""


@dataclass(frozen=True)
class Doubled:
    """`x.clone().float()` or `x.cpu().clone()`: two calls for what one does."""

    whole: ast.Call
    """Both calls."""
    tensor: ast.expr
    """What they are called on."""
    cast: ast.Call
    """The cast or the move."""


def doubled(flow: Flow, clone: ast.Call) -> Doubled | None:
    """The cast or move that directly follows a `.clone()`, or else that it directly follows."""
    func = clone.func
    if not isinstance(func, ast.Attribute) or clone.args or clone.keywords:
        return None
    parent = flow.parents.get(clone)
    after = flow.parents.get(parent) if isinstance(parent, ast.Attribute) else None
    if isinstance(after, ast.Call) and after.func is parent and casts(after):
        return Doubled(after, func.value, after)
    before = func.value
    if isinstance(before, ast.Call) and isinstance(before.func, ast.Attribute) and casts(before):
        return Doubled(clone, before.func.value, before)
    return None


def fresh(node: ast.expr) -> bool:
    """Whether an expression of tensors makes a tensor that nothing else refers to: arithmetic, `torch.cat(...)`, `x.exp()`."""
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, ast.Mod)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FRESH


def casts(call: ast.Call) -> bool:
    """Whether a method call casts or moves a tensor in a way that `.to(..., copy=True)` can do."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return False
    if func.attr in DTYPES or func.attr in ("cpu", "cuda"):
        return not call.args and not call.keywords
    plain = all(keyword.arg in _PLAIN for keyword in call.keywords)
    spread = any(isinstance(argument, ast.Starred) for argument in call.args)
    return func.attr == "to" and bool(call.args or call.keywords) and len(call.args) < 3 and plain and not spread
