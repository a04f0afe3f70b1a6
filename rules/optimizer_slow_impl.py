from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule

_OPTIMIZERS = (
    "ASGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
)


@rule(
    "TL706",
    on={f"torch.optim.{name}()" for name in _OPTIMIZERS},
    severity="info",
    fix="unsafe",
    torch=">=1.12",
    impact="low",
    category="kernel",
    principle=("fusion",),
    depends_on=("TL605",),
)
def optimizer_slow_impl(site: Site) -> Iterator[Finding]:
    """An optimizer is kept to one kernel after the other for each parameter.

    ## What it does

    Finds optimizers of torch with the literal `foreach=False`, or with `fused=False` beside it.

    ## Why is this slow?

    Without `foreach` each parameter takes its update in about ten kernels of its own, hundreds or thousands a step, which small
    parameters can't fill the device with.
    On CUDA `foreach` is the default where it works; `fused=True` is one kernel for many parameters.

    ## When it does not matter

    `foreach` needs memory for one more copy of the gradients.
    With few parameters, on the CPU, and for sparse gradients it gains nothing.

    ## Bad

    ```python
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)  # TL706
    ```

    ## Good

    ```python
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)  # ok
    ```

    ## Fix safety

    Leaves `foreach=False` out.
    The fix is unsafe: sums are rounded in another order, and the peak of memory is higher.

    ## References

    - https://docs.pytorch.org/docs/stable/optim.html#algorithms
    """
    foreach = site.argument("foreach")
    fused = site.argument("fused")
    if (
        not (isinstance(foreach, ast.Constant) and foreach.value is False)
        or not site.accelerator
        or site.role == "test"
    ):
        return
    if fused is None or (isinstance(fused, ast.Constant) and not fused.value):
        yield site.finding(f"`{site.short()}` updates one parameter after the other, in many small kernels")
