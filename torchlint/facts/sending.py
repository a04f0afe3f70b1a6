"""Calls that send what they are given to the device, and what is on the host until then."""

from __future__ import annotations

import ast

from ..system.regex import regex
from . import names
from .flow import Flow
from .nodes import root_of
from .syntax import called

SENDS = regex(
    r"^(?:move|send|copy|recursive|dict|batch|data)(?:_\w+)?_to(?:_(?:device|cuda|gpu))?$|^to_(?:device|cuda|gpu)$"
)
"""What functions are called that send what they are given: `move_to(batch, device)`."""


def sent_later(flow: Flow, node: ast.expr) -> bool:
    """Whether a part of something is looked at that the function sends to the device only afterwards.

    `batch["done"].nonzero()` in front of `return to_device(batch, device)`.
    """
    root = root_of(node, ast.Call, ast.Attribute, ast.Subscript)
    name = root.id if root is not None else ""
    loads = flow.loads.get(name, ())
    end = node.end_lineno or node.lineno
    around = flow.loops(node)
    known: dict[str, list[ast.Name]] = flow.__dict__.setdefault("sent", {})
    if name not in known:
        known[name] = [load for load in loads if _is_sent(flow, load)]
    return any(load.lineno > end and flow.loops(load) == around for load in known[name])


def _is_sent(flow: Flow, load: ast.Name) -> bool:
    """`to_device(x, device)`, `to_device(to_float(x))`, `x.cuda()`."""
    for child, parent in flow.upwards(load):
        if isinstance(parent, ast.Call) and child in parent.args and SENDS.search(names.last(parent.func)):
            return True
        if isinstance(parent, ast.Attribute) and parent.attr == "cuda" and child is load:
            return called(flow, parent) is not None  # `torch.cuda.amp` is a module
        if not isinstance(parent, ast.Call):
            return False
    return False
