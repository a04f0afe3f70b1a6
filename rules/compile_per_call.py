from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule

_CACHES = frozenset(("lru_cache", "cache", "cached_property", "once"))


@rule(
    "TL211",
    shape=["torch.compile(...)", "@torch.compile\ndef $inner(*$_): ..."],
    fix="none",
    impact="medium",
    category="compile",
    principle=("fusion",),
    torch=">=2.0",
)
def compile_per_call(site: Site) -> Iterator[Finding]:
    """torch.compile is called on every step, or in every forward.

    ## What it does
    Finds `torch.compile(...)`, and functions decorated with it that are defined there, inside the loop that steps the optimizer, in functions that it calls, and in the `forward` of a module.

    ## Why is this slow?
    Each call builds a new wrapper around the function, which took 244 to 369 µs where a call of compiled code took about 30 µs (CPU, backend "eager").
    A lambda or a nested function that captures another Python number may be compiled again, too.

    ## When it does not matter
    A loop that compiles the layers of a model before training, and a wrapper that is made once and kept: behind `if self.compiled is None:` or in a cached function.
    Inside a compiled region the inner call is traced.

    ## Bad
    ```python
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters())
    for x in torch.ones(10, 4, 8):
        loss = torch.compile(model)(x).sum()  # TL211
        loss.backward()
        optimizer.step()
    ```

    ## Good
    ```python
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters())
    compiled = torch.compile(model)
    for x in torch.ones(10, 4, 8):
        loss = compiled(x).sum()
        loss.backward()
        optimizer.step()
    ```

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.compile.html
    """
    if site.region is not None or site.rare or _kept(site):
        return
    if "inner" in site.match and site.function is site.module.body:
        return
    if site.function.decorator_names & _CACHES:
        return
    if site.hot is not None and not site.hot.weak:
        yield site.finding("`torch.compile` makes a new wrapper on every training step.", related=site.why_hot())
    elif site.in_forward:
        yield site.finding(f"`torch.compile` makes a new wrapper in each call of `{site.function.qualname}`.")


def _kept(site: Site) -> bool:
    """Whether a condition sees to it that there is one wrapper only: `is None`, `not in`, `hasattr`, a flag for the first time."""
    for guard in site.flow.guards(site.target):
        for part in ast.walk(guard.test):
            if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn):
                return True
            if isinstance(part, ast.Call) and site.resolve(part.func) in ("hasattr", "getattr"):
                return True
            word = part.attr if isinstance(part, ast.Attribute) else part.id if isinstance(part, ast.Name) else ""
            if any(hint in word.lower() for hint in ("compiled", "first", "initialized", "cache")):
                return True
    return False
