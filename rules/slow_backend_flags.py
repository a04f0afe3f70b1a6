from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_SLOW = {
    "torch.backends.cudnn.deterministic": (True, "keeps cuDNN to its deterministic kernels, which are slower"),
    "torch.backends.cudnn.enabled": (False, "turns cuDNN off"),
}
_TYPOS = ("bencmark", "bechmark", "benckmark", "benchamrk", "benchmak", "benchmarck", "benchmarks", "benmark")
"""What programs have written for `benchmark`."""
_ON_PURPOSE = regex(r"determin|reprod|seed|random|setup_rng", re.IGNORECASE)
_SEEDED = regex(rb"manual_seed|seed_everything|set_seed|CUBLAS_WORKSPACE_CONFIG")
"""A program that sets its seeds wants the same numbers again: the slow kernels are on purpose."""


@rule(
    "TL607",
    shape=[
        *(f"{flag} = {value}" for flag, (value, _) in _SLOW.items()),
        *(f"torch.backends.cudnn.{name} = True" for name in _TYPOS),
        "torch.use_deterministic_algorithms(mode := True, ...)",
    ],
    set="preview",
    severity="info",
    category="precision",
)
def slow_backend_flags(site: Site) -> Iterator[Finding]:
    """A program always runs with a global flag that makes kernels slower, or without the one that it misspells.

    ## What it does

    Finds `torch.use_deterministic_algorithms(True)`, `torch.backends.cudnn.deterministic = True` and
    `torch.backends.cudnn.enabled = False` with a literal value, under no condition; and misspellings of
    `torch.backends.cudnn.benchmark = True`, wherever they stand: Python adds the attribute without a word, and cuDNN does not read it.

    ## Why is this slow?

    Deterministic kernels avoid atomic additions and the fastest convolution algorithms; without cuDNN convolutions and
    recurrent layers run in plain kernels.

    ## When it does not matter

    Where the numbers must be reproducible.
    Flags behind an option, in functions whose name speaks of seeds or determinism, in files that set a seed, and in tests
    and benchmarks are not reported, and neither is `cudnn.benchmark = False`, which is the default, and better for inputs
    whose shapes change.

    The catalogue's option to suggest `cudnn.benchmark = True` is left out: that all inputs have one shape is not to be seen in
    the source. A traced run counts the shapes (TLT14).

    ## Bad

    ```python
    from torch.backends import cudnn

    cudnn.deterministic = True  # TL607
    cudnn.bencmark = True  # TL607
    ```

    ## Good

    ```python
    from torch.backends import cudnn

    cudnn.deterministic = args.deterministic  # ok
    cudnn.benchmark = True  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/notes/randomness.html
    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    """
    if site.role in ("test", "benchmark"):
        return
    if site.name.rpartition(".")[2] in _TYPOS:
        yield site.finding(
            f"`{site.short(site.statement)}` sets nothing: the flag is called `benchmark`", at=site.statement
        )
        return
    if (
        site.source.holds(_SEEDED)
        or any(True for _ in site.flow.guards(site.target))
        or _ON_PURPOSE.search(site.function.name)
    ):
        return
    if site.name == "torch.use_deterministic_algorithms()":
        yield site.finding(f"`{site.short()}` keeps all operations to their deterministic kernels, which are slower")
    else:
        yield site.finding(f"`{site.short(site.statement)}` {_SLOW[site.name][1]}", at=site.statement)
