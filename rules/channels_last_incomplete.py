from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.module import Function
from torchlint.rule import Finding, Site, plain, rule

_AUTOCASTS = frozenset(("torch.autocast()", "torch.amp.autocast()", "torch.cuda.amp.autocast()"))
_FORMATS = ("torch.channels_last", "torch.channels_last_3d")


@rule(
    "TL705",
    shape=[
        *(f"$x.{to}(..., memory_format={form})" for to in ("to", "contiguous") for form in _FORMATS),
        *plain(*_AUTOCASTS),
    ],
    scope="hot",
    severity="info",
    torch=">=1.5",
    category="kernel",
    principle=("locality",),
    options={
        "suggest-missing": "find mixed-precision training of convolutions in a project that never speaks of `channels_last`, too."
    },
)
def channels_last_incomplete(site: Site) -> Iterator[Finding]:
    """The input is converted to `channels_last`, the model is not.

    ## What it does

    Finds `x.to(memory_format=torch.channels_last)` and `x.contiguous(memory_format=...)` on a tensor in a training or
    evaluation loop, where no file of the project converts a module.

    ## Why is this slow?

    A convolution whose input is `channels_last` takes the format, and lays its weights out anew on each call, because they are
    not.
    A model that is converted once, `model.to(memory_format=torch.channels_last)`, stays in the format, and converts an input by
    itself.

    ## When it does not matter

    For models without convolutions.
    Whether a model gains by the format depends on its shapes and its kernels: to suggest it where nobody uses it is an option.

    ## Bad

    ```python
    for x, y in loader:
        x = x.to(memory_format=torch.channels_last)  # TL705
        criterion(model(x), y).backward()
        optimizer.step()
    ```

    ## Good

    ```python
    model = model.to(memory_format=torch.channels_last)
    for x, y in loader:
        x = x.to(memory_format=torch.channels_last)  # ok
        criterion(model(x), y).backward()
        optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html
    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    """
    if site.name in _AUTOCASTS:
        if site.option("suggest-missing") and site.hot and _may_convert(site):
            message = f"convolutions under `{site.short()}` read and write `channels_last` without transposing; nothing here is converted to it"
            yield site.finding(message, related=site.why_hot())
        return
    if not (site.hot or site.warm):
        return
    if site.receiver.kind in ("tensor", "batch") and not _converts_module(site):
        yield site.finding(
            f"`{site.short()}` converts the input on every step, but nobody converts the model, whose weights are laid out anew on each call",
            related=site.why_hot(),
        )


def _may_convert(site: Site) -> bool:
    """Whether the project has two-dimensional convolutions and never speaks of the format."""
    sources = [source.data for path in site.project.paths if (source := site.project.source(path)) is not None]
    named = any(b"channels_last" in data for data in sources)
    return site.accelerator and site.role != "test" and not named and any(b"Conv2d(" in data for data in sources)


def _converts_module(site: Site) -> bool:
    """Whether a file of the project converts something that is no tensor, or chooses the format at run time."""
    for path in site.project.paths:
        source = site.project.source(path)
        if source is None or b"memory_format" not in source.data:
            continue
        module = site.project.module(path)
        if module is not None and any(_converts(site, function) for function in module.functions):
            return True
    return False


def _converts(site: Site, function: Function) -> bool:
    for call in function.flow.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "contiguous", "cuda"):
            continue
        converts = any(keyword.arg == "memory_format" for keyword in call.keywords)
        if converts and site.project.value(function, call.func.value).kind not in ("tensor", "batch"):
            return True
    return False
