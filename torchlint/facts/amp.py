"""The names of mixed precision before and after torch 2.4."""

from __future__ import annotations

import ast

from . import names
from .flow import Flow

_NAMES = ("autocast", "GradScaler", "custom_fwd", "custom_bwd")
OLD = frozenset((*(f"torch.cuda.amp.{name}" for name in _NAMES), "torch.cpu.amp.autocast", "torch.cpu.amp.GradScaler"))
MEMBERS = {
    "torch.cuda.amp": frozenset(_NAMES),
    "torch.cuda.amp.autocast_mode": frozenset(("autocast", "custom_fwd", "custom_bwd")),
    "torch.cuda.amp.grad_scaler": frozenset(("GradScaler",)),
    "torch.cpu.amp": frozenset(("autocast", "GradScaler")),
}
"""What the old modules define that `torch.amp` has too."""
AUTOCAST_ORDER = ("enabled", "dtype", "cache_enabled")
"""The positional arguments of the old `autocast`; the new one has them as `(device_type, dtype, enabled, cache_enabled)`."""
DECORATORS = frozenset(("custom_fwd", "custom_bwd"))


def given(call: ast.Call) -> frozenset[str]:
    """The arguments that a call of the old `autocast` names or gives by position."""
    return frozenset((*AUTOCAST_ORDER[: len(call.args)], *(k.arg for k in call.keywords if k.arg is not None)))


def split(name: str) -> tuple[str, str]:
    """The device and the member of an old name: `torch.cuda.amp.autocast` is ("cuda", "autocast")."""
    parts = name.split(".")
    return parts[1], parts[-1]


def form(old: tuple[str, str]) -> str:
    """How the member is written now."""
    device, member = old
    given = f'device_type="{device}"' if member in DECORATORS else f'"{device}", ...'
    return f"torch.amp.{member}({given})"


def use_of(flow: Flow, node: ast.expr) -> ast.expr | None:
    """The call of an old name, or the decorator that it is; None where it is only mentioned (annotation, isinstance)."""
    parent = flow.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return parent
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and node in parent.decorator_list:
        return node
    return None


def called_later(flow: Flow, node: ast.expr) -> bool:
    """Whether an old name is kept under another one that the function calls: `context = torch.cuda.amp.autocast`.

    `partial(torch.cuda.amp.autocast, dtype=...)` is made to be called.
    """
    parent = flow.parents.get(node)
    if isinstance(parent, ast.Call) and parent.args[:1] == [node]:
        return names.last(parent.func) == "partial"
    while isinstance(parent, ast.IfExp) and node is not parent.test:
        node, parent = parent, flow.parents.get(parent)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return False
    kept = parent.targets[0].id
    return any(isinstance(call.func, ast.Name) for call in flow.calls_named(kept))
