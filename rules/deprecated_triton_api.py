from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import syntax, triton
from torchlint.facts.nodes import is_constant
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_FORK = regex(rb"\bnpu|_npu|ascend", re.IGNORECASE)
"""A file for another compiler of the same language, which keeps names of its own."""
_EXPERIMENTAL = {
    "_experimental_descriptor_load": "tl.make_tensor_descriptor(...).load",
    "_experimental_descriptor_store": "tl.make_tensor_descriptor(...).store",
    "_experimental_make_tensor_descriptor": "tl.make_tensor_descriptor",
}


@rule(
    "TLK08",
    shape=[*triton.KERNEL, "triton.testing.allclose(...)", "triton.set_allocator(...)"],
    set="preview",
    severity="info",
    fix="unsafe",
    numbers="rounding",
    torch=">=2.4",
    impact="low",
    category="triton",
)
def deprecated_triton_api(site: Site) -> Iterator[Finding]:
    """A part of Triton's old interface.

    ## What it does

    Finds in kernels `tl.dot(..., allow_tf32=...)`, `tl.libdevice.*`, functions of libdevice as `tl.math.*`, and the
    experimental descriptor functions; elsewhere `triton.testing.allclose`, and `triton.set_allocator` in compiled code.
    It is for Triton 3, which comes with torch 2.4 and later; the tables were compared with Triton 3.9.

    ## Why is this slow?

    All but `allow_tf32` are gone from Triton 3.9: the kernel no longer compiles. `allow_tf32` is deprecated for
    `input_precision`, which also knows `tf32x3`: float32 accuracy on tensor cores.

    ## When it does not matter

    In code that must run with Triton 2, behind a test of its version, and in files for Ascend's fork of Triton. The functions that stayed in `tl.math` (`exp2`,
    `fma`, `rsqrt`, `erf`, ...) are not reported.
    The rule is a preview: all of its 243 findings in 26 public repositories were `allow_tf32`, which still works.

    ## Bad

    ```python whole torch>=2.4
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def product(a, b, c):
        at = tl.arange(0, 16)
        tile = at[:, None] * 16 + at[None, :]
        tl.store(c + tile, tl.dot(tl.load(a + tile), tl.load(b + tile), allow_tf32=False))  # TLK08
    ```

    ## Good

    ```python whole torch>=2.4
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def product(a, b, c):
        at = tl.arange(0, 16)
        tile = at[:, None] * 16 + at[None, :]
        tl.store(c + tile, tl.dot(tl.load(a + tile), tl.load(b + tile), input_precision="ieee"))  # ok
    ```

    ## Fix safety

    `allow_tf32=False` becomes `input_precision="ieee"`, and `True` becomes `"tf32"`.
    The fix is unsafe: the old argument is only a wish, which `TRITON_F32_DEFAULT` overrules and which devices without
    TF32 ignore, where the new one is an error.
    The other names are only reported.

    ## References

    - <https://triton-lang.org/main/python-api/generated/triton.language.dot.html>
    - <https://triton-lang.org/main/python-api/generated/triton.language.make_tensor_descriptor.html>
    - <https://triton-lang.org/main/getting-started/tutorials/07-extern-functions.html>
    """
    if site.name == "triton.testing.allclose()":
        yield site.finding("`triton.testing.allclose` is gone: `torch.testing.assert_close` compares")
    elif site.name == "triton.set_allocator()":
        if site.region is not None:
            yield site.finding(
                "`triton.set_allocator` breaks the graph here: call it before", related=site.why_compiled()
            )
    elif (kernel := triton.decorated(site.function, site.target)) is not None:
        for name, call in kernel.calls():
            yield from _of_language(site.at(kernel.function, call), name, call)


def _of_language(place: Site, name: str, call: ast.Call) -> Iterator[Finding]:
    last = name.rpartition(".")[2]
    if syntax.from_shim(place.function, call.func) or (
        place.source.holds(b"__version__") and any(place.flow.guards(call))
    ):
        return
    if name in ("dot", "dot_scaled"):
        given = next((k for k in call.keywords if k.arg == "allow_tf32"), None)
        if given is not None and not is_constant(given.value, None):
            yield place.finding("`allow_tf32` is deprecated for `input_precision`", at=given)
    elif (
        name.startswith("libdevice.") or (name.startswith("math.") and last in triton.LIBDEVICE)
    ) and not place.source.holds(_FORK):
        yield place.finding(
            f"`{place.short(call.func)}` is gone: it is `libdevice.{last}` of `triton.language.extra`", at=call.func
        )
    elif name in _EXPERIMENTAL:
        yield place.finding(f"`{place.short(call.func)}` is gone: use `{_EXPERIMENTAL[name]}`", at=call.func)
