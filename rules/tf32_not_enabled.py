from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import closure
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_DONE = regex(
    rb"allow_tf32|float32_matmul_precision|fp32_precision|autocast|b?float16|\.half\(|mixed_precision|precision=|float64|\.double\("
)


@rule(
    "TL601",
    shape="$x.backward(...)",
    scope="hot",
    set="opt-in",
    severity="info",
    torch=">=1.12",
    impact="high",
    category="precision",
    principle=("precision",),
)
def tf32_not_enabled(site: Site) -> Iterator[Finding]:
    """A training script computes in float32 and never allows TF32.

    ## What it does

    Finds scripts with a step loop on an accelerator whose program (the file and what it imports from the project) mentions
    neither TF32 nor a lower precision.

    ## Why is this slow?

    Since Ampere the tensor cores multiply float32 matrices several times faster after rounding their inputs to TF32; matrix
    products do so only when they are told, convolutions by default.

    ## When it does not matter

    Where the last digits count, and for small networks that wait for the host.

    ## Bad

    ```python
    if __name__ == "__main__":
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()  # TL601
            optimizer.step()
    ```

    ## Good

    ```python
    torch.set_float32_matmul_precision("high")
    if __name__ == "__main__":
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()  # ok
            optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices
    """
    if not closure.trains_without(site, site.call, _DONE):
        return
    yield site.finding(
        'this program computes in float32 without TF32; `torch.set_float32_matmul_precision("high")` allows it for matrix products'
    )
