"""Clones that are detached."""

from __future__ import annotations

from ..programs import Grid

GRIDS = (
    Grid(
        fixed={
            "detach": "{x}.clone().detach()",
            "data": "{x}.clone().data",
            "preserved format": "{x}.clone(memory_format=torch.preserve_format).detach()",
            "contiguous format": "{x}.clone(memory_format=torch.contiguous_format).data",
            "over lines": "({x}\n    .clone()\n    .detach())",
            "further call": "{x}.clone().detach().cpu()",
            "asks for a gradient": "{x}.clone().detach().requires_grad_(True)",
            "of a slice": "{x}[..., :1].clone().detach()",
        },
        refused={
            "detached first": "{x}.detach().clone()",
            "of data": "{x}.data.clone().detach()",
            "only cloned": "{x}.clone()",
        },
    ),
)
