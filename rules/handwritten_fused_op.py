from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import syntax
from torchlint.facts.nodes import number
from torchlint.rule import Finding, Site, rule

_SIGMOID = ("torch.sigmoid($x)", "torch.nn.functional.sigmoid($x)", "$x.sigmoid()")
_TANH = ("torch.tanh($x)", "torch.nn.functional.tanh($x)")
_RSQRT = ("torch.rsqrt($x)", "$x.rsqrt()")


@rule(
    "TL709",
    shape=[
        *(f"$x * {sigmoid}" for sigmoid in _SIGMOID),
        *(f"{sigmoid} * $x" for sigmoid in _SIGMOID),
        *(f"$x.{multiply}({sigmoid})" for multiply in ("mul", "mul_") for sigmoid in _SIGMOID),
        *(f"torch.mul($x, {sigmoid})" for sigmoid in _SIGMOID),
        *_TANH,
        *(f"$other * {rsqrt}" for rsqrt in _RSQRT),
        *(f"{rsqrt} * $other" for rsqrt in _RSQRT),
    ],
    set="preview",
    severity="info",
    fix="unsafe",
    numbers="rounding",
    category="kernel",
    principle=("fusion",),
    silenced_by=("REGION",),
)
def handwritten_fused_op(site: Site) -> Iterator[Finding]:
    """An activation or norm that torch has as one kernel is spelled out.

    ## What it does

    Finds in `forward` and in the step loop `x * torch.sigmoid(x)` and `x.mul(x.sigmoid())` (SiLU), the tanh form of GELU, and RMSNorm,
    `x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)`.

    ## Why is this slow?

    In eager code each operation is a kernel that reads and writes the whole tensor; the one function reads and writes it once.

    ## When it does not matter

    In compiled code inductor makes one kernel of it, and nothing is reported; nor in tests.
    `rms_norm` is over the last dimensions: what averages over another one is not reported.
    An RMSNorm that computes in float32 and casts back is not the same as `rms_norm` in the last digits.

    ## Bad

    ```python
    class Swish(torch.nn.Module):
        def forward(self, x):
            return x * torch.sigmoid(x)  # TL709
    ```

    ## Good

    ```python
    class Swish(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.silu(x)  # ok
    ```

    ## Fix safety

    Writes `silu` for `x * sigmoid(x)` where `x` is proven to be of real floating point: `silu` takes no integers, bools and
    complex numbers. The fix is unsafe because the last digits differ; the others are left to people.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.silu.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.gelu.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.rms_norm.html
    """
    inner = site.part("x")
    whole: ast.expr | None = site.whole
    if "sigmoid" in site.pattern:
        # What is called twice may give two things.
        whole, instead = (None if syntax.calls_anything(inner) else whole), "silu"
    elif "tanh" in site.pattern:
        whole, instead = _gelu(site, inner), 'gelu(..., approximate="tanh")'
    else:
        whole, instead = (whole if _is_rms(inner, site.part("other")) else None), "rms_norm"
    if whole is None or site.role == "test" or not (site.in_forward or site.hot) or site.in_compiled:
        return
    yield site.finding(f"`{site.short(whole)}` takes several kernels; `torch.nn.functional.{instead}` is one", at=whole)


def _gelu(site: Site, inner: ast.expr) -> ast.expr | None:
    """`0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))`."""
    numbers = {node.value for node in ast.walk(inner) if isinstance(node, ast.Constant)}
    if 0.044715 not in numbers:
        return None
    node: ast.AST = site.target
    while isinstance(parent := site.flow.parents.get(node), ast.BinOp):
        node = parent
    return node if isinstance(node, ast.BinOp) else None


def _is_rms(inner: ast.expr, other: ast.expr) -> bool:
    """`mean(x ** 2) + eps` of the other factor x."""
    sides = (inner.left, inner.right) if isinstance(inner, ast.BinOp) else ()
    means = (node for side in sides for node in ast.walk(side) if isinstance(node, ast.Call) and _is_mean(node))
    return any(_is_over_last(mean) and any(_is_square(node, other) for node in ast.walk(mean)) for mean in means)


def _is_mean(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "mean"


def _is_over_last(mean: ast.Call) -> bool:
    """Whether an average may be over the last dimension: it names no other one, and not several."""
    given = [*mean.args, *(keyword.value for keyword in mean.keywords if keyword.arg in ("dim", "axis"))]
    return all(number(one) in (None, -1) and not isinstance(one, ast.Tuple | ast.List) for one in given)


def _is_square(node: ast.AST, x: ast.expr) -> bool:
    """`x.pow(2)`, `x ** 2`, `x * x`, `torch.square(x)`."""
    if isinstance(node, ast.BinOp):
        power = isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant) and node.right.value == 2
        return syntax.same(node.left, x) and (power or (isinstance(node.op, ast.Mult) and syntax.same(node.right, x)))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == "pow" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
        return node.args[0].value == 2 and syntax.same(node.func.value, x)
    return node.func.attr == "square" and (
        syntax.same(node.func.value, x) or (len(node.args) == 1 and syntax.same(node.args[0], x))
    )
