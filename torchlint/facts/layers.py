"""Layers of torch.nn that rules know by name."""

from __future__ import annotations

from .values import Value

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

_WITHOUT_WEIGHTS = """AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d
AlphaDropout AvgPool1d AvgPool2d AvgPool3d CELU ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d
ConstantPad2d ConstantPad3d CosineSimilarity CrossMapLRN2d Dropout Dropout1d Dropout2d Dropout3d ELU FeatureAlphaDropout
Flatten Fold FractionalMaxPool2d FractionalMaxPool3d GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LPPool1d
LPPool2d LPPool3d LeakyReLU LocalResponseNorm LogSigmoid LogSoftmax MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d
MaxUnpool3d Mish PairwiseDistance PixelShuffle PixelUnshuffle RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d
ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus
Softshrink Softsign Tanh Tanhshrink Threshold Unflatten Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d
ZeroPad1d ZeroPad2d ZeroPad3d"""
WITHOUT_WEIGHTS = frozenset(f"torch.nn.{name}" for name in _WITHOUT_WEIGHTS.split())
"""Layers that train nothing; losses apart."""
INTEGERS = frozenset(
    """embed_dim embedding_dim hidden_size ignore_index in_channels in_features input_size num_embeddings num_features num_heads
    num_layers out_channels out_features""".split()
)
"""Attributes of layers and losses of torch.nn that are integers, whichever of them has one."""


def is_criterion(value: Value) -> bool:
    """Whether something is a loss of torch.nn: `nn.CrossEntropyLoss()`."""
    return value.kind == "module" and value.class_name.startswith("torch.nn.") and value.class_name.endswith("Loss")
