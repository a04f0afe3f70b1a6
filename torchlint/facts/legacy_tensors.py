"""The typed tensor constructors from before torch 0.4, and their types."""

from __future__ import annotations

_TYPES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}
CONSTRUCTORS: dict[str, tuple[str, str]] = {
    "torch.Tensor": ("float32", ""),
    **{f"torch.{name}": (dtype, "") for name, dtype in _TYPES.items()},
    **{f"torch.cuda.{name}": (dtype, "cuda") for name, dtype in _TYPES.items()},
}
"""The name of the dtype and the device that each constructor gives; `torch.Tensor` follows the default type."""
