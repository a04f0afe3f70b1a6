from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Severity, Site, rule

_FAR_ABOVE = {
    "cache_size_limit": 64,
    "recompile_limit": 64,
    "accumulated_cache_size_limit": 2048,
    "accumulated_recompile_limit": 2048,
}
_OPTIONS = ("suppress_errors", "disable", *_FAR_ABOVE)
_VARIABLES = frozenset(("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_SUPPRESS_ERRORS"))


@rule(
    "TL212",
    shape=[
        *(f"torch._dynamo.config.{option} = $value" for option in _OPTIONS),
        "torch._dynamo.config.patch(...)",
        "os.environ[$variable] = $value",
    ],
    fix="suggestion",
    impact="medium",
    category="compile",
    principle=("fusion",),
    torch=">=2.0",
)
def compiler_guardrail_off(site: Site) -> Iterator[Finding]:
    """The program hides that torch.compile gives up.

    ## What it does
    Finds `torch._dynamo.config.suppress_errors = True`, `disable = True`, recompile limits far above their defaults (8 for one function, 256 for all), and the environment variables that do the same when the program sets them.
    Tests are left out.

    ## Why is this slow?
    With `suppress_errors` a function that the compiler fails on runs eagerly, and nobody is told.
    With `disable` nothing is compiled at all.
    With a huge limit a function that is compiled anew for each value goes on compiling, which costs seconds each time, instead of stopping with a warning that names the reason.

    ## When it does not matter
    A library that compiles one function for many static shapes on purpose needs a high limit; where the file compiles with `dynamic=False` the finding is information.

    ## Bad
    ```python
    import torch._dynamo

    torch._dynamo.config.suppress_errors = True  # TL212
    torch._dynamo.config.recompile_limit = 10000  # TL212
    model = torch.compile(torch.nn.Linear(8, 8))
    ```

    ## Good
    ```python
    model = torch.compile(torch.nn.Linear(8, 8), dynamic=True)
    ```

    ## References
    - https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html
    - https://docs.pytorch.org/docs/stable/torch.compiler.config.html
    """
    if site.role == "test" or site.rare:
        return
    if "variable" in site.match:
        yield from _variable(site)
        return
    if isinstance(site.target, ast.Call):
        settings = [(k.arg, k.value) for k in site.call.keywords if k.arg]
    else:
        settings = [(site.name.rpartition(".")[2], site.part("value"))]
    for option, value in settings:
        found = _meaning(site, option, site.value(value).const)
        if found is not None:
            yield site.finding(
                found[0], at=site.target if isinstance(site.target, ast.Call) else site.statement, severity=found[1]
            )


def _meaning(site: Site, option: str, value: object) -> tuple[str, Severity | None] | None:
    if option == "suppress_errors" and value is True:
        return "`suppress_errors = True` runs eagerly what the compiler fails on, and says nothing.", None
    if option == "disable" and value is True:
        return "`disable = True` turns every torch.compile of the program off.", None
    if option in _FAR_ABOVE and isinstance(value, int) and value >= _FAR_ABOVE[option]:
        on_purpose = "dynamic=False" in site.source.text
        message = f"`{option} = {value}` lets a function that is compiled anew for each value go on compiling, without a word."
        return message, "info" if on_purpose else None
    return None


def _variable(site: Site) -> Iterator[Finding]:
    """`os.environ["TORCHDYNAMO_DISABLE"] = "1"`."""
    name, value = (site.value(site.part(part)).const for part in ("variable", "value"))
    if name in _VARIABLES and str(value).lower() in ("1", "true"):
        effect = (
            "runs eagerly what the compiler fails on"
            if name == "TORCHDYNAMO_SUPPRESS_ERRORS"
            else "turns every torch.compile of the program off"
        )
        yield site.finding(f"`{name}` {effect}.", at=site.statement)
