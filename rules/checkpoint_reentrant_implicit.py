from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import api_table
from torchlint.rule import Finding, Site, rule

_REPLACED = rb"\bcheckpoint\.checkpoint(?:_sequential)?\s*=(?!=)"
"""Who replaces the function of torch gives it the argument."""


@rule(
    "TL906",
    shape=["torch.utils.checkpoint.checkpoint(...)", "torch.utils.checkpoint.checkpoint_sequential(...)"],
    fix="safe",
    torch=">=2.1",
    category="migration",
    confirmed_by=("warning:UserWarning",),
)
def checkpoint_reentrant_implicit(site: Site) -> Iterator[Finding]:
    """Activation checkpointing that does not say whether it is reentrant.

    ## What it does

    Finds calls of `torch.utils.checkpoint.checkpoint` and `checkpoint_sequential` without `use_reentrant`.

    ## Why is this slow?

    Without the argument torch warns and takes the reentrant variant, which runs the backward pass of each segment as a
    backward of its own.
    The other one (`use_reentrant=False`) stops recomputing as soon as all needed activations are there, takes keyword
    arguments and nested checkpoints, works with `torch.autograd.grad`, and is the one the documentation recommends.
    The default is going to change, or the call to fail.

    ## When it does not matter

    The variants give the same gradients in ordinary modules.
    Where the project names an oldest torch from before 1.11, which does not take the argument, nothing is reported.

    ## Bad

    ```python
    from torch.utils.checkpoint import checkpoint

    x = checkpoint(block, x)  # TL906
    ```

    ## Good

    ```python
    from torch.utils.checkpoint import checkpoint

    x = checkpoint(block, x, use_reentrant=False)  # ok
    ```

    ## Fix safety

    Writes `use_reentrant=True`, which is what the call does today: it ends the warning and changes nothing.
    Whether `False` fits is for people to say, since hooks, detached inputs and side effects differ.

    ## References

    - https://docs.pytorch.org/docs/stable/checkpoint.html
    """
    # `checkpoint(function, *arguments)` takes it by keyword alone, `checkpoint_sequential` at the fourth place too.
    position = 3 if site.name == "torch.utils.checkpoint.checkpoint_sequential()" else -1
    hidden = position >= 0 and site.spread
    if hidden or any(k.arg is None for k in site.call.keywords) or site.argument("use_reentrant", position) is not None:
        return
    if site.analysis.context.switched_on(_REPLACED, word=b"checkpoint.checkpoint"):
        return
    came = api_table.there(f"{site.name.removesuffix('()')}(use_reentrant)")
    if site.lacks(came):
        return
    there = site.from_torch(came)
    yield site.finding(
        f"`{site.short()}` does not say `use_reentrant`: torch warns and takes the reentrant variant; prefer `use_reentrant=False`{there}"
    )
