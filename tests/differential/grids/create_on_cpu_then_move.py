"""Tensors that are made on the host and moved."""

from __future__ import annotations

from ..programs import PRELUDE, Grid

_FACTORIES = {
    "zeros": "torch.zeros(2, 3)",
    "zeros of a shape": "torch.zeros(x.shape)",
    "zeros by name": "torch.zeros(size=(2, 3))",
    "ones of a dtype": "torch.ones((2, 3), dtype=torch.float64)",
    "ones of integers": "torch.ones(3, dtype=torch.int64)",
    "full": "torch.full((2,), 7)",
    "full of fractions": "torch.full((2, 2), 0.1)",
    "full of truth": "torch.full((2,), True)",
    "full of complex": "torch.full((2,), 1 + 2j)",
    "full of what is given": "torch.full((2,), fill_value=len(CALLS))",
    "eye": "torch.eye(3)",
    "eye, not square": "torch.eye(2, 3, dtype=torch.float16)",
    "arange": "torch.arange(5)",
    "arange of steps": "torch.arange(1, 9, 2, dtype=torch.int32)",
    "arange of a size": "torch.arange(x.dim())",
    "arange down": "torch.arange(5, 0, -2)",
    "cast": "torch.zeros(4).long()",
    "shaped": "torch.ones(2, 3).transpose(0, 1)",
    "repeated": "torch.arange(4).unsqueeze(0).repeat(2, 1)",
    "cast and shaped": "torch.zeros(4).half().view(2, 2)",
    "negative": "torch.zeros(-1)",
    "of text": "torch.full((2,), 'x')",
    "over lines": "torch.zeros(\n    2,  # rows\n    3,\n)",
    "like": "torch.zeros_like(torch.ones(2, 3))",
}
_DRAWN = (
    "rand(2)",
    "hann_window(4)",
    "randn(2, 3)",
    "randint(0, 5, (2,))",
    "randperm(4)",
    "linspace(0, 1, 5)",
    "arange(0.0, 1.0, 0.1)",
)

_CURED = (
    "NotImplementedError: Cannot copy out of meta tensor",
    "RuntimeError: to() doesn't support converting to a different layout",
    "RuntimeError: Trying to create tensor with negative dimension",
    "RuntimeError: Invalid device, must be cuda device",
    "RuntimeError: zeros: Dimension size must be non-negative",
)
"""What only a move can fail with: from where nothing is stored, to a sparse tensor, and by `cuda` to the host. Where there is no CUDA, that is
told before a wrong size is."""
_NAMED = '\nDEVICE = "cuda" if torch.cuda.is_available() else "cpu"'

GRIDS = (
    Grid(
        fixed={
            "device": "{x}.to(y.device)",
            "device by name": "{x}.to(device=y.device)",
            "device of an attribute": "{x}.to(box.x.device)",
            "device of a call": "{x}.to(same(y).device)",
            "device without waiting": "{x}.to(x.device, non_blocking=True)",
            "name of a device": "{x}.to(DEVICE)",
            "cuda": "{x}.cuda()",
            "device, in use": "{x}.to(x.device)[..., :1]",
            "dtype of the other": "{x}.to(y.device, y.dtype)",
        },
        either={
            "device and dtype": "{x}.to(x.device, torch.float16)",
            "device and an odd dtype": "{x}.to(x.device, torch.uint16)",
            "cuda without waiting": "{x}.cuda(x.device, True)",
        },
        refused={
            "other": "{x}.to(y)",
            "type of other": "{x}.type_as(x)",
            "copied": "{x}.to(x.device, copy=True)",
            "formatted": "{x}.to(x.device, memory_format=torch.contiguous_format)",
            "to the host": '{x}.to("cpu")',
            "device, waiting by a call": "{x}.to(x.device, non_blocking=bool(CALLS))",
        },
        operands=_FACTORIES,
        prelude=PRELUDE + _NAMED,
        cures=_CURED,
    ),
    Grid(
        fixed={},
        refused={
            **{drawn: f"torch.{drawn}.to(y.device)" for drawn in _DRAWN},
            "into another": "torch.zeros(2, out=y).to(x.device)",
            "with a gradient": "torch.zeros(2, requires_grad=True).to(x.device)",
            "placed": "torch.zeros(2, device='cpu').to(x.device)",
            "expanded": "torch.arange(4).view(1, 4).expand(3, 4).to(y.device)",
        },
        operands={"none": "x"},
        prelude=PRELUDE + _NAMED,
    ),
)
