from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import parameter_loops, small_updates
from torchlint.facts.names import last
from torchlint.facts.nodes import bound_names
from torchlint.rule import Finding, Site, rule


@rule(
    "TL708",
    shape=["for $_ in $parameters: ...", "[$_ for $_ in $parameters]", "($_ for $_ in $parameters)"],
    scope="hot",
    severity="info",
    category="kernel",
    principle=("fusion",),
)
def per_parameter_python_loop(site: Site) -> Iterator[Finding]:
    """A loop over the parameters does a small operation on each, on every training step.

    ## What it does

    Finds `for` loops over `parameters()`, over two of them zipped, or over a dictionary of them, on each training step, whose body
    writes to the parameter or its gradient in place, takes its norm, also as a term of a penalty (`l2 = l2 + p.norm(2)`,
    `l2 += p.square().sum()`), or makes its average anew under its name, `shadow[name] = decay * shadow[name] + (1 - decay) * p.data`:
    moving averages, target networks, clipping, the perturbation of SAM. The body may leave that to a function of the project that
    does little else. So do comprehensions that take the norm or a sum of each, `torch.stack([p.grad.norm() for p in model.parameters()])`.
    SGD written by hand is optimizer-slow-impl (TL706).

    ## Why is this slow?

    Each turn launches its own kernels, a few for each parameter, hundreds a step, and none of them fills the device.
    `torch._foreach_lerp_`, `torch._foreach_mul_` and their like, `torch.nn.utils.clip_grad_norm_`,
    `torch.optim.swa_utils.AveragedModel` and the optimizers do all parameters in a few kernels.

    ## When it does not matter

    For models of a handful of parameters; in what happens every few hundred steps and in tests, which is not reported.

    ## Bad

    ```python
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(model.parameters(), average.parameters()):  # TL708
                q.lerp_(p, 0.01)
    ```

    ## Good

    ```python
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.01)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
    """
    whole = site.target
    assert isinstance(whole, ast.For | ast.ListComp | ast.GeneratorExp)
    loop = whole if isinstance(whole, ast.For) else whole.generators[0]
    if site.hot is None or not site.accelerator or site.role == "test":
        return
    if not parameter_loops.over_parameters(site, loop.iter) or parameter_loops.has_one(site, loop.iter):
        return
    if _does_all_at_once_elsewhere(site):
        return
    names = bound_names(loop.target)
    if isinstance(loop.iter, ast.Name):
        names.add(loop.iter.id)
    if _updates_each(site, whole, names) if isinstance(whole, ast.For) else small_updates.reduces(site, whole, names):
        yield site.finding(
            f"`for ... in {site.short(loop.iter)}` launches kernels for each parameter by itself on every step",
            related=site.why_hot(),
        )


def _updates_each(site: Site, loop: ast.For, names: set[str]) -> bool:
    """Whether a loop does little else than a small operation on each parameter."""
    told = parameter_loops.is_told_as_optimizer(loop)
    body = small_updates.of_all(site, loop.body, names)
    return 0 < len(body) <= small_updates.FEW and (
        any(small_updates.is_small(site, statement, names, told=told) for statement in body)
        or small_updates.remakes(site, loop.body, names)
        or small_updates.calls_little(site, body, names)
    )


def _does_all_at_once_elsewhere(site: Site) -> bool:
    """Whether the loop is what an option leaves: `else:` of `if self.foreach: torch._foreach_lerp_(averages, weights, 0.01)`."""
    others = (one for guard in site.flow.guards(site.target) for one in guard.otherwise)
    calls = (part for one in others for part in ast.walk(one) if isinstance(part, ast.Call))
    return any(last(call.func).startswith("_foreach_") for call in calls)
