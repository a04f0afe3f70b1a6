"""Functions that compute losses, by their names or those of their classes."""

from __future__ import annotations

from ..system.regex import regex
from .module import Function

_FUNCTION = regex(
    r"^(?!_*(?:get|build|make|create|load|save|set|log|print|show|plot|draw|report|register|parse|update|check|test|init|add)_)"
    r"(?:\w*_)?(?:loss|losses|criterion)$|^(?:compute_|calc_|calculate_)?loss(?:_|$)"
)
"""`focal_loss`, `compute_loss`, `loss_fn`"""
_CLASS = regex(r"Loss(?:es)?(?:[A-Z]\w*)?$|Criterion$")
"""`ComputeLoss`, `SetCriterion`"""
_OF_LOSS = regex(
    r"Loss\w*(?:Collat|Meter|Track|Log|History|Callback|Scal|Record|Monitor|Plot|Schedul|Config|Regist|Factory|Build|Dataset|Sampl|Hook)"
)
"""`LossMeter`, `LossGeneratingTokensCollator`: what has to do with losses and computes none."""


def is_named_as_loss(function: Function) -> bool:
    """Whether a function of a file computes a loss, `def focal_loss`, or is what calls of an object run, `class ComputeLoss`."""
    if function.cls is not None:
        name = function.cls.name
        return function.name == "__call__" and _CLASS.search(name) is not None and _OF_LOSS.search(name) is None
    return function.parent is function.module.body and _FUNCTION.search(function.name) is not None
