"""What frameworks give to the hooks that they call: the outputs of a step to `on_train_batch_end`, the loss to `on_before_backward`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ..facts.module import Class, Function
from ..facts.values import LIKELY, UNKNOWN, Batch, Dict, Value, tensor

_LOSS = tensor("accelerator", certainty=LIKELY, scalar=True)
_BATCH = Batch(LIKELY, device="accelerator", managed=True)
_STEP_OUTPUT = Dict(LIKELY, entries={"loss": _LOSS})
"""Lightning's `STEP_OUTPUT` of a training step: its loss, and what else the step gives."""
_LOSSES = Dict(LIKELY, element=_LOSS)


class _Framework(NamedTuple):
    """A framework, by a text of the files that use it and a part of the name of a base class, and what its hooks are given, by place behind `self`."""

    text: bytes
    base: str
    hooks: Mapping[str, Mapping[int, Value]]


_FRAMEWORKS = (
    _Framework(
        b"lightning",
        "Callback",
        {
            "on_train_batch_start": {3: _BATCH},
            "on_train_batch_end": {3: _STEP_OUTPUT, 4: _BATCH},
            "on_validation_batch_start": {3: _BATCH},
            "on_validation_batch_end": {4: _BATCH},
            "on_test_batch_start": {3: _BATCH},
            "on_test_batch_end": {4: _BATCH},
            "on_predict_batch_start": {3: _BATCH},
            "on_predict_batch_end": {4: _BATCH},
            "on_before_backward": {3: _LOSS},
        },
    ),
    _Framework(
        b"lightning",
        "LightningModule",
        {
            "on_train_batch_start": {1: _BATCH},
            "on_train_batch_end": {1: _STEP_OUTPUT, 2: _BATCH},
            "on_validation_batch_start": {1: _BATCH},
            "on_validation_batch_end": {2: _BATCH},
            "on_test_batch_start": {1: _BATCH},
            "on_test_batch_end": {2: _BATCH},
            "on_before_backward": {1: _LOSS},
        },
    ),
    _Framework(b"mmengine", "Hook", {"after_train_iter": {4: _LOSSES}}),
    _Framework(b"transformers", "Trainer", {"compute_loss": {2: _BATCH}}),  # `prediction_step` moves its own
)
"""Sources: the hooks of lightning.pytorch.callbacks.Callback and lightning.pytorch.core.hooks.ModelHooks; mmengine.hooks.Hook; transformers.Trainer."""


class Code(Protocol):
    """What is asked of the project."""

    def base_words(self, klass: Class) -> list[str]: ...


def given(code: Code, function: Function, name: str) -> Value:
    """What a framework gives a method of one of its callbacks, hooks or modules for a parameter."""
    klass, at = function.cls, function.positions.get(name, 0)
    if klass is None or not at:
        return UNKNOWN
    for one in _FRAMEWORKS:
        value = one.hooks.get(function.name, {}).get(at)
        is_used = value is not None and klass.module.source.holds(one.text)
        if value is not None and is_used and any(word.endswith(one.base) for word in code.base_words(klass)):
            return value
    return UNKNOWN
