from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import breaks
from torchlint.facts.break_place import told
from torchlint.rule import Finding, Site, rule


@rule(
    "TL201",
    shape=["$f(...)", "$x[$i]"],
    scope="compiled",
    fix="suggestion",
    impact="high",
    category="compile",
    principle=("fusion",),
    confirmed_by=("graph_break",),
)
def break_scalar_read(site: Site) -> Iterator[Finding]:
    """The value of a tensor is read inside a compiled region.

    ## What it does
    Finds `.item()`, `.tolist()`, `float()`, `int()`, `bool()`, `str()` and `math` functions of a tensor, `torch.equal()`, `torch.allclose()`, `torch.is_nonzero()`, and tensors used as bounds of a slice, as the length of a `range()` or as an index of a list, where `torch.compile` traces the code.

    ## Why is this slow?
    Dynamo traces with tensors that hold no values, so it can't go on where Python needs one.
    It ends the graph, runs it, waits for the device, and begins another graph behind the read.
    Nothing is fused across the gap, and what lives on both sides is written to memory and read again.

    ## When it does not matter
    With `torch._dynamo.config.capture_scalar_outputs = True` the reads of single numbers become part of the graph; the rule is silent about them then.
    `x.numpy()`, shapes and `x.numel()` are traced.
    In a region with `fullgraph=True` the constructs that are an error there are reported as TL209, and the others are captured.

    ## Bad
    ```python
    @torch.compile
    def scale(x: torch.Tensor) -> torch.Tensor:
        return x * x.abs().max().item()  # TL201
    ```

    ## Good
    ```python
    @torch.compile
    def scale(x: torch.Tensor) -> torch.Tensor:
        return x * x.abs().max()
    ```

    ## References
    - https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0124.html (`.item()`), gb0109.html and gb0033.html (`.tolist()`, `torch.equal`)
    - https://docs.pytorch.org/docs/stable/compile/programming_model.fullgraph_false.html
    """
    found = breaks.broken(site, "TL201")
    if found is not None:
        yield site.finding(f"`{site.short()}` {told(found)}", related=site.why_compiled())
