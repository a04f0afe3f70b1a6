from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule

_SECOND = (2, 6)
"""The first torch that has `torch.distributed.fsdp.fully_shard`."""
_CLASS = "torch.distributed.fsdp.FullyShardedDataParallel"


@rule(
    "TL804",
    shape=[f"{_CLASS}(...)", "torch.distributed.fsdp.ShardingStrategy.NO_SHARD"],
    set="preview",
    severity="info",
    torch=">=2.6",
    category="distributed",
    principle=("parallelism",),
)
def fsdp1_api(site: Site) -> Iterator[Finding]:
    """`FullyShardedDataParallel`, the first FSDP, in a program for a torch that has the second.

    ## What it does

    Finds models wrapped by `FullyShardedDataParallel`, its `state_dict_type`, and the strategy `NO_SHARD`.

    ## Why is this slow?

    FSDP2 (`fully_shard`) shards each parameter by itself instead of flattening them, frees memory without blocking the host,
    and is the path that is worked on.
    `NO_SHARD` (which is DDP) and `state_dict_type` are deprecated in FSDP1 already.

    ## When it does not matter

    In libraries that support both, also by an oldest torch from before 2.6 in their requirements, and where a program only asks for the strategy or lists all of them.

    ## Bad

    ```python
    from torch.distributed.fsdp import FullyShardedDataParallel

    model = FullyShardedDataParallel(model)  # TL804
    ```

    ## Good

    ```python
    from torch.distributed.fsdp import fully_shard

    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
    - https://docs.pytorch.org/docs/stable/fsdp.html
    """
    if site.role == "test" or site.shim:
        return
    if not isinstance(site.target, ast.Call):
        if isinstance(site.flow.parents.get(site.target), ast.Compare | ast.Dict):
            return  # asks for the strategy, or lists all of them
        yield site.finding(f"`{site.text()}` is deprecated; use `DistributedDataParallel`, which is the same")
        return
    if not site.lacks(_SECOND):
        yield site.finding(f"`{site.short()}` is the first FSDP; `fully_shard` shards each parameter by itself")
