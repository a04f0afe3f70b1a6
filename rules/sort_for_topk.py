from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule

_FEW = 1000
"""A larger `k` is a bound that keeps nearly all, not a choice of the best."""


@rule(
    "TL710",
    shape=["$x.argsort(...)", "$x.sort(...)", "torch.argsort(...)", "torch.sort(...)"],
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
    given = {keyword.arg: keyword.value for keyword in site.call.keywords}
    descending = given.get("descending")
    if not (isinstance(descending, ast.Constant) and descending.value is True) or "stable" in given:
        return
    taken = _first(site)
    if taken is not None:
        yield site.finding(
            f"`{site.short(taken)}` sorts everything to take the first few; `topk` selects them", at=taken
        )


def _first(site: Site) -> ast.Subscript | None:
    """The slice `[:k]` or `[..., :k]` of the sorted values or indices."""
    node: ast.AST = site.target
    parent = site.flow.parents.get(node)
    if site.name.endswith("sort()") and not site.name.endswith("argsort()"):
        # .sort() gives a pair: [0], [1], .values, .indices
        picked = (
            isinstance(parent, ast.Subscript)
            and isinstance(parent.slice, ast.Constant)
            and parent.slice.value in (0, 1)
        )
        if not picked and not (isinstance(parent, ast.Attribute) and parent.attr in ("values", "indices")):
            return None
        assert parent is not None
        node, parent = parent, site.flow.parents.get(parent)
    if not isinstance(parent, ast.Subscript) or parent.value is not node:
        return None
    index = parent.slice.elts[-1] if isinstance(parent.slice, ast.Tuple) and parent.slice.elts else parent.slice
    others = parent.slice.elts[:-1] if isinstance(parent.slice, ast.Tuple) else []
    if not isinstance(index, ast.Slice) or index.lower is not None or index.step is not None or index.upper is None:
        return None
    count = site.value(index.upper).const
    many = isinstance(index.upper, ast.UnaryOp) or (isinstance(count, int) and count > _FEW)
    return parent if not many and all(_is_whole(other) for other in others) else None


def _is_whole(node: ast.expr) -> bool:
    """`:` and `...` of an index."""
    if isinstance(node, ast.Slice):
        return node.lower is None and node.upper is None and node.step is None
    return isinstance(node, ast.Constant) and node.value is Ellipsis
