from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import triton
from torchlint.facts.module import Function
from torchlint.rule import Finding, Site, rule


@rule("TLK04", shape=triton.KERNEL, severity="error", fix="unsafe", numbers="changed", impact="high", category="triton")
def grid_drops_tail(site: Site) -> Iterator[Finding]:
    """A launch grid rounds down, so that the last, partial block is never processed.

    ## What it does

    Finds launches `kernel[grid](...)` whose grid has `n // BLOCK`, where `BLOCK` sizes a block of the kernel.
    Where the kernel masks its accesses, and so was written for a partial block, this is an `error`; where it does not, a
    `warning`. The launch and its kernel stand in the same file; nothing is launched.

    ## Why is this slow?

    It is fast and wrong: of 100 elements in blocks of 32, the last 4 are left as they were.

    ## When it does not matter

    Where the size is a multiple of the block for certain. Nothing is reported where the launching function tests any
    remainder (`assert n % BLOCK == 0`), where the numerator was rounded up before, where both are literals that divide,
    and for kernels that stride over the data (`tl.num_programs`).

    ## Bad

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def copy(x, y, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)

    def run(x, y):
        n = x.numel()
        copy[lambda meta: (n // meta["BLOCK"],)](x, y, n, BLOCK=1024)  # TLK04
    ```

    ## Good

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def copy(x, y, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)

    def run(x, y):
        n = x.numel()
        copy[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, BLOCK=1024)  # ok
    ```

    ## Fix safety

    `n // BLOCK` becomes `triton.cdiv(n, BLOCK)`. That is unsafe, since what was left out is then processed; where the
    kernel masks nothing it is only a suggestion, since the last block then reaches beyond the data.

    ## References

    - <https://triton-lang.org/main/getting-started/tutorials/01-vector-add.html>
    """
    kernel = triton.decorated(site.function, site.target)
    if kernel is None or any(True for _ in kernel.calls("num_programs")):
        return
    for launch in kernel.launches:
        function, sizes, meta = launch.grid()
        if triton.checks_multiples(launch.function) or triton.checks_multiples(function):
            continue
        for size in sizes:
            for division in _divisions(size):
                if _sizes_block(launch, division.right, meta) and not _rounded(
                    function, division.left, launch.function
                ):
                    place = site.at(function, division)
                    name = kernel.function.name
                    if kernel.masked:
                        yield place.finding(
                            f"`{place.short()}` rounds down: the last block is left out, though `{name}` masks for it"
                        )
                    else:
                        message = f"`{place.short()}` rounds down: what is left of a block is left out"
                        yield place.finding(message, severity="warning")


def _divisions(size: ast.expr) -> Iterator[ast.BinOp]:
    """The floor divisions that a grid's dimension is a product of."""
    if isinstance(size, ast.BinOp):
        if isinstance(size.op, ast.FloorDiv):
            yield size
        elif isinstance(size.op, ast.Mult):
            yield from _divisions(size.left)
            yield from _divisions(size.right)


def _sizes_block(launch: triton.Launch, divisor: ast.expr, meta: frozenset[str]) -> bool:
    """Whether what is divided by is the extent of a block: `meta["BLOCK"]`, or what the launch gives for one."""
    extents = launch.kernel.extents
    if isinstance(divisor, ast.Subscript) and isinstance(divisor.value, ast.Name) and divisor.value.id in meta:
        return isinstance(divisor.slice, ast.Constant) and divisor.slice.value in extents
    if not isinstance(divisor, ast.Name):
        return isinstance(divisor, ast.Constant) and any(
            isinstance(given := launch.bound(name), ast.Constant)
            and given.value == divisor.value
            and name.isupper()
            and "BLOCK" in name
            for name in extents
        )
    return any(isinstance(given := launch.bound(name), ast.Name) and given.id == divisor.id for name in extents)


def _rounded(function: Function, numerator: ast.expr, outer: Function) -> bool:
    """Whether the numerator was rounded up before, or is a product with the block's size."""
    if isinstance(numerator, ast.Constant):
        return True
    pending, seen = [numerator], set[str]()
    while pending:
        for node in ast.walk(pending.pop()):
            if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.FloorDiv) and not _product(node):
                return True
            if isinstance(node, ast.Call) and not (
                isinstance(node.func, ast.Attribute) and node.func.attr in ("numel", "size")
            ):
                return True
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                for scope in {function, outer}:
                    pending += triton.assigned(scope, node.id)
    return False


def _product(node: ast.BinOp) -> bool:
    """A product of sizes: `rows * cols`; one with a literal or a name in capitals may be a multiple of the block."""
    parts = [node.left, node.right]
    return isinstance(node.op, ast.Mult) and all(
        not isinstance(p, ast.Constant) and not (isinstance(p, ast.Name) and len(p.id) > 1 and p.id.isupper())
        for p in parts
    )
