from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule


@rule(
    "TL806",
    shape=["torch.distributed.barrier(...)", "$x.wait_for_everyone(...)", "$x.barrier(...)"],
    scope="hot",
    category="distributed",
    principle=("async",),
)
def barrier_in_hot_loop(site: Site) -> Iterator[Finding]:
    """All processes wait for each other on every training step.

    ## What it does

    Finds `torch.distributed.barrier()`, accelerate's `wait_for_everyone()` and fabric's `barrier()` on each iteration of a step
    loop.

    ## Why is this slow?

    A barrier waits for the device and then for the slowest process, so the host can't queue the next step, and each hiccup of
    one process stops all.
    Collectives order themselves; the gradients need no barrier.

    ## When it does not matter

    Once an epoch, around checkpoints, and for timing, behind a condition that holds now and then: none of it is
    reported, nor are benchmarks and tests.

    ## Bad

    ```python
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
        torch.distributed.barrier()  # TL806
    ```

    ## Good

    ```python
    for epoch in range(10):
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
        torch.distributed.barrier()  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.barrier
    """
    if site.role in ("test", "benchmark"):
        return
    if site.hot is None or (site.name == ".barrier()" and site.receiver.kind not in ("accelerator", "unknown")):
        return
    if site.name == ".barrier()" and "fabric" not in site.text(site.call.func) and site.receiver.kind != "accelerator":
        return
    yield site.finding(
        f"`{site.short()}` makes all processes wait for the slowest one on every step", related=site.why_hot()
    )
