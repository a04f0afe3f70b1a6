"""Names and arguments that another took over from."""

from __future__ import annotations

from ..programs import OPERANDS, PRELUDE, STEPS, Grid

_SQUARE = """

def square(t: torch.Tensor) -> torch.Tensor:
    return t.mT @ t + 0.1


def bare(t: torch.Tensor) -> torch.Tensor:
    return t.detach().clone()
"""

_DECORATED = "@{E}\ndef inner(t):\n    return t.sin().sum()\nreturn inner(x)"

GRIDS = (
    Grid(
        fixed={
            "uniform": "torch.nn.init.uniform({raw})",
            "uniform of bounds": "torch.nn.init.uniform({raw}, 1.0, b=2.0)",
            "normal": "torch.nn.init.normal({raw}, std=0.02)",
            "constant": "torch.nn.init.constant({raw}, 2)",
            "constant by name": "torch.nn.init.constant(tensor={raw}, val=3)",
            "eye": "torch.nn.init.eye({raw})",
            "dirac": "torch.nn.init.dirac({raw}, 1)",
            "xavier uniform": "torch.nn.init.xavier_uniform({raw}, gain=2.0)",
            "xavier normal": "torch.nn.init.xavier_normal({raw})",
            "kaiming uniform": "torch.nn.init.kaiming_uniform({raw}, 0, 'fan_out')",
            "kaiming normal": "torch.nn.init.kaiming_normal({raw}, nonlinearity='relu')",
            "orthogonal": "torch.nn.init.orthogonal({raw})",
            "sparse": "torch.nn.init.sparse({raw}, 0.5)",
        },
        refused={"uniform in place": "torch.nn.init.uniform_({raw})"},
        operands={**OPERANDS, "bare": "bare(x)", "parameter": "torch.nn.Parameter(bare(x))"},
        prelude=PRELUDE + _SQUARE,
        modules=("torch.nn.init", "torch.nn", "torch"),
    ),
    Grid(
        fixed={
            "vmap": "functorch.vmap(torch.sin)({raw})",
            "vmap of a dimension": "functorch.vmap(torch.sin, -1, out_dims=1)({raw})",
            "grad": "functorch.grad(lambda t: t.sin().sum())({raw})",
            "grad and value": "functorch.grad_and_value(lambda t: t.sin().sum(), argnums=0)({raw})",
            "vjp": "functorch.vjp(torch.sin, {raw})[0]",
            "jvp": "functorch.jvp(torch.sin, ({raw},), (torch.ones_like({raw}),))",
            "jacrev": "functorch.jacrev(torch.sin)({raw})",
            "jacfwd": "functorch.jacfwd(torch.sin)({raw})",
            "hessian": "functorch.hessian(lambda t: t.sin().sum())({raw})",
            "functionalize": "functorch.functionalize(lambda t: t.add(1))({raw})",
            "r of qr": "torch.qr({raw})[1]",
            "clip": "torch.nn.utils.clip_grad_norm([x], 1.0)",
            "clip by name": "torch.nn.utils.clip_grad_norm([x, y], max_norm=1.0, norm_type=1.0)",
            "stateless": "torch.nn.utils.stateless.functional_call(torch.nn.ReLU(), {}, ({raw},))",
            "upsample": "torch.nn.functional.upsample({raw}, scale_factor=2)",
            "upsample by place": "torch.nn.functional.upsample({raw}, None, 2, 'nearest')",
            "upsample to corners": "torch.nn.functional.upsample({raw}, 4, mode='bilinear', align_corners=True)",
            "upsample nearest": "torch.nn.functional.upsample_nearest({raw}, scale_factor=2)",
            "upsample nearest by place": "torch.nn.functional.upsample_nearest({raw}, 4)",
            "upsample bilinear": "torch.nn.functional.upsample_bilinear({raw}, None, 2)",
            "upsample bilinear by name": "torch.nn.functional.upsample_bilinear(input={raw}, size=(4, 4))",
            "memory": "torch.cuda.memory_cached()",
            "most memory": "torch.cuda.max_memory_cached()",
            "memory forgotten": "torch.cuda.reset_max_memory_allocated()",
            "cached memory forgotten": "torch.cuda.reset_max_memory_cached()",
            "dtype of cuda": "torch.get_autocast_gpu_dtype()",
            "dtype for cuda": "torch.set_autocast_gpu_dtype(torch.bfloat16)",
            "dtype of cpu": "torch.get_autocast_cpu_dtype()",
            "dtype for cpu": "torch.set_autocast_cpu_dtype(torch.float16)",
            "is on": "torch.is_autocast_cpu_enabled()",
            "on": "torch.set_autocast_cpu_enabled(True)",
            "reduction": "torch.distributed.reduce_op.SUM",
            "bounds by name": "torch.nn.Hardtanh(min_value=-0.5, max_value=0.5)({raw})",
            "without effect": "torch.nn.functional.gumbel_softmax({raw}, 1.0, False, eps=1e-9)",
            "without effect, in front": "torch.nn.functional.gumbel_softmax({raw}, eps=1e-9, hard=True)",
            "device of pinned memory": "list(torch.utils.data.DataLoader([1, 2], pin_memory_device='', batch_size=2))",
            "grid": "torch.meshgrid({raw}.flatten(), {raw}.flatten())",
            "grid of a list": "torch.meshgrid([{raw}.flatten()])",
        },
        either={"qr": "torch.qr({raw})"},
        refused={
            "cholesky": "torch.cholesky(square({raw}))",
            "loss in two dimensions": "torch.nn.NLLLoss2d(reduction='sum')",
            "one bound by name": "torch.nn.Hardtanh(-0.5, max_value=0.5)({raw})",
            "qr of some": "torch.qr({raw}, False)",
            "qr by name": "torch.qr(input={raw})",
            "upper cholesky": "torch.cholesky(square({raw}), True)",
            "spread grid": "torch.meshgrid(*[{raw}])",
            "renamed in effect": "torch.nn.functional.mse_loss({raw}, y, size_average=False)",
            "left out": "torch.nn.functional.softmax({raw})",
        },
        prelude=PRELUDE + _SQUARE,
        modules=(
            "torch.func",
            "torch.linalg",
            "torch.nn.functional",
            "torch.nn.utils",
            "torch.nn",
            "torch.cuda",
            "torch",
        ),
    ),
    Grid(
        fixed={"vmap": "functorch.vmap", "grad": "functorch.grad"},
        operands={"none": "x"},
        places={"decorator": _DECORATED, "partial": "import functools\nreturn functools.partial({E}, torch.sin)()(x)"},
        modules=("torch.func", "torch"),
    ),
    Grid(
        fixed={
            "sum": "{x}.add(2, {x})",
            "difference": "{x}.sub(-1, {x})",
            "in place": "{x}.clone().add_(2, {x})",
            "product": "{x}.addcmul(2, {x}, {x})",
            "quotient": "{x}.addcdiv(2, {x}, {x})",
            "a number with a point": "{x}.add(0.5, {x})",
            "function": "torch.add({x}, 2, {x})",
            "function of two": "torch.addcmul({x}, 2, {x}, {x})",
            "matrices": "{x}.addmm(2, {x}, {x})",
            "matrices and two numbers": "{x}.addmm(2, 3, {x}, {x})",
            "function of matrices": "torch.addmm(2, {x}, 3, {x}, {x})",
            "over lines": "{x}.add(\n    2,\n    {x},\n)",
            "in parentheses": "{x}.add((2), ({x}))",
            "a condition": "{x}.add(2 if CALLS else 3, {x})",
        },
        refused={
            "today's": "{x}.add({x}, alpha=2)",
            "no number": "{x}.add(None, {x})",
            "a list": "{x}.add([2], {x})",
            "without a number": "{x}.addcmul({x}, {x})",
            "spread": "{x}.add(*[2, {x}])",
        },
        either={
            "a tensor as number": "{x}.add(torch.tensor(2), {x})",
            "a call as number": "{x}.add(len(CALLS) * 0 + 2, {x})",
            "a walrus": "{x}.add((i := 2), {x})",
        },
        hosts=STEPS,
    ),
)
