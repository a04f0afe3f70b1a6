from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import breaks
from torchlint.facts.break_place import told
from torchlint.rule import Finding, Site, rule


@rule(
    "TL206",
    shape=["$f(...)", "$_ = $_"],
    scope="compiled",
    fix="none",
    impact="medium",
    category="compile",
    principle=("fusion",),
    confirmed_by=("graph_break",),
)
def break_state_change(site: Site) -> Iterator[Finding]:
    """Compiled code makes parameters, or changes a tensor in a way that no graph can hold.

    ## What it does
    Finds, where `torch.compile` traces the code, modules with parameters and `torch.nn.Parameter` that are made there, `torch.zeros(..., requires_grad=True)`, assignments to `.requires_grad` and `.data`, `copy.copy()` and `copy.deepcopy()` of tensors, `resize_()`, `share_memory_()`, `retain_grad()`, and the registration of forward hooks.

    ## Why is this slow?
    The graph is a function of tensors: it can't make a leaf of autograd, swap the storage of a tensor, or change what a module does.
    Dynamo ends the graph, does it in Python, and begins another graph behind it.
    A layer that is made in `forward` is also initialised anew in each call.

    ## When it does not matter
    Modules without parameters, `.detach()`, reading `.data`, and `requires_grad_()` of a tensor that the function made are traced.

    ## Bad
    ```python
    class Head(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            layer = torch.nn.Linear(x.shape[-1], 10)  # TL206
            return layer(x)

    model = torch.compile(Head())
    ```

    ## Good
    ```python
    class Head(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(width, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)

    model = torch.compile(Head(8))
    ```

    ## References
    - https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0264.html (parameters), gb0056.html (`.data`), gb0206.html (`.requires_grad`)
    - https://docs.pytorch.org/docs/stable/compile/programming_model.fullgraph_true.html
    """
    found = breaks.broken(site, "TL206")
    if found is not None:
        yield site.finding(f"`{site.short()}` {told(found)}", related=site.why_compiled())
