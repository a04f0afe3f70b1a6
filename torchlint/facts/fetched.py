"""What goes to the host where a program has an accelerator, and was there all along where it has none."""

from __future__ import annotations

import ast

from ..system.regex import regex
from . import names
from .nodes import root_of

_ACCELERATOR = regex(r"(?i)gpu|cuda")


def fetched(test: ast.expr, node: ast.expr) -> str | None:
    """The name that is copied to the host behind a test of the device: x of `if cfg.NUM_GPUS: x.detach().cpu()`; None otherwise."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "cpu":
        return None
    root = source(node.func.value)
    return root if root is not None and _asks_for_accelerator(test) else None


def source(node: ast.expr) -> str | None:
    """The name that something is of, through methods: x of `x.detach()`."""
    root = root_of(node, ast.Call, ast.Attribute)
    return root.id if root is not None else None


def _asks_for_accelerator(test: ast.expr) -> bool:
    """`cfg.NUM_GPUS > 0`, `torch.cuda.is_available()`, `x.is_cuda`"""
    asked = test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Gt) and ast.unparse(test.comparators[0]) == "0":
        asked = test.left
    parts = names.chain(asked.func if isinstance(asked, ast.Call) else asked) or ()
    return any(_ACCELERATOR.search(part) for part in parts)
