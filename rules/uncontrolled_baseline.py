from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import clocks
from torchlint.facts.told import Baseline
from torchlint.rule import Finding, Site, rule

_PEAKS = ("torch.cuda.max_memory_allocated", "torch.cuda.max_memory_reserved")


@rule(
    "TLM05",
    shape=[*(f"{name}(...)" for name in clocks.CLOCKS), *(f"{name}(...)" for name in _PEAKS)],
    set="preview",
    severity="info",
    fix="suggestion",
    impact="low",
    category="measurement",
)
def uncontrolled_baseline(site: Site) -> Iterator[Finding]:
    """A measurement that can't be compared with another one.

    ## What it does

    Looks at functions that measure. Finds the peak of memory without `reset_peak_memory_stats` in the file, timed
    inference with autograd on, a time of a single run, and `time.time()` as the clock.
    Whether two arms of a comparison have the same seed and dtype is for their author to see.

    ## Why is this slow?

    The number leads astray: a peak is that of the whole process so far, autograd keeps activations that inference would
    free, and of one run nobody knows how much is chance. `time.time()` is the time of day, which is set back and forth and
    is coarse on some systems.

    ## When it does not matter

    In a smoke test, or in a display of progress, such as the peak of the whole run in a text; over many runs, in the
    measurement or each measured in a loop, the clock's jumps do not count, and `time.time()` will do. Functions are taken to measure by their names, or because their
    file is a benchmark.

    ## Bad

    ```python
    def measure_memory(model, x):
        model(x)
        return torch.cuda.max_memory_allocated()  # TLM05
    ```

    ## Good

    ```python
    def measure_memory(model, x):
        torch.cuda.reset_peak_memory_stats()
        model(x)
        return torch.cuda.max_memory_allocated()  # ok
    ```

    ## References

    - <https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.reset_peak_memory_stats.html>
    - <https://docs.pytorch.org/docs/stable/benchmark_utils.html>
    - <https://docs.python.org/3/library/time.html#time.perf_counter>
    """
    if not clocks.is_benchmark(site.function, site.role) or site.role == "test":
        return
    if site.name.removesuffix("()") in _PEAKS:
        reset = site.source.holds(b"reset_peak") or site.source.holds(b"reset_max")
        if not reset and not any(isinstance(parent, ast.JoinedStr) for parent in site.flow.expressions(site.call)):
            yield site.finding(
                "the peak since the program began: reset it before what is measured", told=Baseline("peak")
            )
        return
    span = clocks.span(site.function, site.call, site.resolve)
    if span is None:
        return
    if site.name == "time.time()" and _is_once(site, span):
        yield site.finding("`time.time()` may jump: `time.perf_counter()` measures", told=Baseline("clock"))
    calls = list(span.calls())
    runs = [call for call in calls if site.value(call.func).kind == "module"]
    if not runs or any(
        isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "step") for call in calls
    ):
        return
    run = site.short(runs[0])
    if not site.at(site.function, runs[0]).grad_off:
        yield site.finding(
            f"`{run}` is timed with autograd on, which inference would be without", told=Baseline("autograd")
        )
    elif _is_once(site, span):
        yield site.finding(f"`{run}` is timed once: chance is not to be told from effect", told=Baseline("chance"))


def _is_once(site: Site, span: clocks.Span) -> bool:
    """Whether a single run is timed: no loop is, nor is one around it."""
    return not site.flow.loops(site.call) and not span.loops()
