"""What rules tell their fixers of a finding, beyond its place: data, so that no fixer has to read a message."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from .deprecated_table import Keyword, Missing


@dataclass(frozen=True, slots=True)
class Fused:
    """unfused-log-prob: the function that takes the place of several."""

    function: Literal[
        "torch.log_softmax",
        "torch.nn.functional.logsigmoid",
        "torch.nn.functional.binary_cross_entropy_with_logits",
        "torch.nn.functional.softplus",
        "torch.expm1",
        "torch.logsumexp",
    ]


@dataclass(frozen=True, slots=True)
class Options:
    """dataloader-underconfigured: the options that a loader lacks, as they would be written."""

    lacking: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """deprecated-api: the keyword that is given, or the one that is missing."""

    entry: Keyword | Missing
    given: ast.keyword | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """launch-config-invalid: the option that no device takes."""

    option: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """uncontrolled-baseline: what is not under control."""

    fault: Literal["peak", "clock", "autograd", "chance"]


@dataclass(frozen=True, slots=True)
class Export:
    """onnx-export-config: what the export gets wrong."""

    fixed: bool
    """All shapes are."""
    training: bool
    """The model may be in training mode."""


@dataclass(frozen=True, slots=True)
class Retuned:
    """autotune-misconfigured: the pointer that each trial changes again, and the operation that does."""

    pointer: str
    how: str


@dataclass(frozen=True, slots=True)
class Construction:
    """slow-tensor-construction: what the tensor is made of."""

    source: Literal["arrays", "tensor", "array"]


@dataclass(frozen=True, slots=True)
class Kept:
    """graph-kept-alive: the name whose graph is kept."""

    name: str
