from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import triton
from torchlint.facts.told import Retuned
from torchlint.rule import Finding, Site, rule

_RESETS = ("reset_to_zero", "restore_value", "pre_hook")


@rule("TLK05", shape="@triton.autotune(...)\ndef $kernel(*$_): ...", fix="suggestion", impact="high", category="triton")
def autotune_misconfigured(site: Site) -> Iterator[Finding]:
    """`@triton.autotune` without a key, or on a kernel that changes its own input.

    ## What it does

    Finds `@triton.autotune` with an empty `key`, and on kernels that add to what is there (`tl.atomic_add` and others, or a
    load, change and store through the same pointer) without `reset_to_zero`, `restore_value` or a `pre_hook`.
    Decorators with one configuration, which try nothing, are left alone. It reads the source; nothing is tuned.

    ## Why is this slow?

    Without a key, the configuration that is best for the first shape serves all later ones. And while it tries
    configurations, the tuner runs the kernel many times over: what it adds up in its output is added up each time, so that
    the first call, of every new key, gives wrong results.

    ## When it does not matter

    An empty key is right for a kernel that is only ever run on one size. A kernel that stores to a pointer before it
    adds to it starts afresh each time, and is not reported. Locks (`tl.atomic_cas`, `tl.atomic_xchg`) are
    not reported, nor what a helper of the kernel does.

    ## Bad

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256})], key=["n"])  # TLK05
    @triton.jit
    def count(x, total, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(total, tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0)))
    ```

    ## Good

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256})], key=["n"], reset_to_zero=["total"])  # ok
    @triton.jit
    def count(x, total, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(total, tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0)))
    ```

    ## References

    - <https://triton-lang.org/main/python-api/generated/triton.autotune.html>
    """
    kernel = triton.decorated(site.function, site.target)
    if kernel is None or site.spread or _single(site.argument("configs", 0)):
        return
    key = site.argument("key", 1)
    if isinstance(key, ast.List | ast.Tuple) and not key.elts:
        yield site.finding(f"`{kernel.function.name}` is tuned once: without a `key`, its first shape decides for all")
    if _resets(site):
        return
    changed = triton.accumulates(kernel)
    if changed is not None:
        pointer, how = changed
        remedy = "reset_to_zero" if how.startswith("atomic") else "restore_value"
        what = f"`tl.{how}`" if how.startswith("atomic") else "a load and a store"
        yield site.finding(
            f"tuning runs `{kernel.function.name}` many times, and {what} changes `{pointer}` each time: give `{remedy}`",
            told=Retuned(pointer, how),
        )


def _single(configs: ast.expr | None) -> bool:
    return (
        isinstance(configs, ast.List | ast.Tuple)
        and len(configs.elts) < 2
        and not any(isinstance(c, ast.Starred) for c in configs.elts)
    )


def _resets(site: Site) -> bool:
    """Whether the tuner or a configuration puts back what the kernel changes; what can't be seen is believed to."""
    if any(keyword.arg in _RESETS for keyword in site.call.keywords):
        return True
    configs = site.argument("configs", 0)
    if isinstance(configs, ast.List | ast.ListComp):
        return "pre_hook" in site.text(configs)
    return "pre_hook" in site.source.text
