from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule


@rule(
    "TL603",
    shape=["$x.double(...)", "torch.float64", "torch.double"],
    set="preview",
    category="precision",
    principle=("precision",),
)
def float64_on_device(site: Site) -> Iterator[Finding]:
    """Tensors on the accelerator become float64 on each step.

    ## What it does

    Finds `.double()`, `.to(torch.float64)` and `dtype=torch.float64` on tensors that live on an accelerator, in the step loop and
    in `forward`.

    ## Why is this slow?

    Consumer and inference GPUs compute float64 at a thirty-second or sixty-fourth of the rate of float32, all of them move twice
    the bytes, and MPS has no float64 at all.

    ## When it does not matter

    In scientific programs that need it, for a few numbers that are summed up, and for what goes to the host next, which is not
    reported.

    ## Bad

    ```python
    model = torch.nn.Linear(8, 8).cuda()
    for x in loader:
        loss = model(x.cuda()).double().sum()  # TL603
        loss.backward()
        optimizer.step()
    ```

    ## Good

    ```python
    model = torch.nn.Linear(8, 8).cuda()
    for x in loader:
        loss = model(x.cuda()).float().sum()  # ok
        loss.backward()
        optimizer.step()
    ```

    ## References

    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#arithmetic-instructions
    - https://docs.pytorch.org/docs/stable/notes/mps.html
    """
    if not (site.hot or site.in_forward) or site.source.holds(b"set_default_dtype"):
        return
    call = site.target if site.name == ".double()" else _takes(site)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    moved = site.value(call)
    method = site.resolve(call.func) is None
    on_device = site.value(call.func.value).device == "accelerator" if method else moved.device == "accelerator"
    if (
        on_device
        and moved.is_tensor
        and not site.consumed_by(("cpu", "numpy", "item", "tolist"), call)
        and not _to_host(site, call)
    ):
        yield site.finding(f"`{site.short(call)}` computes in float64 on the device on every step", at=call)


def _takes(site: Site) -> ast.Call | None:
    """The call that the dtype is given to."""
    parent = site.flow.parents.get(site.target)
    if isinstance(parent, ast.keyword) and parent.arg == "dtype":
        parent = site.flow.parents.get(parent)
    elif not (isinstance(parent, ast.Call) and site.target in parent.args):
        return None
    return parent if isinstance(parent, ast.Call) else None


def _to_host(site: Site, call: ast.Call) -> bool:
    """`x.double().cpu()`, `x.double().numpy()`."""
    parent = site.flow.parents.get(call)
    return isinstance(parent, ast.Attribute) and parent.attr in ("cpu", "numpy", "item", "tolist")
