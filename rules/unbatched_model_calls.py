from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.nodes import bound_names
from torchlint.rule import Finding, Site, rule

_RECURRENT = frozenset(("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"))
"""Their first dimension is time, and each step needs the one before."""


@rule(
    "TL711",
    shape="$sample.unsqueeze(dim := 0, ...)",
    scope="hot",
    set="preview",
    severity="info",
    impact="high",
    category="kernel",
    principle=("vectorisation", "batching"),
)
def unbatched_model_calls(site: Site) -> Iterator[Finding]:
    """A model is called on one sample after the other.

    ## What it does

    Finds `model(x.unsqueeze(0))` in a loop over the samples `x`.

    ## Why is this slow?

    A batch of one launches as many kernels as a batch of sixty-four, and fills a small part of the device; the weights are read
    from memory anew for each sample.

    ## When it does not matter

    For samples of different shapes that can't be padded, in serving, where one request is all there is, and for steps of an
    environment that depend on the one before.

    ## Bad

    ```python
    model = torch.nn.Linear(8, 8).cuda().eval()
    with torch.no_grad():
        for sample in samples:
            y = model(sample.unsqueeze(0))  # TL711
    ```

    ## Good

    ```python
    model = torch.nn.Linear(8, 8).cuda().eval()
    with torch.no_grad():
        for batch in torch.utils.data.DataLoader(samples, batch_size=64):
            y = model(batch)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/data.html
    """
    loop = site.loop((ast.For,))
    if not isinstance(loop, ast.For) or not (site.hot or site.warm):
        return
    parent = site.flow.parents.get(site.target)
    while isinstance(parent, ast.Attribute):
        # model(x.unsqueeze(0).to(device))
        parent = site.flow.parents.get(site.flow.parents[parent])
    if not isinstance(parent, ast.Call):
        return
    model = site.value(parent.func)
    if model.kind != "module" or model.class_name in _RECURRENT:
        return
    root = site.part("sample")
    names = bound_names(loop.target)
    if isinstance(root, ast.Name) and root.id in names:
        yield site.finding(
            f"`{site.short(parent)}` runs the model on one sample at a time; collect a batch",
            at=parent,
            related=site.why_hot(),
        )
