from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import host_reads as reads
from torchlint.rule import Finding, Severity, Site, rule


@rule(
    "TL113",
    on={"torch.tensor()", "torch.as_tensor()", "torch.from_numpy()"},
    set="preview",
    severity="info",
    impact="medium",
    category="sync",
    principle=("async",),
    confirmed_by=("h2d",),
)
def python_data_to_device_in_hot_path(site: Site) -> Iterator[Finding]:
    """Data of Python or NumPy is sent to the device in small pieces.

    ## What it does

    Finds `torch.tensor(...)` and `torch.as_tensor(...)` of Python numbers, lists and NumPy arrays with an
    accelerator as `device`, or moved there at once (`torch.tensor(...).to(device)`,
    `torch.from_numpy(...).to(device)`), in step loops, in what they call, in evaluation and generation loops and in
    `forward`. A constant is a warning, the rest an `info`.

    ## Why is this slow?

    The data lies in ordinary (pageable) memory, so the host waits for the copy, a few bytes at a time. A constant
    is sent again and again.

    ## When it does not matter

    Where the device is needed once; a batch that has to be moved anyway. Factories without data (`torch.zeros`,
    `torch.arange`, `torch.full` with `device=`) write on the device and are not reported.

    ## Bad

    ```python
    for x in loader:
        scale = torch.tensor([1.0, 2.0], device=device)  # TL113
        loss = (model(x.to(device)) * scale).sum()
        loss.backward()
        optimizer.step()
    ```

    ## Good

    ```python
    scale = torch.tensor([1.0, 2.0], device=device)  # ok
    for x in loader:
        loss = (model(x.to(device)) * scale).sum()
        weight = torch.full((), 0.5, device=device)  # ok
        loss.backward()
        optimizer.step()
    ```

    A module keeps its constants as buffers (`register_buffer`), which move with it.

    ## References

    - <https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html>
    - <https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer>
    """
    if not site.accelerator or site.region is not None or site.role == "test" or not site.call.args:
        return
    data = site.call.args[0]
    value = site.value(data)
    constant = _constant(data)
    if not constant and value.kind not in ("number", "list", "tuple", "ndarray", "size"):
        return
    if value.elem is not None and value.elem.kind == "tensor":
        return
    if not _moved(site) or (site.hot is None and site.warm is None and not reads.in_forward(site)):
        return
    if site.hot is None and site.rare:
        return
    what = "the same constant is" if constant else f"`{site.short(data)}` is"
    level: Severity = "warning" if constant else "info"
    yield site.finding(
        f"{what} copied to the device, and waited for, each time", severity=level, related=site.why_hot()
    )


def _constant(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(_constant, node.elts))
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def _moved(site: Site) -> bool:
    """Whether the tensor is made for the accelerator, or moved there in the same expression."""
    given = site.argument("device")
    if given is not None:
        value = site.value(given)
        return value.device != "cpu" and value.const != "cpu"
    parent = site.flow.parents.get(site.call)
    call = (
        site.flow.parents.get(parent) if isinstance(parent, ast.Attribute) and parent.attr in ("to", "cuda") else None
    )
    if not isinstance(call, ast.Call):
        return False
    blocking = not any(keyword.arg == "non_blocking" for keyword in call.keywords)
    return blocking and site.value(call).device == "accelerator"
