from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import syntax, trainable
from torchlint.rule import Finding, Site, rule

_WRAPPERS = ("torch.nn.parallel.DistributedDataParallel", "torch.distributed.fsdp.FullyShardedDataParallel")


@rule(
    "TL810",
    shape=[f"$wrapped = {name}(...)" for name in _WRAPPERS],
    severity="error",
    impact="high",
    category="distributed",
)
def ddp_module_bypassed(site: Site) -> Iterator[Finding]:
    """The inner module of a DDP or FSDP model is called in training.

    ## What it does

    Finds `model.module(x)` and `model.module.forward(x)` in the same function as the `model = DistributedDataParallel(...)`, on
    each iteration of a step loop, also by another name: `inner = model.module`, `inner(x)`.

    ## Why is this slow?

    It is wrong: the wrapper's own forward prepares the exchange of gradients.
    Past it each process trains a model of its own, silently; FSDP computes with a shard of the parameters.

    ## When it does not matter

    In evaluation, under `torch.no_grad()`, and for methods such as `model.module.generate`, which are not reported.

    ## Bad

    ```python
    model = torch.nn.parallel.DistributedDataParallel(model)
    for x, y in loader:
        loss = criterion(model.module(x), y)  # TL810
        loss.backward()
        optimizer.step()
    ```

    ## Good

    ```python
    model = torch.nn.parallel.DistributedDataParallel(model)
    for x, y in loader:
        loss = criterion(model(x), y)  # ok
        loss.backward()
        optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """
    wrapped = _load(site.part("wrapped"))
    for call in site.flow.calls:
        if call.lineno <= site.call.lineno or not _is_inner(site, trainable.model_of(call), wrapped):
            continue
        place = Site(site.analysis, site.function, call, site.rule, site.name)
        if place.hot is not None and not place.grad_off:
            yield place.finding(
                f"`{place.short()}` goes past the wrapper, so the gradients of this pass are not exchanged",
                related=(site.related(site.function, site.call, "wrapped here"),),
            )


def _is_inner(site: Site, model: ast.expr, wrapped: ast.expr) -> bool:
    """Whether an expression is the module inside of the wrapper: `model.module`, or a name that is nothing else."""
    if isinstance(model, ast.Attribute):
        return model.attr == "module" and syntax.same(_load(model.value), wrapped)
    stores = site.flow.stores.get(model.id, ()) if isinstance(model, ast.Name) else ()
    given = [syntax.given_to_target(site.flow, store) for store in stores if store.lineno > site.call.lineno]
    # What the name stood for before is the module that was wrapped.
    before = [syntax.given_to_target(site.flow, store) for store in stores if store.lineno < site.call.lineno]
    inner = (isinstance(one, ast.Attribute) and _is_inner(site, one, wrapped) for one in given)
    return bool(given) and all(inner) and all(syntax.same(one, wrapped) for one in before)


def _load(node: ast.expr) -> ast.expr:
    """The expression as it is read."""
    if isinstance(node, ast.Name):
        return ast.Name(node.id, ast.Load())
    return ast.Attribute(_load(node.value), node.attr, ast.Load()) if isinstance(node, ast.Attribute) else node
