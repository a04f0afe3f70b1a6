"""Functions that libraries are handed by a name, and call for each batch or step: `Trainer(preprocess_logits_for_metrics=argmax)`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .module import Function
from .nodes import keyword_of
from .values import LIKELY, Dict, Value, tensor

_TENSOR = tensor("accelerator", certainty=LIKELY)
GIVEN: Mapping[str, Mapping[int, Value]] = {
    "preprocess_logits_for_metrics": {0: _TENSOR, 1: _TENSOR},  # by transformers.Trainer
    "callback_on_step_end": {3: Dict(LIKELY, element=_TENSOR)},  # by the pipelines of diffusers
}
"""What such a function is given, by place, for each name."""


def keyword(function: Function) -> str | None:
    """The name by which a function is handed to a library in its file: `callback_on_step_end` of `pipe(prompt, callback_on_step_end=watch)`."""
    return next((name for name in GIVEN if _is_handed(function, name)), None)


def _is_handed(function: Function, name: str) -> bool:
    module = function.module
    return module.source.holds(name.encode()) and any(
        isinstance(given := keyword_of(call, name), ast.Name) and given.id == function.name
        for place in module.functions_at(module.lines_holding(name))
        for call in place.flow.calls
    )
