from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import closure
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_HALF = regex(rb"autocast|b?float16|\.half\(|mixed_precision")
_SMALL = 64
_TILE = 8


@rule(
    "TL608", shape="torch.nn.Linear(...)", set="opt-in", severity="info", category="precision", principle=("precision",)
)
def unaligned_matmul_dims(site: Site) -> Iterator[Finding]:
    """A linear layer in 16 bits whose sizes are no multiple of 8.

    ## What it does

    Finds `nn.Linear` with a size above 64 that is known and no multiple of 8, in a program (the file and what it imports from
    the project) that uses a 16-bit type.

    ## Why is this slow?

    Tensor cores work on tiles of 8 elements of 16 bits; other sizes are padded in each product, or computed by slower kernels.
    GPT-2's vocabulary of 50257 is padded to 50304 for that.

    ## When it does not matter

    For small heads, whose product costs nothing, and where a library pads by itself.
    Another size is another checkpoint: projects that load published weights (`from_pretrained` and its like) are not
    reported, nor are tests.

    ## Bad

    ```python
    head = torch.nn.Linear(768, 50257, dtype=torch.bfloat16)  # TL608
    ```

    ## Good

    ```python
    head = torch.nn.Linear(768, 50304, dtype=torch.bfloat16)  # ok
    ```

    ## References

    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    - https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
    """
    if site.role == "test" or site.analysis.context.loads_published(site.module):
        return
    sizes = (site.argument("in_features", 0), site.argument("out_features", 1))
    for size in sizes:
        number = site.value(size).const if size is not None else None
        if size is None or not isinstance(number, int) or isinstance(number, bool):
            continue
        if number > _SMALL and number % _TILE and closure.mentions(site.project, site.module, _HALF):
            padded = number + _TILE - number % _TILE
            yield site.finding(
                f"{number} is no multiple of 8, the width of the tensor cores' tiles; {padded} is the next", at=size
            )
