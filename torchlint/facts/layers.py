"""Layers of torch.nn that rules know by name."""

from __future__ import annotations

BIAS = {
    **{f"torch.nn.Conv{n}d": 7 for n in (1, 2, 3)},
    **{f"torch.nn.ConvTranspose{n}d": 7 for n in (1, 2, 3)},
    "torch.nn.Linear": 2,
}
"""Where `bias` stands among the positional arguments of layers that have one."""
NORMS = frozenset(
    ("torch.nn.SyncBatchNorm", *(f"torch.nn.{kind}Norm{n}d" for kind in ("Batch", "Instance") for n in (1, 2, 3)))
)
"""Norms that subtract the mean of each channel."""
