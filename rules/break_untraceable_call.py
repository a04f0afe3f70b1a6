from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import breaks
from torchlint.facts.break_place import told
from torchlint.rule import Finding, Site, rule


@rule(
    "TL205",
    shape="$f(...)",
    scope="compiled",
    fix="none",
    impact="medium",
    category="compile",
    principle=("fusion",),
    confirmed_by=("graph_break",),
)
def break_untraceable_call(site: Site) -> Iterator[Finding]:
    """A call inside a compiled region that Dynamo can't trace.

    ## What it does
    Finds the clock, random numbers of Python and NumPy, the operating system, processes, locks, `torch.manual_seed()`, statistics of CUDA memory, and context managers such as `torch.autograd.detect_anomaly()`, where `torch.compile` traces the code.
    What breaks is looked up for the torch version of the project: the table was made by compiling each of these calls.

    ## Why is this slow?
    Dynamo ends the graph, makes the call in Python, and begins another graph behind it.
    Where the call sits in a loop, the whole function may be left to eager mode.

    ## When it does not matter
    A call of a function that is disabled on purpose, by `torch.compiler.disable`, is not reported: one break can be cheaper than many inside it.
    Where nothing may break (`fullgraph=True`) TL209 tells of it.
    Many calls that used to break do not any more, such as `random.randint()`, `numpy.random.randn()`, `os.environ.get()`, `re.match()` and `copy.deepcopy()` of a list on torch 2.13.

    ## Bad
    ```python
    import time

    @torch.compile
    def forward(x: torch.Tensor) -> tuple[torch.Tensor, float]:
        start = time.perf_counter()  # TL205
        return torch.relu(x), start
    ```

    ## Good
    ```python
    import time

    @torch.compile
    def forward(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)

    def timed(x: torch.Tensor) -> tuple[torch.Tensor, float]:
        start = time.perf_counter()
        return forward(x), start
    ```

    ## References
    - https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0007.html, gb0033.html
    - https://docs.pytorch.org/docs/stable/compile/programming_model.compiler_disable.html
    """
    found = breaks.broken(site, "TL205")
    if found is not None and found.construct != "torch.compiler.disable":
        yield site.finding(f"`{site.short()}` {told(found)}", related=site.why_compiled())
