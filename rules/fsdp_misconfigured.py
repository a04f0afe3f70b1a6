from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.module import Function
from torchlint.facts.nodes import is_constant
from torchlint.rule import Finding, Site, rule

_CLASS = "torch.distributed.fsdp.FullyShardedDataParallel"
_SHARD = "torch.distributed.fsdp.fully_shard"


@rule(
    "TL805",
    shape=[f"{_CLASS}(...)", f"{_SHARD}($module, ...)"],
    set="preview",
    torch=">=1.12",
    impact="high",
    category="distributed",
    principle=("parallelism",),
)
def fsdp_misconfigured(site: Site) -> Iterator[Finding]:
    """FSDP that gathers the whole model at once, or waits where it need not.

    ## What it does

    Finds `FullyShardedDataParallel(model)` without `auto_wrap_policy` where nothing else in the file is wrapped,
    `fully_shard(model)` as the only call of `fully_shard`, `limit_all_gathers=False`, and `use_orig_params=False` in a program
    that compiles.

    ## Why is this slow?

    Parameters are gathered unit by unit while the unit before computes.
    With one unit for the whole model all parameters are on each device at once, and nothing overlaps.
    Dynamo supports FSDP1 with `use_orig_params=True` only, and breaks the graph otherwise.

    ## When it does not matter

    For models that are small against the memory; and where a library wraps the blocks.

    ## Bad

    ```python
    from torch.distributed.fsdp import FullyShardedDataParallel

    model = FullyShardedDataParallel(model)  # TL805
    ```

    ## Good

    ```python
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Block}))  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/fsdp.html
    - https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
    - https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0053.html
    """
    if site.role == "test" or site.spread:
        return
    if site.name == f"{_CLASS}()":
        yield from _first(site)
    elif isinstance(site.part("module"), ast.Name | ast.Attribute) and site.loop() is None and _alone(site, _SHARD):
        yield site.finding(
            f"`{site.short()}` shards the model as one unit, which is gathered whole; shard its blocks first"
        )


def _first(site: Site) -> Iterator[Finding]:
    if site.argument("auto_wrap_policy", 4) is None and site.loop() is None and _alone(site, _CLASS):
        yield site.finding(
            f"`{site.short()}` makes one unit of the model, which is gathered whole; give an `auto_wrap_policy`"
        )
    if is_constant(site.argument("limit_all_gathers"), False):
        yield site.finding("`limit_all_gathers=False` lets the host run ahead until memory is freed and allocated anew")
    if is_constant(site.argument("use_orig_params"), False) and site.source.holds(b"torch.compile"):
        yield site.finding("`use_orig_params=False` keeps `torch.compile` from tracing the model")


def _alone(site: Site, name: str) -> bool:
    """Whether the file has no other call that wraps or shards a module."""
    if site.source.holds(b"wrap(") or site.source.holds(b"wrap_policy") or site.source.holds(b"apply_"):
        return False
    return sum(_count(site, function, name) for function in site.module.functions) == 1


def _count(site: Site, function: Function, name: str) -> int:
    return sum(site.project.resolve(function, call.func) == name for call in function.flow.calls)
