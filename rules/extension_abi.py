from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_STABLE = regex(rb"TORCH_STABLE_ONLY|TORCH_TARGET_VERSION|torch/csrc/stable")
_ARCH = regex(rb"TORCH_CUDA_ARCH_LIST|-gencode|compute_\d\d|-arch=")


@rule(
    "TLD06",
    shape=[
        "torch.utils.cpp_extension.CUDAExtension(...)",
        "torch.utils.cpp_extension.CppExtension(...)",
        "torch.utils.cpp_extension.load(...)",
    ],
    set="opt-in",
    severity="info",
    torch=">=2.9",
    impact="low",
    category="deployment",
)
def extension_abi(site: Site) -> Iterator[Finding]:
    """A C++ or CUDA extension is built for one Python, one torch and whatever GPU is there.

    ## What it does

    Finds `CppExtension` and `CUDAExtension` without `py_limited_api=True` and the stable ABI of libtorch, `CUDAExtension` in
    files that never name an architecture, and `cpp_extension.load` that runs when a library is imported.
    What the C++ sources include is not read.

    ## Why is this slow?

    It is slow to ship: without the stable ABI, each release of torch and of Python needs a build of its own. Without
    `TORCH_CUDA_ARCH_LIST` the build covers the GPUs of the building machine, and elsewhere the driver compiles kernels at
    first use, or refuses. An extension that is compiled on import makes the first import take minutes.

    ## When it does not matter

    For kernels that live in one repository with one pinned torch, and are built where they run.

    ## Bad

    ```python whole torch>=2.9
    from setuptools import setup
    from torch.utils.cpp_extension import CppExtension

    setup(ext_modules=[CppExtension("ops", ["ops.cpp"])])  # TLD06
    ```

    ## Good

    ```python whole torch>=2.9
    from setuptools import setup
    from torch.utils.cpp_extension import CppExtension

    FLAGS = ["-DPy_LIMITED_API=0x030A0000", "-DTORCH_TARGET_VERSION=0x0209000000000000"]
    setup(
        ext_modules=[CppExtension("ops", ["ops.cpp"], extra_compile_args=FLAGS, py_limited_api=True)],  # ok
    )
    ```

    ## References

    - <https://docs.pytorch.org/docs/stable/cpp_extension.html>
    - <https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html>
    - <https://docs.pytorch.org/tutorials/advanced/cpp_custom_ops.html>
    """
    last = site.name.removesuffix("()").rpartition(".")[2]
    if last == "load":
        if site.function is site.module.body and site.role == "library" and not any(site.flow.guards(site.target)):
            yield site.finding("this import compiles an extension: load it at first use, or build it ahead")
        return
    if site.spread:
        return
    faults = []
    limited = site.argument("py_limited_api")
    if limited is None or (isinstance(limited, ast.Constant) and not limited.value):
        faults.append("one version of Python")
    if not site.source.holds(_STABLE):
        faults.append("one version of torch")
    if last == "CUDAExtension" and not site.source.holds(_ARCH):
        faults.append("the GPUs of the building machine")
    if faults:
        yield site.finding(f"`{last}` is built for {' and '.join(faults)}")
