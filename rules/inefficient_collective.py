from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, plain, rule

_OBJECTS = {
    f"torch.distributed.{name}()"
    for name in "all_gather_object gather_object broadcast_object_list scatter_object_list send_object_list".split()
}
_SMALL = {f"torch.distributed.{name}()" for name in ("all_reduce", "reduce")}


@rule(
    "TL807",
    shape=[*plain(*_OBJECTS), *plain(*_SMALL)],
    scope="hot",
    set="preview",
    severity="info",
    impact="low",
    category="distributed",
    principle=("batching",),
)
def inefficient_collective(site: Site) -> Iterator[Finding]:
    """Several small collectives, or pickled objects, on every training step.

    ## What it does

    Finds `all_gather_object` and its like on each iteration of a step loop, and the second and further `all_reduce` or `reduce`
    of scalars in one loop body.

    ## Why is this slow?

    A collective of a few bytes costs its latency, which is the same for all of them together.
    Objects are pickled, copied to the device and back, and their sizes are exchanged first, with a wait for the device.

    ## When it does not matter

    Once an epoch, or behind a logging interval; neither is reported.

    ## Bad

    ```python
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        torch.distributed.all_gather_object(losses, loss.detach())  # TL807
    ```

    ## Good

    ```python
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        metrics = torch.stack((loss.detach(), accuracy))
        torch.distributed.all_reduce(metrics)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather_object
    """
    if site.hot is None:
        return
    if site.name in _OBJECTS:
        yield site.finding(
            f"`{site.short()}` pickles objects and waits for the device on every step", related=site.why_hot()
        )
    elif _is_scalar(site) and _has_earlier(site):
        yield site.finding(
            f"`{site.short()}` is one of several small collectives on every step; stack the values and exchange them once",
            related=site.why_hot(),
        )


def _is_scalar(site: Site) -> bool:
    given = site.argument("tensor", 0)
    value = site.value(given) if given is not None else None
    return value is not None and value.is_tensor and value.scalar


def _has_earlier(site: Site) -> bool:
    """Whether a collective of another scalar stands before this one in the same loop body."""
    loop = site.loop()
    for call in site.flow.calls:
        if call.lineno >= site.call.lineno or f"{site.resolve(call.func)}()" not in _SMALL:
            continue
        loops = site.flow.loops(call)
        if loop is not None and loops and loops[0] is loop and call.args and not isinstance(call.args[0], ast.Starred):
            other = Site(site.analysis, site.function, call, site.rule)
            if _is_scalar(other):
                return True
    return False
