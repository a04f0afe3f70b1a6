"""Checkpoints that do not say whether they are reentrant."""

from __future__ import annotations

from ..programs import PRELUDE, Grid

_PRELUDE = """

def block(*given, scale=1):
    CALLS.append("block")
    return torch.nn.functional.dropout(given[0].sin(), 0.5) * scale


class Layers(torch.nn.Sequential):
    def forward(self, given):
        return block(given)
"""

GRIDS = (
    Grid(
        fixed={
            "plain": "torch.utils.checkpoint.checkpoint(block, {raw})",
            "two tensors": "torch.utils.checkpoint.checkpoint(block, {raw}, y)",
            "no tensors": "torch.utils.checkpoint.checkpoint(lambda: block(x))",
            "random state left": "torch.utils.checkpoint.checkpoint(block, {raw}, preserve_rng_state=False)",
            "argument by name": "torch.utils.checkpoint.checkpoint(block, {raw}, scale=2)",
            "contexts": "torch.utils.checkpoint.checkpoint(block, {raw}, determinism_check='none')",
            "spread": "torch.utils.checkpoint.checkpoint(block, *[{raw}, y])",
            "function by name": "torch.utils.checkpoint.checkpoint(function=block)",
            "comma": "torch.utils.checkpoint.checkpoint(block, {raw},)",
            "over lines": "torch.utils.checkpoint.checkpoint(\n    block,\n    {raw},\n)",
            "sequential": "torch.utils.checkpoint.checkpoint_sequential([block, block], 2, {raw})",
            "sequential by name": "torch.utils.checkpoint.checkpoint_sequential([block, block], segments=1, input={raw})",
            "module": "torch.utils.checkpoint.checkpoint(Layers(), {raw})",
        },
        refused={
            "said": "torch.utils.checkpoint.checkpoint(block, {raw}, use_reentrant=False)",
            "hidden": "torch.utils.checkpoint.checkpoint(block, {raw}, **{'use_reentrant': False})",
            "generator": "torch.utils.checkpoint.checkpoint(block for block in ())",
        },
        prelude=PRELUDE + _PRELUDE,
    ),
)
