from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.syntax import given_to_target
from torchlint.rule import Finding, Site, rule

_INDICES = 32
"""So many elements, and more, are one index whatever they are (`treatSequenceAsTuple` of torch)."""


@rule(
    "TL911",
    shape=["$tensor[($index := [$_, ...])]", "$where[$_] = slice(...)"],
    scope="hot",
    fix="safe",
    torch=">=2.8",
    category="migration",
    confirmed_by=("warning:UserWarning",),
)
def sequence_index(site: Site) -> Iterator[Finding]:
    """A tensor is indexed by a list that holds slices, tensors or lists.

    ## What it does

    Finds `x[[slice(0, 2), 0]]`, `x[[rows, columns]]` with tensors and `x[[[0, 1], [0, 1]]]` on tensors in the step loop and
    in what it calls, and `x[where]` behind `where = [slice(None)] * x.dim()`, whose entries may be replaced.

    ## Why is this slow?

    Today torch takes such a list for a tuple, one index a dimension, and warns on each call.
    It has announced to take it for one index made of a tensor, which is another element or an error.

    ## When it does not matter

    A list of numbers, `x[[0, 1]]`, is one index already and stays so, and so is any list of 32 elements and more.

    ## Bad

    ```python
    def loss(x: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        return x[[rows, columns]].sum()  # TL911

    for batch in loader:
        loss(batch, rows, columns).backward()
        optimizer.step()
    ```

    ## Good

    ```python
    def loss(x: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        return x[rows, columns].sum()  # ok

    for batch in loader:
        loss(batch, rows, columns).backward()
        optimizer.step()
    ```

    ## Fix safety

    Takes the inner brackets away, which is what torch does with them today.
    It is unsafe where an array may come here on another way, or numbers alone stand in the list: what callers give
    without an annotation, or what an attribute holds.

    ## References

    - https://docs.pytorch.org/docs/stable/tensors.html
    - https://github.com/huggingface/transformers/pull/43167
    """
    if "where" in site.match:
        yield from _by_name(site, site.part("where"))
        return
    index = site.part("index")
    assert isinstance(index, ast.List)
    if any(isinstance(e, ast.Starred) for e in index.elts) or len(index.elts) >= _INDICES:
        return
    if any(_is_no_number(site, e) for e in index.elts) and site.value(site.part("tensor")).is_tensor:
        yield site.finding(
            f"`{site.short()}` is read as one index a dimension, with a warning, and is going to be read as a single index"
        )


def _by_name(site: Site, where: ast.expr) -> Iterator[Finding]:
    """`where = [slice(None)] * x.dim()`, one of whose entries is set, and `x[where]`: a list that nothing makes a tuple of."""
    name = where.id if isinstance(where, ast.Name) else ""
    stores = site.flow.stores.get(name, ())
    made = given_to_target(site.flow, stores[0]) if len(stores) == 1 else None
    match made:
        case ast.BinOp(left=ast.List(elts=[ast.Call(func=ast.Name(id="slice"))]), op=ast.Mult()):
            loads = site.flow.loads.get(name, ())
        case _:
            return
    used = [(load, index) for load in loads if isinstance(index := site.flow.parents.get(load), ast.Subscript)]
    if next((load for load, index in used if isinstance(index.ctx, ast.Store)), None) is not where:
        return  # told of where the first entry is set
    for load, index in used:
        if index.slice is load and site.value(index.value).is_tensor:
            message = f"`{site.short(index)}` is read as one index a dimension, with a warning, and is going to be read as a single index: give `tuple({name})`"
            yield site.finding(message, at=index)


def _is_no_number(site: Site, node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return True
    if isinstance(node, ast.Constant):
        return node.value is None or node.value is Ellipsis
    if isinstance(node, ast.Call) and site.resolve(node.func) == "slice":
        return True
    return site.value(node).is_tensor
