from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule

_INVERSES = ("torch.inverse(...)", "torch.linalg.inv(...)", "$x.inverse()")
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
    if site.role == "test" or (site.name == ".inverse()" and not site.receiver.is_tensor):
        return
    yield site.finding(
        f"`{site.short(site.whole)}` inverts a matrix only to multiply by it; `torch.linalg.solve` does less",
        at=site.whole,
    )
