"""What a program fetches to the host where there is an accelerator."""

from __future__ import annotations

import ast

from . import names
from .common_names import ACCELERATORS_NAME
from .evaluator import Evaluator
from .values import UNKNOWN, Value, join, replace


def joined(values: Evaluator, test: ast.expr | None, one: Value, other: Value) -> Value:
    """What holds on both of two paths that a condition parts, of which the first is the one where it holds.

    After `if args.cuda: x = x.cpu()` a tensor is on the host: where the condition does not hold, it was there all along.
    """
    both = one.kind == "tensor" and other.kind == "tensor"
    if both and one.device == "cpu" != other.device and test is not None and _asks_for_accelerator(values, test):
        other = replace(other, device="cpu")
    return join(one, other)


def _asks_for_accelerator(values: Evaluator, test: ast.expr) -> bool:
    """`args.cuda`, `cfg.NUM_GPUS`, `torch.cuda.is_available()`"""
    if isinstance(test, ast.Name | ast.Attribute):
        return ACCELERATORS_NAME.search(names.last(test)) is not None
    value = values.expr(test) if isinstance(test, ast.Call) else UNKNOWN
    return value.kind == "number" and value.needs_accelerator
