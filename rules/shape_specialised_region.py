from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.nodes import is_constant
from torchlint.rule import Finding, Related, Site, rule

_GRAPHS = frozenset(("reduce-overhead", "max-autotune"))
# `model.train` is no data; a loader of evaluation data sees its last batch once.
_NOT_TRAINING = ("val", "test", "eval", "infer", "pred", "demo")


@rule(
    "TL303",
    shape=["torch.compile(...)", "$x.compile(...)"],
    set="preview",
    severity="info",
    impact="medium",
    category="compile",
    torch=">=2.0",
    depends_on=("TL401",),
)
def shape_specialised_region(site: Site) -> Iterator[Finding]:
    """A region that is made for one shape gets many.

    ## What it does
    Finds `mode="reduce-overhead"` or `"max-autotune"` together with `dynamic=True`, and regions compiled with `dynamic=False` or such a mode in a file whose training DataLoader keeps its ragged last batch.

    ## Why is this slow?
    A CUDA graph is a recording for fixed shapes and addresses: each new shape records another graph, up to a warning after eight (`torch._inductor.config.triton.cudagraph_dynamic_shape_warn_limit`).
    With `dynamic=False` each new shape compiles the region again, eight times, and then it runs eagerly.
    Dynamic shapes without CUDA graphs cost one more compilation only.

    ## When it does not matter
    Where all shapes that come are few and known, and each is seen often.
    The default, `dynamic=None` without such a mode, adapts by itself.

    ## Bad
    ```python
    def attend(x: torch.Tensor) -> torch.Tensor:
        return x @ x.mT

    prefill = torch.compile(attend, mode="reduce-overhead", dynamic=True)  # TL303
    ```

    ## Good
    ```python
    def attend(x: torch.Tensor) -> torch.Tensor:
        return x @ x.mT

    prefill = torch.compile(attend, dynamic=True)
    decode = torch.compile(attend, mode="reduce-overhead")
    ```

    ## References
    - https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html
    - https://docs.pytorch.org/docs/stable/generated/torch.compile.html
    """
    if site.name == ".compile()" and (site.receiver.kind != "module" or site.project.has_own(site.receiver, "compile")):
        return
    mode = _option(site, "mode")
    dynamic = _option(site, "dynamic")
    if mode in _GRAPHS and dynamic is True:
        yield site.finding(f'`mode="{mode}"` records a CUDA graph for each shape, and `dynamic=True` announces many.')
    elif mode == "reduce-overhead" or dynamic is False:
        loader = _ragged(site)
        if loader is not None:
            cost = "is compiled again for it" if dynamic is False else "records a CUDA graph more for it"
            yield site.finding(
                f"The last batch of the loader has a shape of its own: `{site.short()}` {cost}.", related=(loader,)
            )


def _option(site: Site, name: str) -> object:
    node = site.argument(name)
    return site.value(node).const if node is not None else None


def _ragged(site: Site) -> Related | None:
    """A DataLoader of the file that trains (it shuffles) and keeps its last batch, where it is the only one for training."""
    found: Related | None = None
    for function in site.module.functions:
        for call in function.flow.calls:
            if site.project.resolve(function, call.func) != "torch.utils.data.DataLoader":
                continue
            keywords = {k.arg: k.value for k in call.keywords}
            shuffles = keywords.get("shuffle")
            if None in keywords or not is_constant(shuffles, True):
                continue
            name = _name(function.flow.parents.get(call)).lower()
            if any(word in name for word in _NOT_TRAINING):
                continue
            if {"drop_last", "batch_sampler"} & keywords.keys() or "batch_size" not in keywords:
                return None
            found = found or site.related(function, call, "keeps its last, smaller batch")
    return found


def _name(parent: ast.AST | None) -> str:
    return ast.unparse(parent.targets[0]) if isinstance(parent, ast.Assign) else ""
