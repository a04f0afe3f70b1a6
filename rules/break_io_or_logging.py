from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import breaks
from torchlint.facts.break_place import told
from torchlint.rule import Finding, Site, rule


@rule(
    "TL203",
    shape="$f(...)",
    scope="compiled",
    fix="unsafe",
    numbers="exact",
    impact="high",
    category="compile",
    principle=("fusion",),
    confirmed_by=("graph_break",),
)
def break_io_or_logging(site: Site) -> Iterator[Finding]:
    """Input, output or logging inside a compiled region.

    ## What it does
    Finds `print()`, calls of `logging` and of loggers, `warnings.warn()`, `open()`, `sys.stdout.write()`, `json`, `pickle`, `torch.save()` and `torch.load()` where `torch.compile` traces the code.
    What breaks is looked up for the torch version of the project.

    ## Why is this slow?
    None of it can be part of a graph: Dynamo ends the graph, runs the call in Python, and begins another graph behind it, once for each such call.

    ## When it does not matter
    Behind `if not torch.compiler.is_compiling():`, behind a flag for debugging, and on the way to an exception the call is not traced in ordinary runs.
    A warning or a log message under a condition tells that something is not as usual; the rule is silent about those, unless an ordinary call meets the condition because an argument is left at its default (`if mask is None:`).
    So it is about `print()` and logging in a project that uses `torch._dynamo.config.reorderable_logging_functions` or `ignore_logging_functions`.
    `torch.profiler.record_function` does not break the graph.

    ## Bad
    ```python
    @torch.compile
    def step(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        print("relu", y.shape)  # TL203
        return y * 2
    ```

    ## Good
    ```python
    @torch.compile
    def step(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        if not torch.compiler.is_compiling():
            print("relu", y.shape)
        return y * 2
    ```

    ## Fix safety
    The fix puts the call behind `if not torch.compiler.is_compiling():`, where the call and what it is given do nothing but
    write: no call of the project, no random number, no iterator, nothing that is changed in place or bound by `:=`, and of
    torch nothing that settles something, sends or goes backward.
    It is unsafe because the compiled program no longer prints or logs.

    ## References
    - https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html (`print`), gb0291.html (`logging`), gb0007.html (`warnings`, `pickle`)
    - https://docs.pytorch.org/docs/stable/compile/programming_model.fullgraph_true.html
    """
    found = breaks.broken(site, "TL203")
    if found is not None:
        yield site.finding(f"`{site.short()}` {told(found)}", related=site.why_compiled())
