"""What frameworks give to the hooks that they call: the outputs of a step to `on_train_batch_end`, the loss to `on_before_backward`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ..facts import handed_functions
from ..facts.module import Class, Function
from ..facts.torch_table import GENERATING_MODELS
from ..facts.values import LIKELY, UNKNOWN, Batch, Dict, Value, tensor

_LOSS = tensor("accelerator", certainty=LIKELY, scalar=True)
_BATCH = Batch(LIKELY, device="accelerator", managed=True)
_STEP_OUTPUT = Dict(LIKELY, entries={"loss": _LOSS})
"""Lightning's `STEP_OUTPUT` of a training step: its loss, and what else the step gives."""
_LOSSES = Dict(LIKELY, element=_LOSS)
_TENSOR = tensor("accelerator", certainty=LIKELY)
_ON_TOKENS: Mapping[str, Mapping[int | str, Value]] = {
    "prepare_inputs_for_generation": {1: _TENSOR, "attention_mask": _TENSOR},
    "_reorder_cache": {"beam_idx": _TENSOR},
}
"""What `generate` gives to methods of models."""


class _Framework(NamedTuple):
    """A framework, by a text of the files that use it and a part of the name of a base class, and what its hooks are given, by place behind `self` or by name."""

    text: bytes
    base: str
    hooks: Mapping[str, Mapping[int | str, Value]]


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
    _Framework(b"trl", "Trainer", {"dpo_loss": dict.fromkeys(range(1, 5), _TENSOR)}),
    *(_Framework(b"transformers", base, _ON_TOKENS) for base in GENERATING_MODELS),
    _Framework(b"speechbrain", "Brain", {"on_fit_batch_end": {3: _LOSS}}),
    _Framework(b"catalyst", "Runner", {"handle_batch": {1: _BATCH}, "_handle_batch": {1: _BATCH}}),
    _Framework(b"composer", "ComposerModel", {"loss": {2: _BATCH}, "eval_forward": {1: _BATCH}}),
    _Framework(b"skorch", "NeuralNet", {"get_loss": {1: _TENSOR}}),
    _Framework(
        b"pytorch_metric_learning", "MetricLossFunction", {"compute_loss": dict.fromkeys((1, 2, 4, 5), _TENSOR)}
    ),
    _Framework(b"kornia", "AugmentationBase2D", {"apply_transform": {1: _TENSOR}}),
    _Framework(b"monai", "Metric", {"_compute_tensor": {1: _TENSOR, 2: _TENSOR}}),
    _Framework(b"diffusers", "SchedulerMixin", {"step": {1: _TENSOR, 3: _TENSOR}}),
    _Framework(b"rllib", "Policy", {"loss": {3: _BATCH}}),
)
"""Sources: the hooks of lightning.pytorch.callbacks.Callback and lightning.pytorch.core.hooks.ModelHooks; mmengine.hooks.Hook; transformers.Trainer
and GenerationMixin; trl.DPOTrainer; speechbrain.core.Brain; catalyst.dl.Runner; composer.models.ComposerModel; skorch.NeuralNet;
pytorch_metric_learning.losses.BaseMetricLossFunction; kornia.augmentation; monai.metrics.CumulativeIterationMetric; diffusers.SchedulerMixin; ray.rllib.policy."""


class Code(Protocol):
    """What is asked of the project."""

    def base_words(self, klass: Class) -> list[str]: ...


def given(code: Code, function: Function, name: str) -> Value:
    """What a framework gives a method of one of its callbacks, hooks or modules for a parameter."""
    klass, at = function.cls, function.positions.get(name, -1)  # nothing is given at that place
    if klass is None:
        keyword = handed_functions.keyword(function)
        return handed_functions.GIVEN[keyword].get(at, UNKNOWN) if keyword is not None else UNKNOWN
    for one in _FRAMEWORKS:
        places = one.hooks.get(function.name, {})
        value = places.get(at) or places.get(name)
        is_used = value is not None and klass.module.source.holds(one.text)
        if value is not None and is_used and any(word.endswith(one.base) for word in code.base_words(klass)):
            return value
    return UNKNOWN
