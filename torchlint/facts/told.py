"""What rules tell their fixers of a finding, beyond its place: data, so that no fixer has to read a message.

Named tuples, for every run makes these classes: a dataclass takes five times as long to make.
"""

from __future__ import annotations

import ast
from typing import Literal, NamedTuple

from .deprecated_table import Keyword, Missing


class Fused(NamedTuple):
    """unfused-log-prob: the function that takes the place of several."""

    function: Literal[
        "torch.log_softmax",
        "torch.nn.functional.logsigmoid",
        "torch.nn.functional.binary_cross_entropy_with_logits",
        "torch.nn.functional.softplus",
        "torch.expm1",
        "torch.logsumexp",
    ]


class Options(NamedTuple):
    """dataloader-underconfigured: the options that a loader lacks, as they would be written."""

    lacking: tuple[str, ...]


class Cast(NamedTuple):
    """blocking-h2d-copy: the cast in front of the copy, or what joins several tensors there."""

    call: ast.expr


class Argument(NamedTuple):
    """deprecated-api: the keyword that is given, or the one that is missing."""

    entry: Keyword | Missing
    given: ast.keyword | None = None


class Launch(NamedTuple):
    """launch-config-invalid: the option that no device takes."""

    option: str


class Baseline(NamedTuple):
    """uncontrolled-baseline: what is not under control."""

    fault: Literal["peak", "clock", "autograd", "chance"]


class Export(NamedTuple):
    """onnx-export-config: what the export gets wrong."""

    fixed: bool
    """All shapes are."""
    training: bool
    """The model may be in training mode."""


class Retuned(NamedTuple):
    """autotune-misconfigured: the pointer that each trial changes again, and the operation that does."""

    pointer: str
    how: str


class Construction(NamedTuple):
    """slow-tensor-construction: what the tensor is made of."""

    source: Literal["arrays", "tensor", "array"]


class Kept(NamedTuple):
    """graph-kept-alive: the name, or the call, whose graph is kept."""

    name: str
