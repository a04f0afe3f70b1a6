from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import triton
from torchlint.rule import Finding, Site, rule


@rule("TLK02", shape=triton.KERNEL, set="preview", fix="suggestion", category="triton")
def unmasked_tail_access(site: Site) -> Iterator[Finding]:
    """A Triton kernel reads or writes a whole block where the data may end earlier.

    ## What it does

    Finds `tl.load` and `tl.store` without `mask` at offsets `program_id * BLOCK + tl.arange(0, BLOCK)`.
    Where the kernel masks another access at the same offsets this is a `warning`; where it masks none, its sizes may be
    known multiples, and it is an `info`. It reads the source; no kernel is run.

    ## Why is this slow?

    It is wrong before it is slow: unless the size is a multiple of the block, the last program reads and writes what
    belongs to others. The usual remedy, to pad tensors outside the kernel, costs a copy; a mask costs next to nothing.

    ## When it does not matter

    Where the size is a multiple of the block for certain. Offsets that wrap around (`% n`), block pointers and tensor
    descriptors, accesses under a condition, blocks that are a whole row (`BLOCK=x.shape[-1]`), and kernels whose launcher checks for multiples are not reported.

    ## Bad

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def scale(x, y, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + offsets, mask=offsets < n)
        tl.store(y + offsets, 2.0 * value)  # TLK02
    ```

    ## Good

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def scale(x, y, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + offsets, mask=offsets < n)
        tl.store(y + offsets, 2.0 * value, mask=offsets < n)  # ok
    ```

    ## References

    - <https://triton-lang.org/main/getting-started/tutorials/01-vector-add.html>
    - <https://triton-lang.org/main/python-api/generated/triton.language.store.html>
    """
    kernel = triton.decorated(site.function, site.target)
    if kernel is None or any(triton.checks_multiples(launch.function) for launch in kernel.launches):
        return
    for name, call in kernel.calls("load", "store"):
        block = triton.tail_offsets(kernel, name, call)
        if block is None or any(kernel.function.flow.guards(call)) or _is_width(kernel, block):
            continue
        place = site.at(kernel.function, call)
        if triton.mask_of_same_offsets(kernel, call) is not None:
            message = f"`{place.short()}` has no mask, and other accesses at these offsets have one: it reaches beyond the end"
            yield place.finding(message, severity="warning")
        else:
            yield place.finding(
                f"`{place.short()}` has no mask: it reaches beyond the end unless the size is a multiple of `{block}`",
                severity="info",
            )


def _is_width(kernel: triton.Kernel, parameter: str) -> bool:
    """Whether the block is a whole row of a tensor: a launch gives the tensor's size for it."""
    return any(triton.size_of(launch.function, launch.bound(parameter)) is not None for launch in kernel.launches)
