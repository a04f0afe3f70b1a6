from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import arguments, names
from torchlint.rule import Finding, Site, rule


@rule(
    "TL409",
    shape=["torch.save(...)", "copy.deepcopy(x := $copied, ...)", "$x.cpu(...)", "$x.to(...)"],
    scope="hot",
    set="preview",
    severity="info",
    impact="medium",
    category="data",
    principle=("pipeline",),
)
def blocking_work_in_hot_loop(site: Site) -> Iterator[Finding]:
    """A whole model is saved, copied or moved to the host on every step.

    ## What it does

    Finds `torch.save`, `copy.deepcopy` of a module or its state, and `module.cpu()` or `module.to("cpu")` that run on
    every training step.

    ## Why is this slow?

    Each of them reads all parameters: the host waits for the device, copies gigabytes, and for a file waits for the
    disk. The step takes seconds longer.

    ## When it does not matter

    Every so many steps, at the end of an epoch, or under a condition such as a better score: none of these is reported.
    Moving a model away on purpose, because there is no room for it during the step, is a trade of time for memory.

    ## Bad

    ```python
    net = torch.nn.Linear(4, 4).to(device)
    for x in batches:
        net(x).sum().backward()
        optimizer.step()
        torch.save(net.state_dict(), 'last.pt')  # TL409
    ```

    ## Good

    ```python
    net = torch.nn.Linear(4, 4).to(device)
    for step, x in enumerate(batches):
        net(x).sum().backward()
        optimizer.step()
        if step % 1000 == 0:
            torch.save(net.state_dict(), 'last.pt')  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
    - https://docs.pytorch.org/docs/stable/generated/torch.save.html
    """
    if site.hot is None or site.hot.weak or _conditional(site) or site.role == "test":
        return
    what = _work(site)
    if what:
        yield site.finding(f"`{site.short()}` {what} on every step", related=site.why_hot())


def _conditional(site: Site) -> bool:
    """Whether a comparison decides between the step loop and the place: a best score, a number of steps; or who asks to offload."""
    loop = site.hot.loop if site.hot is not None and site.hot.function is site.function else None
    return any(
        any(isinstance(part, ast.Compare) or _offloads(part) for part in ast.walk(guard.test))
        for guard in site.flow.guards(site.target, loop)
    )


def _offloads(part: ast.AST) -> bool:
    """`args.offload`, `cpu_offload`"""
    return isinstance(part, ast.Name | ast.Attribute) and "offload" in names.last(part)


def _work(site: Site) -> str:
    if site.name == "torch.save()":
        return "" if _is_in_memory(site) else "writes a file"
    if site.name == "copy.deepcopy()":
        given = site.part("copied")
        state = (
            isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "state_dict"
        )
        return "copies all parameters" if state or site.value(given).kind == "module" else ""
    if site.receiver.kind != "module" or not site.accelerator:
        return ""
    target = site.argument("device", 0)
    to_host = site.name == ".cpu()" or (target is not None and arguments.device_of(site.value(target)) == "cpu")
    return "moves all parameters to the host" if to_host else ""


def _is_in_memory(site: Site) -> bool:
    """`torch.save(x, buffer)` of a `buffer = io.BytesIO()`: bytes to be sent elsewhere."""
    target = site.argument("f", 1)
    made = site.function.assigned_once(target.id) if isinstance(target, ast.Name) else target
    return isinstance(made, ast.Call) and site.resolve(made.func) == "io.BytesIO"
