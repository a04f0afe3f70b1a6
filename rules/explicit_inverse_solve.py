from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule

_PRODUCTS = frozenset(("torch.matmul", "torch.mm", "torch.bmm"))


@rule(
    "TL610",
    shape=["torch.inverse(...)", "torch.linalg.inv(...)", "$x.inverse(...)"],
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

    Finds `torch.linalg.inv(A) @ B`, `torch.inverse(A).matmul(B)`, `torch.mm(B, A.inverse())` and their like.

    ## Why is this slow?

    `torch.linalg.solve` factorises the matrix and solves, which is less work than to build the inverse and multiply by it,
    and loses fewer digits.

    ## When it does not matter

    For matrices of three or four rows, and where the inverse is kept for many products, which is not reported.

    ## Bad

    ```python
    x = torch.linalg.inv(a) @ b  # TL610
    ```

    ## Good

    ```python
    x = torch.linalg.solve(a, b)  # ok
    ```

    ## Fix safety

    Writes `torch.linalg.solve` for `mm` and `bmm`, with `left=False` where the inverse stands on the right. The fix is unsafe:
    the last digits differ. Nothing is written for `@` and `matmul`: what stands on the left may be a vector, and `n` rows
    beside `n` matrices would be taken for a vector each.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.linalg.inv.html
    - https://docs.pytorch.org/docs/stable/generated/torch.linalg.solve.html
    """
    if site.name == ".inverse()" and (site.call.args or not site.receiver.is_tensor):
        return
    product = _product(site)
    if product is not None:
        yield site.finding(
            f"`{site.short(product)}` inverts a matrix only to multiply by it; `torch.linalg.solve` does less",
            at=product,
        )


def _product(site: Site) -> ast.expr | None:
    """The product that the inverse is a factor of."""
    parent = site.flow.parents.get(site.target)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.MatMult):
        return parent
    if isinstance(parent, ast.Call) and len(parent.args) == 2 and site.target in parent.args and not parent.keywords:
        return parent if site.resolve(parent.func) in _PRODUCTS else None
    if isinstance(parent, ast.Attribute) and parent.attr in ("matmul", "mm", "bmm"):
        call = site.flow.parents.get(parent)
        return call if isinstance(call, ast.Call) and call.func is parent and len(call.args) == 1 else None
    return None
