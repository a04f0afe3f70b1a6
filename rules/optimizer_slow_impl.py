from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import by_dictionary, syntax, updates
from torchlint.facts.nodes import is_constant
from torchlint.rule import Finding, Site, rule

_OPTIMIZERS = tuple("ASGD Adadelta Adagrad Adam AdamW Adamax NAdam RAdam RMSprop Rprop SGD".split())

_PARAMETERS = frozenset(("parameters", "named_parameters"))
_FUSED = {"Adam": (2, 0), "AdamW": (2, 0), "SGD": (2, 3)}
"""The optimizers that have a fused implementation for CUDA, with the first version of torch that has it."""
_TORCH = ("torch", "torch.optim")
_OF_TRANSFORMERS = (
    *(f"{package}.AdamW" for package in ("transformers", "transformers.optimization", "pytorch_transformers")),
    "pytorch_transformers.optimization.AdamW",
    *(f"pytorch_pretrained_bert{module}.BertAdam" for module in ("", ".optimization")),
)
"""Adam as transformers had it until 2025, and what came before: a loop of Python over the parameters."""


@rule(
    "TL706",
    shape=[f"torch.optim.{name}({given})" for name in _OPTIMIZERS for given in ("..., foreach=False", "...")]
    + [f"functools.partial(torch.optim.{name}, ..., foreach=False)" for name in _OPTIMIZERS]
    + [f"{name}(...)" for name in _OF_TRANSFORMERS]
    + ["$x.grad"],
    severity="info",
    fix="unsafe",
    numbers="rounding",
    torch=">=1.12",
    impact="low",
    category="kernel",
    principle=("fusion",),
    depends_on=("TL605",),
    confirmed_by=("optimizer:single", "optimizer:foreach", "operator"),
    options={"suggest-fused": "find `Adam`, `AdamW` and `SGD` without `fused=True` too, in programs that use CUDA."},
)
def optimizer_slow_impl(site: Site) -> Iterator[Finding]:
    """An optimizer is kept to one kernel after the other for each parameter.

    ## What it does

    Finds optimizers of torch with the literal `foreach=False` (that `functools.partial` gives, too, or a dictionary: `options["foreach"] = False`, `AdamW(parameters, **options)`), or with `fused=False`, beside it or alone, and updates written by hand:
    a loop over `parameters()` on each training step that adds the gradient to each, `p.data.add_(p.grad, alpha=-lr)`.
    Also the `AdamW` that transformers had until 2025, and `BertAdam` before it, which are such loops.
    In preview also `Adam` and `AdamW` without `fused=True`, in programs that use CUDA and ask for a torch that has it;
    with the option, `SGD` too, and whatever torch is asked for.

    ## Why is this slow?

    Without `foreach` each parameter takes its update in about ten kernels of its own, hundreds or thousands a step, which small
    parameters can't fill the device with.
    On CUDA `foreach` is the default where it works and where neither it nor `fused` is given: `fused=False` alone turns it
    off, too. `fused=True` is one kernel for many parameters.

    ## When it does not matter

    `foreach` needs memory for one more copy of the gradients.
    With few parameters, on the CPU, and for sparse gradients it gains nothing.
    How much faster `fused=True` is than `foreach` depends on the model, and it rounds in another order: it is an option.

    ## Bad

    ```python
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)  # TL706
    for x in loader:
        model(x.to(device)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    ```

    ```python
    for x in loader:
        model(x.to(device)).sum().backward()
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-0.1)  # TL706
        model.zero_grad()
    ```

    ## Good

    ```python
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)  # ok
    for x in loader:
        model(x.to(device)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    ```

    ## Fix safety

    Leaves `foreach=False` and `fused=False` out, beside which torch chooses nothing; adds `fused=True` where the
    option asks for it. The fix is unsafe: sums are rounded in another order, the peak of memory is higher, and `fused=True`
    raises for parameters that are not of floating point or not on a device with such a kernel.

    ## References

    - https://docs.pytorch.org/docs/stable/optim.html#algorithms
    - https://github.com/huggingface/transformers/blob/v4.40.0/src/transformers/optimization.py
    """
    if site.role == "test" or not (site.accelerator or _trains_elsewhere(site)):
        return
    if site.name == ".grad":
        if _is_update(site):
            message = "each parameter gets its update by itself on every step; an optimizer of torch does all in a few kernels"
            yield site.finding(message, at=site.statement, related=site.why_hot())
    elif site.name.removesuffix("()") in _OF_TRANSFORMERS:
        yield site.finding(
            f"`{site.short()}` updates one parameter after the other, in many small kernels; `torch.optim.AdamW` does all in a few"
        )
    elif "foreach" in site.pattern:
        if site.argument("fused") is None or is_constant(site.argument("fused"), False):
            yield site.finding(f"`{site.short()}` updates one parameter after the other, in many small kernels")
    elif _is_told_by_dictionary(site):
        yield site.finding(f"`{site.short()}` updates one parameter after the other, in many small kernels")
    elif is_constant(site.argument("fused"), False) and site.argument("foreach") is None and not site.spread:
        yield site.finding(
            f"`{site.short()}` updates one parameter after the other: torch takes `foreach` by itself only where `fused` is not given"
        )
    elif (site.option("suggest-fused") or _is_adam(site)) and _may_fuse(site):
        yield site.finding(f"`{site.short()}` could update all parameters in one kernel, with `fused=True`")


def _is_told_by_dictionary(site: Site) -> bool:
    """Whether a dictionary says `foreach=False`, and nothing `fused=True`: `Adam(parameters, **options)`."""
    if not site.spread or site.argument("foreach") is not None:
        return False
    given = by_dictionary.given(site.function, site.call, site.resolve)
    fused = site.argument("fused") or given.get("fused")
    return is_constant(given.get("foreach"), False) and (fused is None or is_constant(fused, False))


def _trains_elsewhere(site: Site) -> bool:
    """Whether a file that makes an optimizer names no device, but what it imports to train does: `Trainer(model, optimizer).fit()`."""
    return site.name.startswith(("torch.optim.", "functools.")) and any(
        one.source.mentions(b"backward(") and site.analysis.context.accelerator(one)
        for one in site.project.imports_of(site.module)
    )


def _may_fuse(site: Site) -> bool:
    """Whether nothing in the call speaks of an implementation, and torch has a fused one for CUDA."""
    since = _FUSED.get(site.name.removeprefix("torch.optim.").removesuffix("()"))
    if since is None or site.torch is None or site.torch.low < since or site.spread:
        return False
    if any(site.argument(name) is not None for name in ("fused", "foreach", "capturable", "differentiable")):
        return False
    if _is_also_of_another(site):
        return False
    given = site.argument("params", 0)
    # One tensor, `[log_alpha]`, is one kernel or two in any case.
    return not isinstance(given, ast.List) or len(given.elts) > 1


def _is_also_of_another(site: Site) -> bool:
    """Whether the name is that of another library's optimizer, too: `try: from apex.optimizers import FusedAdam as Adam`."""
    func = site.call.func
    imports = syntax.imports_of(site.function, func.id) if isinstance(func, ast.Name) else []
    return any(isinstance(one.statement, ast.ImportFrom) and one.statement.module not in _TORCH for one in imports)


def _is_adam(site: Site) -> bool:
    """Adam, in preview, where the torch that the project states has a fused one: elsewhere an older one may run it."""
    named = site.settings.preview and site.name in ("torch.optim.Adam()", "torch.optim.AdamW()")
    return named and site.analysis.stated_for(site.module) is not None


def _is_update(site: Site) -> bool:
    """`p.data.add_(p.grad, alpha=-lr)` in a loop over parameters on every step."""
    owner, loop = site.part("x"), site.loop((ast.For,))
    if not isinstance(owner, ast.Name) or updates.from_gradient(site.statement) != owner.id:
        return False
    made = loop.iter if isinstance(loop, ast.For) else None
    over = isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in _PARAMETERS
    return over and site.hot is not None
