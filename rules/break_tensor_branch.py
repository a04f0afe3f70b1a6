from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import breaks
from torchlint.facts.break_place import told
from torchlint.rule import Finding, Site, rule


@rule(
    "TL202",
    shape=[
        "if $_: ...",
        "while $_: ...",
        "$_ if $_ else $_",
        "$_ and $_",
        "$_ or $_",
        "assert $_",
        "[$_ for $_ in $_]",
        "{$_ for $_ in $_}",
        "{$_: $_ for $_ in $_}",
        "($_ for $_ in $_)",
        "$f(...)",
    ],
    scope="compiled",
    fix="unsafe",
    numbers="exact",
    impact="high",
    category="compile",
    principle=("fusion",),
    confirmed_by=("graph_break",),
)
def break_tensor_branch(site: Site) -> Iterator[Finding]:
    """Python control flow depends on the value of a tensor inside a compiled region.

    ## What it does
    Finds `if`, `while`, conditional expressions, `and` and `or`, filters of comprehensions, `any()`, `all()` and `sorted()` over tensors, and `assert` with a tensor and a message that is put together, or with one that is turned around (`assert not x.any()`), where `torch.compile` traces the code.

    ## Why is this slow?
    Dynamo does not know which way Python will go.
    It ends the graph before the decision, waits for the device to have the value, and compiles what follows as another graph.
    A break inside a loop or a `with` of an unsupported context manager gives the whole function back to eager mode.

    ## When it does not matter
    Tests of `None`, types, shapes, dtypes, devices, `self.training` and other Python values are decided while tracing and cost nothing.
    `assert x.all()` with a constant message, or with none, becomes a check inside the graph.
    A check for overflow behind `x.dtype == torch.float16` is not reported: other precisions never come to it.

    ## Bad
    ```python
    @torch.compile
    def clip(x: torch.Tensor) -> torch.Tensor:
        if x.norm() > 1:  # TL202
            x = x / x.norm()
        return x
    ```

    ## Good
    ```python
    @torch.compile
    def clip(x: torch.Tensor) -> torch.Tensor:
        norm = x.norm()
        return torch.where(norm > 1, x / norm, x)
    ```

    ## Fix safety
    The fix makes the message of an `assert` a constant, where that ends the break. It is unsafe: what was an `AssertionError` with values is, compiled, a
    `RuntimeError` with the constant text, on a GPU one that ends its context. Nothing is offered in a project that catches
    `AssertionError`.
    Other findings show no edit, or a suggestion that is not applied: `torch.where` computes both sides, and `torch.cond` has conditions of its own.

    ## References
    - https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html
    - https://docs.pytorch.org/docs/stable/cond.html
    - https://docs.pytorch.org/docs/stable/compile/programming_model.fullgraph_true.html
    """
    found = breaks.broken(site, "TL202")
    if found is not None:
        shown = site.name if site.name in ("if", "while", "assert") else site.short()
        yield site.finding(f"`{shown}` {told(found)}", related=site.why_compiled())
