from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.nodes import is_constant
from torchlint.rule import Finding, Site, chain, plain, rule

_NAMES = ("torch.utils.data.distributed.DistributedSampler()", "torch.utils.data.DistributedSampler()")
_MANAGED = (b"accelerat", b"lightning", b"fabric", b"set_epoch", b"hydra", b"deepspeed")


@rule("TL809", shape=plain(*_NAMES), category="distributed")
def sampler_epoch_not_set(site: Site) -> Iterator[Finding]:
    """A shuffling `DistributedSampler` that is never told the epoch.

    ## What it does

    Finds a `DistributedSampler` in a file that loops over epochs and in which nobody calls `set_epoch`, and no other file that
    imports it does.

    ## Why is this slow?

    It is wrong rather than slow: the order of the samples is drawn from the seed and the epoch, so without `set_epoch` each
    epoch has the order of the first, and each process sees the same part in the same order again.

    ## When it does not matter

    With `shuffle=False`, for evaluation, and in a single epoch.
    Frameworks call `set_epoch` themselves.

    ## Bad

    ```python
    sampler = torch.utils.data.DistributedSampler(dataset)  # TL809
    loader = torch.utils.data.DataLoader(dataset, sampler=sampler)
    for epoch in range(10):
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
    ```

    ## Good

    ```python
    sampler = torch.utils.data.DistributedSampler(dataset)  # ok
    loader = torch.utils.data.DataLoader(dataset, sampler=sampler)
    for epoch in range(10):
        sampler.set_epoch(epoch)
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
    """
    shuffle = site.argument("shuffle", 3)
    if site.spread or (shuffle is not None and not is_constant(shuffle, True)):
        return
    if site.role == "test" or _is_told(site) or _for_evaluation(site) or not _loops_over_epochs(site):
        return
    yield site.finding(f"`{site.short()}` gives the same order in every epoch: nobody calls its `set_epoch(epoch)`")


def _is_told(site: Site) -> bool:
    """Whether this file or one that imports it calls `set_epoch`, or leaves the loop to a framework."""
    files = [site.module.path, *site.project.importers(site.module.path)]
    sources = [source.data for source in map(site.project.source, files) if source is not None]
    return any(word in data for word in _MANAGED for data in sources)


def _for_evaluation(site: Site) -> bool:
    """Whether the sampler goes by its name, or by the name of its dataset, to an evaluation."""
    parent = site.flow.parents.get(site.target)
    named = parent.targets[0] if isinstance(parent, ast.Assign) else None
    words = [
        *(chain(named) or [] if named is not None else []),
        *(chain(site.call.args[0]) or [] if site.call.args else []),
    ]
    text = " ".join(words).lower()
    return any(word in text for word in ("val", "test", "eval", "pred"))


def _loops_over_epochs(site: Site) -> bool:
    """Whether a loop of the file counts epochs around a step loop."""
    steps = site.analysis.steps
    for function, loop in [(one, loop) for one in site.module.functions for loop in steps.loops_of(one)]:
        outer = function.flow.loops(loop)
        if outer and isinstance(outer[-1], ast.For):
            named = " ".join(n.id for n in ast.walk(outer[-1].target) if isinstance(n, ast.Name)).lower()
            if "epoch" in named:
                return True
    return False
