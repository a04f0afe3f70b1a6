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

FLAGGED_BIAS = frozenset(f"torch.nn.{kind}{part}" for kind in ("RNN", "LSTM", "GRU") for part in ("", "Cell")) | {
    f"torch.nn.{module}{base}" for module in ("", "modules.rnn.") for base in ("RNNBase", "RNNCellBase")
}
"""Layers whose `bias` says whether they have biases, and is none."""
