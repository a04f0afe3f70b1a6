from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import closure
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_DONE = regex(
    rb"autocast|b?float16|\.half\(|mixed_precision|precision=|float64|\.double\(|deepspeed|GradScaler|\bapex\b"
)


@rule(
    "TL604",
    shape="$x.backward(...)",
    scope="hot",
    set="opt-in",
    severity="info",
    torch=">=1.10",
    impact="high",
    category="precision",
    principle=("precision",),
)
def no_mixed_precision(site: Site) -> Iterator[Finding]:
    """A training script computes in float32 throughout.

    ## What it does

    Finds scripts with a step loop on an accelerator whose program (the file and what it imports from the project) mentions
    neither autocast nor a 16-bit type nor a framework's setting of the precision.

    ## Why is this slow?

    Tensor cores do 16-bit products at several times the rate of float32, and half the bytes go to and from memory.

    ## When it does not matter

    For small networks that wait for the host, as in reinforcement learning, and where the precision is needed.

    ## Bad

    ```python
    if __name__ == "__main__":
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()  # TL604
            optimizer.step()
    ```

    ## Good

    ```python
    if __name__ == "__main__":
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = criterion(model(x), y)
            loss.backward()  # ok
            optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/amp.html
    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    """
    if not closure.trains_without(site, site.call, _DONE):
        return
    yield site.finding(
        'this program trains in float32; `torch.autocast("cuda", dtype=torch.bfloat16)` around forward and loss lets the tensor cores work in 16 bits'
    )
