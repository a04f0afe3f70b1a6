from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import uses
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
    ]
    + [f"$values, $indices = ($here := {owner}.sort(..., descending=True))" for owner in ("$x", "torch")]
    + [
        f"$order = ($here := {owner}.{sort}(..., descending=True)){part}"
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

    Finds `x.argsort(descending=True)[:k]`, `torch.sort(x, descending=True)[0][:, :k]` and their like, also where a name
    stands between: `values, order = x.sort(descending=True)`, and nothing reads more than `values[:k]` and `order[:k]` of it.

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
    The fix is unsafe: equal elements may come in another order, and `topk` raises where there are fewer than `k`. Nothing is
    written where `out=` gets all that is sorted.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.topk.html
    """
    if any(keyword.arg == "stable" for keyword in site.call.keywords):
        return
    made = site.match.whole
    if isinstance(made, ast.Assign):
        if _only_few_are_read(site, made):
            text = f"`{site.short(made.value)}` sorts everything, and the first few are read; `topk` selects them"
            yield site.finding(text, at=made.value)
    elif _takes_few(site, site.part("index")):
        yield site.finding(
            f"`{site.short(site.whole)}` sorts everything to take the first few; `topk` selects them", at=site.whole
        )


def _only_few_are_read(site: Site, made: ast.Assign) -> bool:
    """Whether all that reads what is sorted takes the first few, once for each sort."""
    target = made.targets[0]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    reads: list[ast.Name] = []
    for name in names:
        if not isinstance(name, ast.Name) or uses.is_shared(site.function, name.id):
            return False
        reads += uses.readers(site.function, name.id, made.value)
    return bool(reads) and all(_is_cut(site, read) for read in reads)


def _is_cut(site: Site, read: ast.Name) -> bool:
    """`order[:k]`, once for each sort: other turns may take more."""
    cut = site.flow.parents[read]
    again = site.flow.comprehension(read) or site.flow.loops(read) != site.flow.loops(site.call)
    return isinstance(cut, ast.Subscript) and cut.value is read and not again and _takes_few(site, cut.slice)


def _takes_few(site: Site, index: ast.expr) -> bool:
    """`[:k]` or `[..., :k]` of the sorted values or indices."""
    *others, index = index.elts if isinstance(index, ast.Tuple) and index.elts else [index]
    if not isinstance(index, ast.Slice) or index.lower is not None or index.step is not None or index.upper is None:
        return False
    count = site.value(index.upper).const
    many = isinstance(index.upper, ast.UnaryOp) or (isinstance(count, int) and count > _FEW)
    return not many and all(_is_whole(other) for other in others) and _may_be_sorted(site, others)


def _may_be_sorted(site: Site, others: list[ast.expr]) -> bool:
    """Whether the dimension behind those that are taken whole may be the one that is sorted: `[:k]` of rows that are sorted each is none."""
    dim = site.argument("dim", int(site.name.startswith("torch.")))
    number = site.value(dim).const if dim is not None else None
    if not isinstance(number, int) or number < 0:
        return True
    return number == len(others) and not any(isinstance(one, ast.Constant) for one in others)


def _is_whole(node: ast.expr) -> bool:
    """`:` and `...` of an index."""
    if isinstance(node, ast.Slice):
        return node.lower is None and node.upper is None and node.step is None
    return isinstance(node, ast.Constant) and node.value is Ellipsis
