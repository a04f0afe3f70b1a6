"""Lists as indices."""

from __future__ import annotations

from ..programs import STEPS, Grid

_MANY = ", ".join(["slice(None)"] * 32)

GRIDS = (
    Grid(
        fixed={
            "slice": "{x}[[slice(0, 1)]]",
            "slice and number": "{x}[[slice(0, 1), 0]]",
            "tensors": "{x}[[torch.tensor([0, 1]), torch.tensor([0, 1])]]",
            "tensor": "{x}[[torch.tensor([0])]]",
            "lists": "{x}[[[0, 1], [0, 1]]]",
            "list": "{x}[[[0, 1]]]",
            "tuples": "{x}[[(0, 1), 0]]",
            "none": "{x}[[None, 0]]",
            "dots": "{x}[[..., 0]]",
            "mask": "{x}[[{x} > 0]]",
            "comma": "{x}[[slice(0, 1), 0,]]",
            "over lines": "{x}[[\n    slice(0, 1),\n    0,\n]]",
            "call": "{x}[[slice(0, 1), len(CALLS) * 0]]",
            "walrus": "{x}[[(i := 0), None]]",
        },
        refused={
            "one index of 32 elements": f"{{x}}[[{_MANY}]]",
            "numbers": "{x}[[0, 1]]",
            "tuple": "{x}[slice(0, 1), 0]",
            "list of truths": "{x}[[True]]",
            "spread": "{x}[[*[slice(0, 1)], 0]]",
            "two lists": "{x}[[0], [None]]",
        },
        either={
            "commented": "{x}[[\n    slice(0, 1),  # rows\n    0,\n]]",
        },
        hosts=STEPS,
    ),
)
