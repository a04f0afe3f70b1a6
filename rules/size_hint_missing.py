from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import frequency
from torchlint.facts import host_reads as reads
from torchlint.facts.operator_calls import is_sent
from torchlint.rule import Finding, Site, rule


@rule(
    "TL109",
    shape=["torch.nn.functional.one_hot(...)", "torch.repeat_interleave(...)", "$x.repeat_interleave(...)"],
    severity="info",
    impact="low",
    category="sync",
    principle=("async",),
    confirmed_by=("sync",),
)
def size_hint_missing(site: Site) -> Iterator[Finding]:
    """The size of a result is computed on the device and waited for, though the caller knows it.

    ## What it does

    Finds `F.one_hot(x)` without `num_classes` and `torch.repeat_interleave(x, repeats)` with a tensor of repeats
    and without `output_size`, in step loops, in what they call, in evaluation and generation loops and in
    `forward`.

    ## Why is this slow?

    To allocate the result, the host needs the largest class, or the sum of the repeats: it waits until the device
    has finished everything queued so far. Under torch.compile the size depends on data, which breaks the graph. The
    number of classes may also differ from batch to batch, which is rarely meant.

    ## When it does not matter

    In preparation of data, and for tensors in host memory. A number of repeats that is a Python integer needs no
    hint: none of these is reported.

    ## Bad

    ```python
    for images, labels in loader:
        labels = labels.to(device)
        target = torch.nn.functional.one_hot(labels)  # TL109
        loss = criterion(model(images.to(device)), target.float())
        loss.backward()
        optimizer.step()
    ```

    ## Good

    ```python
    for images, labels in loader:
        labels = labels.to(device)
        target = torch.nn.functional.one_hot(labels, num_classes=10)  # ok
        loss = criterion(model(images.to(device)), target.float())
        loss.backward()
        optimizer.step()
    ```

    ## References

    - <https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.one_hot.html>
    - <https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html>
    """
    if not site.accelerator or site.spread or site.role == "test":
        return
    missing = _one_hot(site) if site.name.endswith("one_hot()") else _repeats(site)
    if missing is None or (
        site.hot is None and site.warm is None and site.region is None and not frequency.in_forward(site)
    ):
        return
    message = f"`{site.short()}` computes its size on the device and the host waits for it: give `{missing}`"
    yield site.finding(message, related=site.why_hot())


def _one_hot(site: Site) -> str | None:
    given = site.argument("num_classes", 1)
    labels = site.argument("tensor", 0) or site.argument("input")
    if given is not None and site.value(given).const != -1:
        return None
    # A guess is enough: one_hot takes nothing but tensors.
    return "num_classes" if labels is not None and _on_device(site, labels) else None


def _repeats(site: Site) -> str | None:
    method = site.name.startswith(".")
    repeats = site.argument("repeats", 0 if method else 1)
    if repeats is None or site.argument("output_size") is not None:
        return None
    value = site.value(repeats)
    if is_sent(value):
        return "output_size"
    if not value.is_tensor or value.other_kinds:
        return None
    return "output_size" if reads.device_tensor(site, repeats) is not None else None


def _on_device(site: Site, node: ast.expr) -> bool:
    value = site.value(node)
    return not value.on_cpu and not value.from_loader and value.kind in ("tensor", "unknown")
