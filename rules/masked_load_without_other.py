from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import triton
from torchlint.facts.triton_masks import unfilled
from torchlint.rule import Finding, Site, rule


@rule("TLK03", shape=triton.KERNEL, set="preview", fix="suggestion", category="triton")
def masked_load_without_other(site: Site) -> Iterator[Finding]:
    """A masked load without `other` is reduced, with whatever its masked elements hold.

    ## What it does

    Finds `tl.load(..., mask=m)` without `other=` whose value reaches `tl.sum`, `tl.max`, `tl.min`, `tl.dot` and other
    reductions along the dimension that the mask cuts, without `tl.where` between. It reads the source; no kernel is run.

    ## Why is this slow?

    It is a question of results: Triton leaves masked elements undefined. Today's backends fill them with zeros, so that a
    sum or a dot product comes out right, and a maximum or a sum of exponentials does not. An `other` costs nothing.

    ## When it does not matter

    Where only masked elements of the result are spoiled, and they are never stored: the rule looks at the dimension
    that is reduced. What goes through a function of the project, `tl.trans` or a reshape is not followed.

    ## Bad

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def row_max(x, y, n, BLOCK: tl.constexpr):
        columns = tl.arange(0, BLOCK)
        row = tl.load(x + columns, mask=columns < n)  # TLK03
        tl.store(y, tl.max(row, axis=0))
    ```

    ## Good

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def row_max(x, y, n, BLOCK: tl.constexpr):
        columns = tl.arange(0, BLOCK)
        row = tl.load(x + columns, mask=columns < n, other=-float("inf"))  # ok
        tl.store(y, tl.max(row, axis=0))
    ```

    ## References

    - <https://triton-lang.org/main/python-api/generated/triton.language.load.html>
    - <https://github.com/pytorch/pytorch/pull/127311>
    """
    kernel = triton.decorated(site.function, site.target)
    if kernel is None:
        return
    for load, reduction in unfilled(kernel):
        place = site.at(kernel.function, load)
        yield place.finding(f"`tl.{reduction}` takes this load, whose masked elements are undefined without `other`")
