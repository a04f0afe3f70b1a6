from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import breaks
from torchlint.facts.break_place import told
from torchlint.rule import Finding, Site, rule


@rule(
    "TL207",
    shape="$f(...)",
    scope="compiled",
    severity="info",
    fix="none",
    impact="medium",
    category="compile",
    principle=("fusion",),
    confirmed_by=("graph_break",),
)
def break_autograd_call(site: Site) -> Iterator[Finding]:
    """Autograd is driven from inside a compiled region.

    ## What it does
    Finds `loss.backward()`, `torch.autograd.grad()`, `torch.autograd.backward()` and `optimizer.zero_grad()` where `torch.compile` traces the code.

    ## Why is this slow?
    The backward graph is compiled together with the forward graph that it belongs to, and runs when autograd calls it.
    A call of autograd inside the region ends the forward graph there; with the optimizer behind it, one compiled training step is several graphs and breaks.

    ## When it does not matter
    The graphs on both sides are still compiled, so this costs little where there are few of them.
    With `torch._dynamo.config.compiled_autograd` or `trace_autograd_ops` turned on the rule is silent.
    `torch.func.grad()` is traced, and so is a compiled function that only calls `optimizer.step()`.

    ## Bad
    ```python
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters())

    @torch.compile
    def step(x: torch.Tensor) -> torch.Tensor:
        loss = model(x).sum()
        loss.backward()  # TL207
        optimizer.step()
        return loss
    ```

    ## Good
    ```python
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters())
    compiled = torch.compile(model)

    def step(x: torch.Tensor) -> torch.Tensor:
        loss = compiled(x).sum()
        loss.backward()
        optimizer.step()
        return loss
    ```

    ## References
    - https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0123.html (`backward`), gb9186.html (`torch.autograd.grad`), gb0008.html
    - https://docs.pytorch.org/docs/stable/compile/programming_model.fullgraph_true.html
    """
    found = breaks.broken(site, "TL207")
    if found is not None:
        yield site.finding(f"`{site.short()}` {told(found)}", related=site.why_compiled())
