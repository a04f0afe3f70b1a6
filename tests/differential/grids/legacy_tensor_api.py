"""Variables and typed constructors."""

from __future__ import annotations

from ..programs import Grid

_KINDS = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")

GRIDS = (
    Grid(
        fixed={
            "variable": "torch.autograd.Variable(torch.ones(2, 3))",
            **{
                f"variable of {made}": f"torch.autograd.Variable(torch.{made})"
                for made in (
                    "zeros(3, dtype=torch.half)",
                    "empty(0)",
                    "eye(2)",
                    "rand(2, 1)",
                    "randn(3)",
                    "randperm(4)",
                )
            },
            "variable over lines": "torch.autograd.Variable(\n    torch.zeros(\n        2,\n        3,\n    )\n)",
            "variable of a method over lines": "torch.autograd.Variable(\n    torch\n    .ones(3)\n)",
            "variable in use": "torch.autograd.Variable(torch.ones(2, 3)).sum()",
            "variable of a name": "torch.autograd.Variable(made := torch.zeros(3))",
            **{kind: f"torch.{kind}Tensor([0, 1, 2])" for kind in _KINDS},
            **{f"{kind} of fractions": f"torch.{kind}Tensor([0.5, -1.25])" for kind in ("Float", "Double", "Half")},
            "integers of fractions": "torch.LongTensor([1.5, -2.5])",
            "too large for bytes": "torch.ByteTensor([300, -1])",
            "too large for int": "torch.IntTensor([3000000000])",
            "too large for half": "torch.HalfTensor([70000.0, 1e-9])",
            "too large for long": "torch.LongTensor([9223372036854775808])",
            "booleans of numbers": "torch.BoolTensor([0, 2, -1, 0.5])",
            "ragged": "torch.FloatTensor([[1, 2], [3]])",
            "three deep": "torch.IntTensor([[[1], [2]], [[3], [4]]])",
            "over lines": "torch.FloatTensor([\n    1.0,\n    2.0,\n])",
        },
        refused={
            "variable of what is given": "torch.autograd.Variable({raw})",
            "default type": "torch.Tensor([1, 2])",
            "default type of fractions": "torch.Tensor([[0.1, 0.2], [0.3, 0.4]])",
            "of the device": "torch.cuda.FloatTensor([1.0, 2.0])",
            "sizes": "torch.FloatTensor(2, 3).zero_()",
            "names": "torch.FloatTensor([c, 1.0])",
            "variable that asks for a gradient": "torch.autograd.Variable({raw}, requires_grad=True)",
            "empty": "torch.FloatTensor([])",
        },
        either={
            "commented": "torch.FloatTensor([\n    1.0,  # one\n    2.0,\n])",
        },
        modules=("torch",),
    ),
)
