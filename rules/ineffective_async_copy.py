from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule

_PAGEABLE = frozenset(("torch.from_numpy", "torch.tensor", "torch.as_tensor"))
_BACKGROUND = ("collate", "prefetch", "preload", "worker", "thread", "pin")


@rule(
    "TL404",
    shape=["$x.to(..., non_blocking=True)", "$x.cuda(..., non_blocking=True)"],
    set="preview",
    severity="info",
    fix="suggestion",
    impact="low",
    category="data",
    principle=("pipeline",),
)
def ineffective_async_copy(site: Site) -> Iterator[Finding]:
    """An asynchronous copy pays for pinning on the spot, or starts from memory that is not pinned.

    ## What it does

    Finds `x.pin_memory().to(device, non_blocking=True)`, and in loops `non_blocking=True` on the batch of a loader that
    is proven not to pin, or on a tensor made from an array or a list in the same expression.

    ## Why is this slow?

    `pin_memory()` allocates page-locked memory and copies into it, on the thread that was to be spared: that can take
    longer than the plain copy it replaces. From pageable memory the driver stages the copy, and the host waits for the
    staging whatever `non_blocking` says.

    ## When it does not matter

    Where another thread pins, where a pinned buffer is used again and again, and where the copy overlaps kernels that
    were queued before it: measure. Functions named for collating, prefetching or pinning, and code on a stream of its
    own, are not reported.

    ## Bad

    ```python
    for x in batches:
        x = x.pin_memory().to(device, non_blocking=True)  # TL404
        model(x).sum().backward()
        optimizer.step()
    ```

    ## Good

    ```python
    loader = torch.utils.data.DataLoader(dataset, pin_memory=True)
    for x, y in loader:
        x = x.to(device, non_blocking=True)  # ok
        model(x).sum().backward()
        optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    """
    if _in_background(site):
        return
    owner = site.part("x")
    if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr == "pin_memory":
        if site.value(owner.func.value).kind in ("tensor", "unknown", "batch"):
            yield site.finding(
                f"`{site.short()}` pins memory on the thread that it should spare", related=site.why_hot()
            )
        return
    if not (site.hot or site.warm):
        return
    made = isinstance(owner, ast.Call) and site.resolve(owner.func) in _PAGEABLE
    batch = site.receiver
    if batch.kind in ("tensor", "batch"):
        made = made or (batch.from_loader and batch.pinned is False and batch.device == "cpu" and not batch.managed)
    if made:
        yield site.finding(
            f"`{site.short(owner)}` is not pinned: `non_blocking=True` has no effect", related=site.why_hot()
        )


def _in_background(site: Site) -> bool:
    if any(word in site.function.name.lower() for word in _BACKGROUND):
        return True
    return any("stream" in ast.unparse(context).lower() for context in site.flow.contexts(site.target))
