from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import frequency
from torchlint.facts import host_reads as reads
from torchlint.facts.values import LIKELY
from torchlint.rule import Finding, Site, rule

_CHECKED = {
    "torch.linalg.inv": "torch.linalg.inv_ex",
    "torch.inverse": "torch.linalg.inv_ex",
    "torch.linalg.cholesky": "torch.linalg.cholesky_ex",
    "torch.cholesky": "torch.linalg.cholesky_ex",
    "torch.linalg.solve": "torch.linalg.solve_ex",
    "torch.linalg.lu_factor": "torch.linalg.lu_factor_ex",
    "torch.linalg.ldl_factor": "torch.linalg.ldl_factor_ex",
}


@rule(
    "TL111",
    shape=[f"{name}({given})" for name in _CHECKED for given in ("A := $matrix, ...", "..., input=$matrix")],
    set="preview",
    severity="info",
    fix="unsafe",
    numbers="exact",
    torch=">=1.13",
    impact="low",
    category="sync",
    principle=("async",),
    confirmed_by=("sync",),
)
def linalg_error_check_sync(site: Site) -> Iterator[Finding]:
    """A function of torch.linalg waits for the device to say whether it succeeded.

    ## What it does

    Finds `inv`, `cholesky`, `solve`, `lu_factor` and `ldl_factor` of `torch.linalg` (and `torch.inverse`,
    `torch.cholesky`) in step loops, in what they call, in evaluation and generation loops and in `forward`.

    ## Why is this slow?

    They raise an error for a singular matrix, so the host has to wait for the device's verdict. The functions named
    `..._ex` give the verdict as a tensor (`info`) and do not wait.

    ## When it does not matter

    For tensors in host memory, in set-up, and where the error is caught (`except torch.linalg.LinAlgError`): none
    of these is reported. `eigh`, `svd`, `pinv` and `matrix_rank` wait too, but have no form that does not.

    ## Bad

    ```python
    for x in loader:
        inverse = torch.linalg.inv(model(x.to(device)))  # TL111
        inverse.sum().backward()
        optimizer.step()
    ```

    ## Good

    ```python
    for x in loader:
        inverse = torch.linalg.inv_ex(model(x.to(device))).inverse  # ok
        inverse.sum().backward()
        optimizer.step()
    ```

    ## Fix safety

    The fix calls the `_ex` function and takes its result (not for `lu_factor` and `ldl_factor`, which give
    several). It is unsafe, since a matrix that is singular, or for `cholesky` not positive definite, then raises no error,
    and what comes out of it means nothing. Nothing is offered where a caller waits for the error.

    ## References

    - <https://docs.pytorch.org/docs/stable/generated/torch.linalg.inv_ex.html>
    - <https://docs.pytorch.org/docs/stable/generated/torch.linalg.cholesky_ex.html>
    """
    matrix = site.part("matrix")
    if not site.accelerator or reads.device_tensor(site, matrix, LIKELY) is None:
        return
    if site.value(matrix).on_cpu or site.role == "test" or site.in_compiled or _caught(site):
        return
    if site.hot is None and site.warm is None and not frequency.in_forward(site):
        return
    name = site.name.removesuffix("()")
    message = f"`{name}` waits for the device to know whether it succeeded; `{_CHECKED[name]}` does not"
    yield site.finding(message, related=site.why_hot())


def _caught(site: Site) -> bool:
    return any(isinstance(parent, ast.Try) and parent.handlers for parent in site.flow.ancestors(site.target))
