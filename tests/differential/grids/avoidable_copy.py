"""Copies made twice."""

from __future__ import annotations

from ..programs import Grid

_CASTS = ("float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool")

GRIDS = (
    Grid(
        fixed={
            "move, cast": "{x}.to(y.device).to(torch.float16)",
            "cast, move": "{x}.to(torch.float64).to(y.device)",
            "move, cast by keyword": "{x}.to(device=y.device).to(dtype=torch.float32)",
            "twice contiguous": "{x}.contiguous().contiguous()",
            **{f"clone, {cast}": f"{{x}}.clone().{cast}()" for cast in _CASTS},
            **{f"{cast}, clone": f"{{x}}.{cast}().clone()" for cast in _CASTS},
            "clone, cpu": "{x}.clone().cpu()",
            "cpu, clone": "{x}.cpu().clone()",
            "clone, to dtype": "{x}.clone().to(torch.float64)",
            "to dtype, clone": "{x}.to(torch.int64).clone()",
            "clone, to device": "{x}.clone().to(y.device)",
            "clone, to both": "{x}.clone().to(y.device, torch.float32)",
            "clone of a sum": "({raw} + y).clone()",
            "clone of a product": "({x} * y).clone()",
            "clone of a quotient": "({x} / 2).clone()",
            "clone of a power": "({x} ** 2).clone()",
            "clone of cat": "torch.cat([{raw}, y]).clone()",
            "clone of stack": "torch.stack([{raw}, {raw}]).clone()",
            "clone of where": "torch.where({x} > 0, {raw}, y).clone()",
            "clone of repeat": "{x}.repeat(2).clone()",
            "clone of cumsum": "{x}.cumsum(0).clone()",
            "clone that is turned": "torch.flip({x}.clone(), [0])",
            "clone that turns itself": "{x}.clone().flip(0)",
            "clone, detached and turned": "torch.flip({x}.clone().detach(), [0])",
            "clone of bmm": "torch.bmm({x}[None], {x}[None]).clone()",
        },
        refused={
            "move, cast to integers": "{x}.to(y.device).to(torch.int32)",
            "clone of a remainder": "({x} % 2).clone()",
            "clone of an operation into another": "torch.exp({raw}, out=y).clone()",
            "clone with a format": "({x} + y).clone(memory_format=torch.contiguous_format)",
            "clone of what a method of ours gives": "box.exp({raw}).clone()",
        },
        either={
            "clone that is joined": "torch.cat(({x}.clone(), y))",
            "clone that is joined into another": "torch.cat(({x}.clone(), y), out=y)",
            "clone that is rolled": "torch.roll({x}.clone(), 1, 0)",
            "clone of a matrix product": "({x} @ y).clone()",
            "clone of matmul": "torch.matmul({raw}, y).clone()",
            "clone of exp": "{x}.exp().clone()",
            "clone of softmax": "torch.softmax({raw}, -1).clone()",
            "clone of a power of tensors": "({x} ** y).clone()",
            "clone without waiting": "{x}.clone().to(y.device, non_blocking=True)",
        },
    ),
)
