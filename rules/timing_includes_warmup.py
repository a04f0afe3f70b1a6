from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import clocks
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_WARM = regex(rb"warm|do_bench|adaptive_autorange|blocked_autorange|cold", re.IGNORECASE)


@rule(
    "TLM02",
    shape=[f"{name}(...)" for name in clocks.CLOCKS],
    set="preview",
    severity="info",
    fix="suggestion",
    category="measurement",
)
def timing_includes_warmup(site: Site) -> Iterator[Finding]:
    """A measurement holds the first call, with all that is done only once.

    ## What it does

    Finds timed loops of benchmark functions whose model is called for the first time in the loop.

    ## Why is this slow?

    It is the number that is wrong. The first call makes the CUDA context, chooses cuDNN's algorithms, fills the memory
    pool, and compiles what is compiled lazily: up to minutes, divided by the number of iterations.

    ## When it does not matter

    Where the cold start is what is measured. Files that speak of warming up, and `triton.testing.do_bench` and
    `torch.utils.benchmark.Timer`, which warm up themselves, are not reported, nor are training loops.

    ## Bad

    ```python
    import time

    def benchmark(x):
        model = torch.compile(torch.nn.Linear(4, 4).to(device))
        start = time.perf_counter()
        for _ in range(100):
            model(x)
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / 100  # TLM02
    ```

    ## Good

    ```python
    import time

    def benchmark(x):
        model = torch.compile(torch.nn.Linear(4, 4).to(device))
        for _ in range(3):
            model(x)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(100):
            model(x)
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / 100  # ok
    ```

    ## References

    - <https://docs.pytorch.org/tutorials/recipes/recipes/benchmark.html>
    - <https://docs.pytorch.org/docs/stable/benchmark_utils.html>
    """
    if site.source.holds(_WARM) or not clocks.is_benchmark(site.function, site.role):
        return
    span = clocks.span(site.function, site.call, site.resolve)
    call = clocks.timed_call(span, site.value) if span is not None else None
    if span is None or call is None or site.flow.loops(span.start):
        return
    name = ast.dump(call.func)
    if not any(earlier.lineno < span.start.lineno and ast.dump(earlier.func) == name for earlier in site.flow.calls):
        what = "compiles" if site.value(call.func).compiled else "runs for the first time"
        yield site.finding(f"`{site.short(call.func)}` {what} within the measured time: call it before")
