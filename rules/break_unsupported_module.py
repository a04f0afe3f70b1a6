from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import breaks
from torchlint.facts.break_place import told
from torchlint.rule import Finding, Site, rule


@rule(
    "TL208",
    shape="$f(...)",
    scope="compiled",
    fix="none",
    category="compile",
    principle=("fusion",),
    confirmed_by=("graph_break",),
)
def break_unsupported_module(site: Site) -> Iterator[Finding]:
    """A compiled region uses a recurrent layer, TorchScript, or a sparse or nested tensor.

    ## What it does
    Finds, where `torch.compile` traces the code, calls of `torch.nn.LSTM`, `GRU` and `RNN`, calls of modules and functions that went through `torch.jit`, sparse tensors, and nested tensors of the strided layout.

    ## Why is this slow?
    Dynamo does not trace them.
    For a recurrent layer it gives up the whole function around it, which then runs eagerly; the others split the graph.

    ## When it does not matter
    Cells such as `torch.nn.LSTMCell` and nested tensors with `layout=torch.jagged` are traced.
    With `torch._dynamo.config.allow_rnn = True` recurrent layers are, too; the rule is silent about them then.

    ## Bad
    ```python
    class Tagger(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(8, 8)
            self.head = torch.nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden, _ = self.lstm(x)  # TL208
            return self.head(hidden)

    model = torch.compile(Tagger())
    ```

    ## Good
    ```python
    class Tagger(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(8, 8)
            self.head = torch.compile(torch.nn.Linear(8, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden, _ = self.lstm(x)
            return self.head(hidden)

    model = Tagger()
    ```

    ## References
    - https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0014.html (recurrent layers), gb4695.html (TorchScript), gb0277.html and gb0374.html (sparse), gb0090.html (nested)
    """
    found = breaks.broken(site, "TL208")
    if found is not None:
        yield site.finding(f"`{site.short()}` {told(found)}", related=site.why_compiled())
