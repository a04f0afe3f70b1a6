from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import triton
from torchlint.facts.nodes import elements, string
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_COMMENT = regex(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAUNCH = regex(r"(\w+)\s*(?:<[^<>;]*>)?\s*<<<([^;]*?)>>>", re.DOTALL)
_CHECKED = regex(
    r"KERNEL_LAUNCH_CHECK|cudaGetLastError|cudaPeekAtLastError|CUDA_CHECK|checkCuda|gpuErr|hipGetLastError|CUDA_POST_KERNEL_CHECK",
    re.IGNORECASE,
)


@rule("TLK10", shape="torch.utils.cpp_extension.load_inline(...)", set="preview", severity="info", category="triton")
def cuda_launch_unchecked(site: Site) -> Iterator[Finding]:
    """CUDA source in a string launches a kernel without a check, or on the default stream.

    ## What it does

    Searches the strings given to `load_inline` for `<<<...>>>` and, in the same string, for
    `C10_CUDA_KERNEL_LAUNCH_CHECK()`, `cudaGetLastError()` or a macro of that kind, and for the stream of the launch.
    It is a search of the text; the source is not compiled. Files (`.cu`) are not read.

    ## Why is this slow?

    An invalid launch says nothing by itself: the error turns up at some later call, and is looked for there. And a launch
    without a stream goes to the default stream, which the kernels of torch's current stream wait for; under
    `torch.cuda.graph` or in a side stream, it is an error or a race.

    ## When it does not matter

    In an exercise or a single-stream program, where errors are looked for with `CUDA_LAUNCH_BLOCKING=1`.

    ## Bad

    ```python whole
    import torch
    from torch.utils.cpp_extension import load_inline

    SOURCE = '''
    torch::Tensor twice(torch::Tensor x) {
        twice_kernel<<<blocks, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>());
        return x;
    }
    '''
    module = load_inline("twice", cpp_sources="", cuda_sources=SOURCE)  # TLK10
    ```

    ## Good

    ```python whole
    import torch
    from torch.utils.cpp_extension import load_inline

    SOURCE = '''
    torch::Tensor twice(torch::Tensor x) {
        twice_kernel<<<blocks, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>());
        C10_CUDA_KERNEL_LAUNCH_CHECK();
        return x;
    }
    '''
    module = load_inline("twice", cpp_sources="", cuda_sources=SOURCE)  # ok
    ```

    ## References

    - <https://docs.pytorch.org/docs/stable/cpp_extension.html>
    - <https://docs.nvidia.com/cuda/cuda-c-programming-guide/#error-checking>
    """
    for source in _sources(site):
        text = _COMMENT.sub("", source)
        launch = _LAUNCH.search(text)
        if launch is None:
            continue
        faults = [] if _CHECKED.search(text) else ["unchecked"]
        options = [option.strip() for option in launch[2].split(",")]
        if "tream" not in text and (len(options) < 4 or options[-1] in ("0", "NULL", "nullptr")):
            faults.append("on the default stream")
        if faults:
            yield site.finding(f"the CUDA source launches `{launch[1]}` {' and '.join(faults)}")


def _sources(site: Site) -> Iterator[str]:
    """The strings of CUDA source that are given, directly or by a name."""
    for position, keyword in ((1, "cpp_sources"), (2, "cuda_sources")):
        given = site.argument(keyword, position)
        for part in elements(given) if given is not None else ():
            text = _text(site, part)
            if text is not None:
                yield text


def _text(site: Site, node: ast.expr | None) -> str | None:
    if not isinstance(node, ast.Name):
        return string(node)
    texts = (string(triton.definition(function, node.id)) for function in (site.function, site.module.body))
    return next((text for text in texts if text is not None), None)
