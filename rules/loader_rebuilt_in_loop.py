from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import begun
from torchlint.facts.nodes import names_in
from torchlint.facts.uses import meant
from torchlint.rule import Finding, Site, rule


@rule(
    "TL408",
    shape=["next($iterator, ...)", "torch.utils.data.DataLoader(...)"],
    scope="hot",
    fix="suggestion",
    impact="medium",
    category="data",
    principle=("pipeline",),
)
def loader_rebuilt_in_loop(site: Site) -> Iterator[Finding]:
    """A loader starts anew inside the loop that reads it.

    ## What it does

    Finds `next(iter(loader))` in a step loop, or `next(cycle(loader))` with a generator that begins the loader, `DataLoader(...)` in a step loop, and `DataLoader(...)` in the epoch loop
    around one (info) where nothing that the loader is made of changes from epoch to epoch.

    ## Why is this slow?

    Each `iter()` starts the worker processes, shuffles, and fills the queue of prefetched batches; `next()` takes one
    batch and the rest is thrown away. A new loader each epoch pays for the start of its workers in each.

    ## When it does not matter

    A first batch for a sanity check outside of loops. A loader whose dataset or size depends on the epoch has to be
    made anew, as for the folds of a cross-validation: neither is reported, nor is one that is made for an evaluation now and then.

    ## Bad

    ```python
    loader = torch.utils.data.DataLoader(dataset, num_workers=4)
    for step in range(1000):
        x, y = next(iter(loader))  # TL408
        model(x, y).backward()
        optimizer.step()
    ```

    ## Good

    ```python
    loader = torch.utils.data.DataLoader(dataset, num_workers=4)
    batches = iter(loader)
    for step in range(1000):
        x, y = next(batches)  # ok
        model(x, y).backward()
        optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
    """
    if site.name == "next()":
        if site.hot:
            yield from _taken_once(site, site.part("iterator"))
    elif site.hot:
        yield site.finding(f"`{site.short(site.call.func)}` is built on every step", related=site.why_hot())
    elif not site.rare and _in_epoch_loop(site):
        yield site.finding(f"`{site.short(site.call.func)}` is built in every epoch", severity="info")


def _taken_once(site: Site, iterator: ast.expr) -> Iterator[Finding]:
    """`next(iter(loader))`, or `batches = iter(loader)` in front of the one `next(batches)`, as often as that runs."""
    made = meant(site.function, iterator)
    if not isinstance(made, ast.Call) or site.flow.loops(made) != site.flow.loops(site.call):
        return
    if begun.begins_loader(site, made):
        told, what = (site.call, "and takes one batch of it") if made is iterator else (made, "for one batch of it")
        message = f"`{site.short(told)}` starts the loader anew on every step {what}"
        yield site.finding(message, at=told, related=site.why_hot())


def _in_epoch_loop(site: Site) -> bool:
    """Whether a loop around the loader holds a step loop, and the loader is the same each time."""
    loop = site.loop()
    if loop is None or not any(loop in site.flow.loops(step) for step in site.analysis.steps.loops_of(site.function)):
        return False
    changed = {
        name.id
        for node in ast.walk(loop)
        if isinstance(node, ast.For | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr | ast.withitem)
        for target in _targets(node)
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    used = names_in(site.call)
    made = any(isinstance(part, ast.Call) and part is not site.call for part in ast.walk(site.call))
    return not (used & changed) and not made


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, ast.withitem):
        return [node.optional_vars] if node.optional_vars is not None else []
    assert isinstance(node, ast.For | ast.AugAssign | ast.AnnAssign | ast.NamedExpr)
    return [node.target]
