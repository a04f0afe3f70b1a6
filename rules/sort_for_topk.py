from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule

_SORTED = (("argsort", ""), *(("sort", part) for part in ("[0]", "[1]", ".values", ".indices")))
"""What sorts, and how the values or indices are picked from what it gives."""
_FEW = 1000
"""A larger `k` is a bound that keeps nearly all, not a choice of the best."""


@rule(
    "TL710",
    shape=[
        f"($here := {owner}.{sort}(..., descending=True)){part}[$index]"
        for owner in ("$x", "torch")
        for sort, part in _SORTED
    ],
    set="preview",
    severity="info",
    fix="unsafe",
    numbers="exact",
    impact="low",
    category="kernel",
)
def sort_for_topk(site: Site) -> Iterator[Finding]:
    """A whole tensor is sorted to take its largest elements.

    ## What it does

    Finds `x.argsort(descending=True)[:k]`, `torch.sort(x, descending=True)[0][:, :k]` and their like.

    ## Why is this slow?

    Sorting orders all elements and writes them and their indices; `topk` selects, and writes `k`.

    ## When it does not matter

    Where `k` is nearly all of the elements, or the tensor is small. How large it is can rarely be told from the source,
    so the rule is a preview: three of its four findings in 26 public repositories were on a few hundred elements.

    ## Bad

    ```python
    best = scores.argsort(dim=1, descending=True)[:, :5]  # TL710
    ```

    ## Good

    ```python
    best = scores.topk(5, dim=1).indices  # ok
    ```

    ## Fix safety

    Writes `topk(...).indices` or `.values` where the slice is over the dimension that is sorted, `k` is written as a number,
    and the elements are proven to be numbers: `topk` takes no bools.
    The fix is unsafe: equal elements may come in another order, and `topk` raises where there are fewer than `k`.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.topk.html
    """
    stable = any(keyword.arg == "stable" for keyword in site.call.keywords)
    if not stable and _takes_few(site, site.part("index")):
        yield site.finding(
            f"`{site.short(site.whole)}` sorts everything to take the first few; `topk` selects them", at=site.whole
        )


def _takes_few(site: Site, index: ast.expr) -> bool:
    """`[:k]` or `[..., :k]` of the sorted values or indices."""
    *others, index = index.elts if isinstance(index, ast.Tuple) and index.elts else [index]
    if not isinstance(index, ast.Slice) or index.lower is not None or index.step is not None or index.upper is None:
        return False
    count = site.value(index.upper).const
    many = isinstance(index.upper, ast.UnaryOp) or (isinstance(count, int) and count > _FEW)
    return not many and all(_is_whole(other) for other in others)


def _is_whole(node: ast.expr) -> bool:
    """`:` and `...` of an index."""
    if isinstance(node, ast.Slice):
        return node.lower is None and node.upper is None and node.step is None
    return isinstance(node, ast.Constant) and node.value is Ellipsis
