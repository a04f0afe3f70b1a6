from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule

_NEW = {
    "torch.backends.cuda.matmul.allow_tf32": "torch.backends.cuda.matmul.fp32_precision",
    "torch.backends.cudnn.allow_tf32": "torch.backends.cudnn.conv.fp32_precision",
}


@rule(
    "TL905",
    shape=[
        *(f"{old} = $_" for old in _NEW),
        *(f"$_ = {old} = $_" for old in _NEW),
        *(f"{old} = $_ = $_" for old in _NEW),
    ],
    set="preview",
    severity="info",
    fix="unsafe",
    numbers="exact",
    torch=">=2.9",
    category="migration",
    depends_on=("TL602",),
)
def tf32_legacy_flags(site: Site) -> Iterator[Finding]:
    """TF32 is switched by the flags from before torch 2.9.

    ## What it does

    Finds assignments to `torch.backends.cuda.matmul.allow_tf32` and `torch.backends.cudnn.allow_tf32` in a project that asks
    for torch 2.9 or later.

    ## Why is this slow?

    It is not: the flags do what they did.
    They are going to be deprecated in favour of `fp32_precision`, and must not be mixed with it (TL602).

    ## When it does not matter

    In a project that also supports torch before 2.9.

    ## Bad

    ```python torch>=2.9
    torch.backends.cuda.matmul.allow_tf32 = True  # TL905
    ```

    ## Good

    ```python torch>=2.9
    torch.backends.cuda.matmul.fp32_precision = "tf32"  # ok
    ```

    ## Fix safety

    `"tf32"` is written for true and `"ieee"` for false, for cuDNN to both of its parts, all flags of a file at once or none;
    nothing is rewritten where the project reads one of them, asks for `float32_matmul_precision`, uses `cudnn.flags` or
    compiles, as torch then reads them.
    It is unsafe: a read of an old flag may raise once the new one was set, and a library may read it.

    ## References

    - https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices
    """
    if site.torch is None or site.torch.low < (2, 9) or site.shim or site.source.holds(b"fp32_precision"):
        return
    if isinstance(getattr(site.target, "ctx", None), ast.Store):
        yield site.finding(f"`{site.text()}` is the old way to switch TF32; `{_NEW[site.name]}` is the new one")
