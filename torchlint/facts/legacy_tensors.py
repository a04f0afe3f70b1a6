"""The typed tensor constructors from before torch 0.4, and their types."""

from __future__ import annotations

import ast

from .nodes import keyword_of
from .place import Place
from .values import Value

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

SPARSE = tuple(f"torch.sparse.{name}" for name in _TYPES if name != "BoolTensor")
"""Those of sparse tensors, which `torch.sparse_coo_tensor` makes since torch 1.0."""

NEW = frozenset(f"torch.{name}" for name in ("zeros", "ones", "empty", "eye", "rand", "randn", "randint", "randperm"))
"""What makes a tensor of sizes alone: nothing has asked for its gradient."""

OF_HOST = tuple(name for name, (_, device) in CONSTRUCTORS.items() if not device)
"""Those that make tensors of the host, where the default type is none of the device."""


def makes_on_device(constructor: Value) -> bool:
    """Whether a typed constructor makes tensors of the device: `torch.cuda.FloatTensor if use_cuda else torch.FloatTensor`."""
    if constructor.kind != "name":
        return False
    devices = [CONSTRUCTORS.get(one.class_name, ("", None))[1] for one in constructor.choices or (constructor,)]
    return None not in devices and "cuda" in devices


def makes_on_host(constructor: Value) -> bool:
    """Whether a typed constructor makes tensors of the host, whatever the default type is: `torch.FloatTensor`."""
    return (
        constructor.kind == "name"
        and constructor.class_name in CONSTRUCTORS
        and constructor.class_name != "torch.Tensor"
        and not any(CONSTRUCTORS.get(one.class_name, ("", "cuda"))[1] for one in constructor.choices or (constructor,))
    )


def is_new(place: Place, node: ast.expr) -> bool:
    """Whether an expression itself makes a tensor that has no gradients: `torch.zeros(2, 3)`, `torch.from_numpy(a)`."""
    if not isinstance(node, ast.Call) or place.resolve(node.func) not in NEW | {"torch.from_numpy"}:
        return False
    open_ = any(keyword.arg is None for keyword in node.keywords)
    return not open_ and keyword_of(node, "requires_grad") is None and keyword_of(node, "out") is None
