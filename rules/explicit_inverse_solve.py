from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.names import last
from torchlint.rule import Finding, Site, rule

_INVERSES = ("torch.inverse(...)", "torch.linalg.inv(...)", "$x.inverse()")
_FEW_ROWS = 4
_PRODUCTS = ("matmul", "mm", "bmm")


def _products(inverse: str) -> Iterator[str]:
    """The products that an inverse is a factor of."""
    yield from (f"{inverse} @ $other", f"$other @ {inverse}")
    for name in _PRODUCTS:
        yield from (f"torch.{name}({inverse}, $other)", f"torch.{name}($other, {inverse})", f"{inverse}.{name}($other)")


@rule(
    "TL610",
    shape=[shape for inverse in _INVERSES for shape in _products(f"($here := {inverse})")],
    severity="info",
    fix="unsafe",
    numbers="rounding",
    torch=">=1.8",
    impact="low",
    category="precision",
)
def explicit_inverse_solve(site: Site) -> Iterator[Finding]:
    """A matrix is inverted only to be multiplied.

    ## What it does

    Finds `torch.linalg.inv(A) @ B`, `torch.inverse(A).matmul(B)`, `torch.mm(B, A.inverse())` and their like, where the
    matrix is a sum (`covariance + noise * torch.eye(n)`): the matrices of cameras and poses, of two to four rows, are none.
    With `--preview` it finds those of all matrices.

    ## Why is this slow?

    `torch.linalg.solve` factorises the matrix and solves, which is less work than to build the inverse and multiply by it,
    and loses fewer digits.

    ## When it does not matter

    For matrices of three or four rows, and where the inverse is kept for many products, which is not reported.

    ## Bad

    ```python
    x = torch.linalg.inv(a + torch.eye(n)) @ b  # TL610
    ```

    ## Good

    ```python
    x = torch.linalg.solve(a + torch.eye(n), b)  # ok
    ```

    ## Fix safety

    Writes `torch.linalg.solve` for `mm` and `bmm`, with `left=False` where the inverse stands on the right. The fix is unsafe:
    the last digits differ, the result lies in memory column by column, so that `view` may fail and `stride()` says something
    else, and `left=False` needs torch 1.13. Nothing is written for `@` and `matmul`: what stands on the
    left may be a vector, and `n` rows beside `n` matrices would be taken for a vector each. Nor is anything in a file that
    speaks of sparse tensors, or works with one that uses autocast: `mm` takes them, and casts, where `solve` raises.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.linalg.inv.html
    - https://docs.pytorch.org/docs/stable/generated/torch.linalg.solve.html
    """
    if site.role == "test" or (site.name == ".inverse()" and not site.receiver.is_tensor):
        return
    if not (site.settings.preview or _is_sum(site, _inverted(site))):
        return
    yield site.finding(
        f"`{site.short(site.whole)}` inverts a matrix only to multiply by it; `torch.linalg.solve` does less",
        at=site.whole,
    )


def _inverted(site: Site) -> ast.expr | None:
    if "x" in site.match:
        return site.part("x")
    return next(iter(site.call.args), None)


def _is_sum(site: Site, matrix: ast.expr | None, names: int = 3) -> bool:
    """Whether a matrix is a sum, here or by at most so many names: `m = a + b`, `m += b`; `m.double()` is what `m` is."""
    if isinstance(matrix, ast.Call) and isinstance(matrix.func, ast.Attribute):
        return _is_sum(site, matrix.func.value, names)
    if isinstance(matrix, ast.Name) and names:
        made = (site.flow.parents.get(store) for store in site.flow.stores.get(matrix.id, ()))
        return any(
            _adds(one) if isinstance(one, ast.AugAssign) else _is_sum(site, one.value, names - 1)
            for one in made
            if isinstance(one, ast.Assign | ast.AugAssign)
        )
    return isinstance(matrix, ast.BinOp) and _adds(matrix) and not any(map(_is_small, ast.walk(matrix)))


def _is_small(node: ast.AST) -> bool:
    """`torch.eye(3)`"""
    size = node.args[0] if isinstance(node, ast.Call) and node.args and last(node.func) == "eye" else None
    return isinstance(size, ast.Constant) and isinstance(size.value, int) and size.value <= _FEW_ROWS


def _adds(node: ast.BinOp | ast.AugAssign) -> bool:
    return isinstance(node.op, ast.Add | ast.Sub)
