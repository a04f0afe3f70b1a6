from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import breaks
from torchlint.facts.break_place import named
from torchlint.rule import Finding, Site, plain, rule


@rule(
    "TL209",
    shape=plain(*breaks.KINDS),
    scope="compiled",
    severity="error",
    fix="none",
    impact="high",
    category="compile",
    principle=("fusion",),
    confirmed_by=("graph_break", "unsupported"),
)
def fullgraph_violation(site: Site) -> Iterator[Finding]:
    """A construct that `fullgraph=True` raises for.

    ## What it does
    Finds what TL201 to TL208 find, in regions compiled with `fullgraph=True`.
    Which constructs are an error there is looked up for the torch version of the project: reading one number with `.item()` and operations such as `nonzero()` are captured by torch 2.13, branches on tensors and calls that can't be traced are not.

    ## Why is this slow?
    It does not run at all: `torch.compile` raises `torch._dynamo.exc.Unsupported` at the first call that traces the line.

    ## When it does not matter
    Where the line is never traced, such as behind `if not torch.compiler.is_compiling():`.

    ## Bad
    ```python
    @torch.compile(fullgraph=True)
    def clip(x: torch.Tensor) -> torch.Tensor:
        if x.norm() > 1:  # TL209
            x = x / x.norm()
        return x
    ```

    ## Good
    ```python
    @torch.compile(fullgraph=True)
    def clip(x: torch.Tensor) -> torch.Tensor:
        norm = x.norm()
        return torch.where(norm > 1, x / norm, x)
    ```

    ## References
    - https://docs.pytorch.org/docs/stable/compile/programming_model.fullgraph_true.html
    - https://docs.pytorch.org/docs/stable/compile/programming_model.error_on_graph_break.html
    """
    found = breaks.violation(site)
    if found is not None:
        shown = site.name if site.name in ("if", "while", "assert") else site.short()
        identifiers = f" ({named(found.fullgraph)})" if named(found.fullgraph) else ""
        yield site.finding(
            f"`{shown}` fails under fullgraph=True{identifiers}: {found.why}.", related=site.why_compiled()
        )
