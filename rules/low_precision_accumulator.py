from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import triton
from torchlint.rule import Finding, Site, rule

_HALVES = frozenset(("float16", "bfloat16", "float8e5", "float8e4nv"))


@rule("TLK06", shape=triton.KERNEL, fix="suggestion", category="triton", principle=("precision",))
def low_precision_accumulator(site: Site) -> Iterator[Finding]:
    """A Triton kernel adds up in half precision.

    ## What it does

    Finds `acc = tl.zeros(..., dtype=tl.float16)` (or `tl.full`, or `tl.bfloat16`) where a loop of the kernel adds to `acc`:
    with `+=`, or as the accumulator of `tl.dot`. It reads the source; nothing is compiled.

    ## Why is this slow?

    It is a question of results: with 8 or 11 bits, a sum of a few hundred terms stops growing. Tensor cores add in
    `float32` at the same speed for `bfloat16`, so that nothing is gained. With `acc += tl.dot(a, b)` the kernel does
    not even compile, since the product is `float32` and a loop may not change a variable's type.

    ## When it does not matter

    For a handful of terms, and where the dtype is a parameter that the caller chooses. Neither is reported: the rule looks
    for a literal dtype and a loop.

    ## Bad

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def product(a, b, c, K, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float16)  # TLK06
        for k in range(0, K, BLOCK):
            acc = tl.dot(tl.load(a + k + at[:, None]), tl.load(b + k + at[None, :]), acc)
        tl.store(c + at[:, None] * BLOCK + at[None, :], acc)
    ```

    ## Good

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def product(a, b, c, K, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)  # ok
        for k in range(0, K, BLOCK):
            acc = tl.dot(tl.load(a + k + at[:, None]), tl.load(b + k + at[None, :]), acc)
        tl.store(c + at[:, None] * BLOCK + at[None, :], acc.to(tl.float16))
    ```

    ## References

    - <https://triton-lang.org/main/python-api/generated/triton.language.dot.html>
    - <https://triton-lang.org/main/getting-started/tutorials/03-matrix-multiplication.html>
    """
    kernel = triton.decorated(site.function, site.target)
    if kernel is None:
        return
    for name, call in kernel.calls("zeros", "full"):
        dtype = triton.dtype_of(name, call)
        half = triton.language(kernel.function, dtype) if dtype is not None else None
        accumulator = _assigned_to(kernel, call)
        if half in _HALVES and accumulator and _added_to(kernel, accumulator):
            place = site.at(kernel.function, call)
            yield place.finding(f"`{accumulator}` adds up in `{half}`: a long sum loses what is small against it")


def _assigned_to(kernel: triton.Kernel, call: ast.Call) -> str:
    statement = kernel.function.flow.parents.get(call)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return ""


def _added_to(kernel: triton.Kernel, name: str) -> bool:
    flow = kernel.function.flow
    for store in flow.stores.get(name, ()):
        statement = flow.parents.get(store)
        if not flow.loops(store):
            continue
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add | ast.Sub):
            return True
        if isinstance(statement, ast.Assign) and _takes(kernel, statement.value, name):
            return True
    return False


def _takes(kernel: triton.Kernel, value: ast.expr, name: str) -> bool:
    """`tl.dot(a, b, acc)`, `acc + x`."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return any(isinstance(side, ast.Name) and side.id == name for side in (value.left, value.right))
    if isinstance(value, ast.Call) and triton.language(kernel.function, value.func) == "dot":
        given = [*value.args[2:3], *(k.value for k in value.keywords if k.arg == "acc")]
        return any(isinstance(acc, ast.Name) and acc.id == name for acc in given)
    return False
