from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import triton
from torchlint.rule import Finding, Site, rule


@rule("TLK09", shape=triton.KERNEL, set="preview", severity="info", fix="suggestion", category="triton")
def size_as_constexpr(site: Site) -> Iterator[Finding]:
    """A size that changes from call to call is a compile-time constant of a Triton kernel.

    ## What it does

    Finds launches that give `x.numel()`, `len(x)`, `x.shape[0]`, or another dimension that is called a length, for a
    parameter that is `tl.constexpr` and decides neither the size of a block nor the length of an unrolled loop.
    There is one finding a launch. It reads the source; no kernel is compiled.

    ## Why is this slow?

    Triton compiles a kernel for each combination of constants: a batch of a new length waits for the compiler, often a
    second and more. A plain argument is compiled for at most three cases: 1, multiples of 16, and the rest.

    ## When it does not matter

    Where the size never changes (the last dimension, heads, vocabulary), where the constant lets the compiler unroll a
    short loop, or where all batches are padded to one length.

    ## Bad

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def double(x, n_elements: tl.constexpr, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, 2 * tl.load(x + at, mask=at < n_elements), mask=at < n_elements)

    def run(x):
        double[(triton.cdiv(x.numel(), 128),)](x, x.numel(), BLOCK=128)  # TLK09
    ```

    ## Good

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def double(x, n_elements, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, 2 * tl.load(x + at, mask=at < n_elements), mask=at < n_elements)

    def run(x):
        double[(triton.cdiv(x.numel(), 128),)](x, x.numel(), BLOCK=128)  # ok
    ```

    ## References

    - <https://triton-lang.org/main/python-api/generated/triton.jit.html>
    """
    kernel = triton.decorated(site.function, site.target)
    for launch in kernel.launches if kernel is not None else ():
        sizes = triton.changing_constants(launch)
        if sizes:
            parameter, given = sizes[0]
            place = site.at(launch.function, given)
            others = f", and {len(sizes) - 1} more" if len(sizes) > 1 else ""
            name = launch.kernel.function.name
            yield place.finding(
                f"`{place.short()}`{others} is a constant of `{name}`: each new `{parameter}` compiles the kernel again"
            )
