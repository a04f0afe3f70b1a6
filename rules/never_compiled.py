from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts import closure
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_DONE = regex(rb"\bcompile\b|torch_compile|\bjit\b|torch_tensorrt|torch_xla|export\(|thunder|\bTrainer\b")


@rule(
    "TL712",
    shape="$x.backward(...)",
    scope="hot",
    set="opt-in",
    severity="info",
    torch=">=2.0",
    impact="high",
    category="kernel",
    principle=("fusion",),
)
def never_compiled(site: Site) -> Iterator[Finding]:
    """A training script never compiles its model.

    ## What it does

    Finds scripts with a step loop on an accelerator whose program (the file and what it imports from the project) mentions no
    compiler.

    ## Why is this slow?

    Eager PyTorch launches a kernel for each operation and writes each result to memory.
    `torch.compile` fuses chains of them and launches less; how much that gains depends on the model, which is why this rule must
    be asked for.

    ## When it does not matter

    For short runs, where compiling takes longer than it saves, and for models whose shapes change all the time.

    ## Bad

    ```python
    if __name__ == "__main__":
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()  # TL712
            optimizer.step()
    ```

    ## Good

    ```python
    model = torch.compile(model)
    if __name__ == "__main__":
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()  # ok
            optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.compile.html
    """
    if not closure.trains_without(site, site.call, _DONE):
        return
    yield site.finding("this program never compiles its model; `torch.compile(model)` fuses its kernels")
