"""Tensors made of tensors and of arrays."""

from __future__ import annotations

from ..programs import OPERANDS, PRELUDE, Grid

_ARRAYS = {
    "zeros": "np.zeros((2, 3))",
    "ones": "np.ones(3, dtype=np.float16)",
    "ones by column": 'np.ones((2, 3), order="F")',
    "full": "np.full((2,), 7)",
    "eye": "np.eye(3)",
    "eye by column": 'np.eye(2, 3, order="F")',
    "arange": "np.arange(5)",
    "linspace": "np.linspace(0, 1, 5)",
    "array": "np.array([[1, 2], [3, 4]])",
    "array by column": 'np.array([[1, 2], [3, 4]], order="F")',
    "array of an array": "np.array(TABLE)",
    "array of bytes": "np.array([1, 2], dtype=np.uint8)",
    "array of unsigned": "np.array([1, 2], dtype=np.uint16)",
    "array of another byte order": 'np.array([1, 2], dtype=">f4")',
    "array of objects": "np.array([1, None])",
    "array of text": 'np.array(["a"])',
    "array of booleans": "np.array([True, False])",
    "array of complex": "np.array([1 + 2j])",
    "array of one": "np.array(3.0)",
    "stack": "np.stack([TABLE, TABLE])",
    "concatenate": "np.concatenate([TABLE, TABLE], axis=1)",
    "vstack": "np.vstack([TABLE, TABLE])",
    "hstack": "np.hstack([TABLE, TABLE])",
    "zeros like": "np.zeros_like(TABLE)",
    "ones like": "np.ones_like(TABLE)",
    "full like": "np.full_like(TABLE, 2)",
    "where": "np.where(TABLE > 1, TABLE, 0)",
    "repeat": "np.repeat(TABLE, 2)",
    "tile": "np.tile(TABLE, 2)",
    "masked": "np.zeros_like(MASKED)",
}

GRIDS = (
    Grid(
        fixed={
            **{name: f"torch.tensor({code})" for name, code in _ARRAYS.items()},
            "zeros of the same dtype": "torch.tensor(np.zeros((2, 3), dtype=np.float32), dtype=torch.float32)",
            "array of the same dtype": "torch.tensor(np.array([1.0, 2.0], dtype=np.float64), dtype=torch.float64)",
        },
        refused={
            "zeros of a dtype": "torch.tensor(np.zeros((2, 3)), dtype=torch.float32)",
            "array of a dtype": "torch.tensor(np.array([1, 2]), dtype=torch.bool)",
            "array of its own dtype": "torch.tensor(np.array([1.0, 2.0]), dtype=torch.float64)",
            "tensor": "torch.tensor({raw})",
            "tensor in use": "torch.tensor({raw}).float()",
            "tensor by name": "torch.tensor(data={raw})",
            "where it is": "torch.tensor(np.where(TABLE > 1))",
            "tensor of a dtype": "torch.tensor({raw}, dtype=torch.float64)",
            "array of nothing": "torch.tensor(np.array([]))",
            "leaf": "torch.tensor(np.zeros(2), requires_grad=True)",
            "on a device": "torch.tensor(np.zeros(2), device=y.device)",
            "array of itself": "torch.tensor(np.array(TABLE, copy=None))",
            "array into another": "torch.tensor(np.stack([TABLE[0], TABLE[0]], out=np.zeros((2, 2))))",
            "reshaped": "torch.tensor(np.reshape(TABLE, -1))",
        },
        operands={**OPERANDS, "local": "same(x * 1)"},
        prelude="import numpy as np\n\n\nTABLE = np.arange(6.0).reshape(2, 3).T\nMASKED = np.ma.array([1.0, 2.0], mask=[0, 1])\n\n"
        + PRELUDE,
    ),
)
