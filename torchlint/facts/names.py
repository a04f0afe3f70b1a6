"""Dotted names: what an expression is called where it was defined."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from .nodes import string

if TYPE_CHECKING:
    from .module import Function

BUILTINS = frozenset(dir(builtins))

# Modules of torch under a second name, and members that moved; the rules know the first.
ALIASES = {
    "torch.nn.parallel.data_parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel.data_parallel": "torch.nn.parallel.data_parallel",
    "torch.nn.parallel.distributed.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torch.utils.data.dataset.Dataset": "torch.utils.data.Dataset",
    "torch.nn.modules.Module": "torch.nn.Module",
    "torch.nn.modules.module.Module": "torch.nn.Module",
    "torch.nn.modules.activation.MultiheadAttention": "torch.nn.MultiheadAttention",
    "torch.cuda.amp.autocast_mode.autocast": "torch.cuda.amp.autocast",
    "torch.cuda.amp.grad_scaler.GradScaler": "torch.cuda.amp.GradScaler",
    "torch.amp.autocast_mode.autocast": "torch.amp.autocast",
    "torch.amp.grad_scaler.GradScaler": "torch.amp.GradScaler",
    "torch.autograd.grad_mode.no_grad": "torch.no_grad",
    "torch.autograd.no_grad": "torch.no_grad",
    "torch.nn.utils.clip_grad.clip_grad_norm_": "torch.nn.utils.clip_grad_norm_",
    "torch.nn.functional": "torch.nn.functional",
}


_DEFINING = ("torch.nn.modules.", "torch.optim.", "torch.utils.data.")
"""Packages of torch that give out what their modules define: `torch.nn.modules.loss.MSELoss` is `torch.nn.MSELoss`."""


def public(name: str) -> str:
    """The name that a member of torch is documented under."""
    known = ALIASES.get(name)
    if known is not None or not name.startswith(_DEFINING):
        return known or name
    package = next(package for package in _DEFINING if name.startswith(package))
    module, _, member = name[len(package) :].rpartition(".")
    if "." in module or not member[:1].isupper() or module in ("lr_scheduler", "swa_utils", "distributed", "datapipes"):
        return name
    if package != "torch.nn.modules." and not module:
        return name
    return f"{package.removesuffix('modules.')}{member}"


def chain(node: ast.expr) -> list[str] | None:
    """`a.b.c` as ["a", "b", "c"]; None for anything else."""
    if node.__class__ is ast.Name:
        return [node.id]
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
        return parts[::-1]
    return None


def last(node: ast.expr) -> str:
    """The last part of a dotted name; "" for other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def says_host(node: ast.expr) -> bool:
    """Whether a device is called the host: `cpu_device`, `self.host`."""
    named = last(node).lower()
    return "cpu" in named or "host" in named


def word(node: ast.expr) -> str:
    """What something is called where it is kept: `step` of `step`, `self.step` and `group["step"]`; "" for other expressions."""
    key = string(node.slice) if isinstance(node, ast.Subscript) else None
    return key if key is not None else last(node)


_TYPE_TESTS = frozenset(("isinstance", "is_tensor"))
_OF_TENSORS = frozenset(("item", "cpu", "cuda", "detach", "numpy", "tolist", "backward", "is_cuda", "requires_grad"))
"""What each tensor has."""


def type_tested(test: ast.expr) -> ast.expr | None:
    """`x` of `isinstance(x, Tensor)` and `torch.is_tensor(x)`; None for other conditions."""
    asks = isinstance(test, ast.Call) and test.args and last(test.func) in _TYPE_TESTS
    return test.args[0] if isinstance(test, ast.Call) and asks else None


def type_compared(test: ast.expr, true: bool) -> ast.expr:
    """`isinstance(x, T)` for `type(x) == T` and `type(x) is T` where that is true, or the opposite is false; other conditions as they are.

    Where they differ, x may still be of a class below T.
    """
    match test:
        case ast.Compare(
            left=ast.Call(func=ast.Name("type"), args=[asked], keywords=[]),
            ops=[ast.Eq() | ast.Is() | ast.NotEq() | ast.IsNot() as op],
            comparators=[ast.Name() | ast.Attribute() as kind],
        ) if isinstance(op, ast.Eq | ast.Is) is true:
            asks = ast.copy_location(ast.Name("isinstance", ast.Load()), test)
            return ast.copy_location(ast.Call(asks, [asked, kind], []), test)
    return test


def asked_for_method(test: ast.expr) -> ast.expr | None:
    """`x` of `hasattr(x, "item")`, which holds for each tensor, and for other things; None for other conditions."""
    match test:
        case ast.Call(func=ast.Name("hasattr"), args=[asked, ast.Constant(str(name))]) if name in _OF_TENSORS:
            return asked
    return None


def imported(function: Function, name: str, place: ast.expr | None = None) -> str | None:
    """The dotted name that an import binds to `name` where `function` stands, or at a place of it."""
    if name not in function.module.import_names:
        return None
    scope: Function | None = function
    while scope is not None and name not in scope.imports:
        scope = scope.parent
    if scope is None:
        return None
    inner = function
    while inner is not scope:
        # A local binding or parameter of that name hides an import of the module.
        if inner.binds(name):
            return None
        assert inner.parent is not None
        inner = inner.parent
    if name in scope.rebound:
        from .scope import is_rebound

        if is_rebound(scope, name, function, place):
            return None
    return scope.imports[name]


def resolve(function: Function, node: ast.expr) -> str | None:
    """The dotted name of an expression that starts at an import or a builtin, or None.

    `nn.Linear` after `import torch.nn as nn` is `torch.nn.Linear`; `print` is `print`; a method of an object is None.
    """
    parts = chain(node)
    if parts is None:
        return None
    root = imported(function, parts[0], node)
    if root is None:
        if len(parts) == 1 and parts[0] in BUILTINS and not shadowed(function, parts[0]):
            return parts[0]
        if function.module.stars and len(parts) == 1:
            return _starred(function, parts[0])
        return None
    return public(".".join([root, *parts[1:]]))


def shadowed(function: Function, name: str) -> bool:
    """Whether the function, one around it or the module binds the name: it is no builtin, nor of a star import."""
    scope: Function | None = function
    while scope is not None:
        if scope.binds(name):
            return True
        scope = scope.parent
    return False


# What people mean by a star import of torch's modules, for the names that rules ask about.
_STARRED = {
    "torch.nn": frozenset(
        "Module Linear Conv1d Conv2d Conv3d BatchNorm1d BatchNorm2d BatchNorm3d Sequential DataParallel MultiheadAttention".split()
    ),
    "torch.utils.data": frozenset(("DataLoader", "Dataset")),
    "torch.cuda.amp": frozenset(("autocast", "GradScaler")),
    "torch": frozenset(("no_grad", "compile", "inference_mode")),
}


def _starred(function: Function, name: str) -> str | None:
    for origin in function.module.stars:
        if name in _STARRED.get(origin, ()):
            return f"{origin}.{name}"
    return None
