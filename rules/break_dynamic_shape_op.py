from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import breaks
from torchlint.facts.break_place import told
from torchlint.rule import Finding, Site, rule


@rule(
    "TL204",
    shape=["$f(...)", "$x[$i]"],
    scope="compiled",
    fix="none",
    category="compile",
    principle=("fusion",),
    confirmed_by=("graph_break",),
)
def break_dynamic_shape_op(site: Site) -> Iterator[Finding]:
    """An operation inside a compiled region gives a tensor whose shape depends on values.

    ## What it does
    Finds `nonzero()`, `argwhere()`, `torch.where(condition)`, `x[mask]`, `masked_select()`, `unique()`, `bincount()`, `combinations()`, `ctc_loss()`, `repeat_interleave()` with a tensor of counts, and `one_hot()` without `num_classes`, where `torch.compile` traces the code.

    ## Why is this slow?
    The graph has no shape for what comes next.
    Dynamo ends it, runs it, waits for the device to learn the shape, and begins another graph.

    ## When it does not matter
    With `torch._dynamo.config.capture_dynamic_output_shape_ops = True` these operations are captured with a shape that is unknown; the rule is silent then.
    In a region with `fullgraph=True` torch 2.13 captures most of them, too.
    `x[mask] = 0`, `repeat_interleave(x, 2)`, `repeat_interleave(..., output_size=n)` and `one_hot(x, 10)` have a known shape.

    ## Bad
    ```python
    @torch.compile
    def positives(x: torch.Tensor) -> torch.Tensor:
        return x[x > 0].mean()  # TL204
    ```

    ## Good
    ```python
    @torch.compile
    def positives(x: torch.Tensor) -> torch.Tensor:
        mask = x > 0
        return torch.where(mask, x, 0).sum() / mask.sum()
    ```

    ## References
    - https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0036.html, gb0246.html
    - https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html
    """
    found = breaks.broken(site, "TL204")
    if found is not None:
        yield site.finding(f"`{site.short()}` {told(found)}", related=site.why_compiled())
