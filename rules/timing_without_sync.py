from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import clocks, names, timers
from torchlint.rule import Finding, Site, rule

_TRAINING = ("backward", "step")
"""What a step of training calls."""


_REPEATS = ("timeit.timeit", "timeit.repeat")
"""What reads the clock around what it is given to run."""


@rule("TLM01", shape=[f"{name}(...)" for name in (*clocks.CLOCKS, *_REPEATS)], fix="suggestion", category="measurement")
def timing_without_sync(site: Site) -> Iterator[Finding]:
    """Work of the device is timed with the host's clock, without waiting for it.

    ## What it does

    Finds `time.perf_counter() - start` (and the like) where a model is called, or tensors of the device are computed, since
    `start` was taken, and nothing between waits for the device. So does a timer of the project: a context manager, a decorator,
    or a class whose methods read the clock (`timer.tic()`, then `timer.toc()`); it is told where it reads the clock. `timeit.timeit(run)` does, too, of a function of the project or
    a lambda.

    ## Why is this slow?

    The measurement is wrong: kernels are queued and run later, so that the span holds the time it takes to launch them.
    A change that makes the device twice as fast shows nothing, and the time turns up at the next read of a value.

    ## When it does not matter

    For the whole of a training run or epoch, and where something between waits: `.item()`, `.cpu()`, a function of the
    project that reads values. Calls of functions that can't be seen are taken to wait. Throughput displays of training
    loops are not reported, but for the parts of a step: a backward pass that is timed without its forward pass.

    ## Bad

    ```python
    import time

    def measure(x):
        model = torch.nn.Linear(4, 4).to(device)
        start = time.perf_counter()
        model(x.to(device))
        return time.perf_counter() - start  # TLM01
    ```

    ## Good

    ```python
    import time

    def measure(x):
        model = torch.nn.Linear(4, 4).to(device)
        torch.cuda.synchronize()
        start = time.perf_counter()
        model(x.to(device))
        torch.cuda.synchronize()
        return time.perf_counter() - start  # ok
    ```

    ## References

    - <https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution>
    - <https://docs.pytorch.org/tutorials/recipes/recipes/benchmark.html>
    """
    if site.name.removesuffix("()") in _REPEATS:
        yield from _repeated(site)
        return
    if not site.accelerator or "cpu" in site.function.name.lower().split("_"):
        yield from _by_timer(site)
        return
    span = clocks.span(site.function, site.call, site.resolve)
    if span is None:
        yield from _by_timer(site)
        return
    calls = list(span.calls())
    targets = site.project.targets
    work = [call for call in calls if clocks.is_work(site.value, call)]
    passes = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in _TRAINING]
    if passes and not clocks.is_benchmark(site.function, site.role):
        backward = [call for call in passes if names.last(call.func) == "backward"]
        if work or not clocks.is_part_of_step(span, backward):
            return
        work = backward
    if not work:
        yield from _by_timer(site)
        return
    if clocks.decides(span.function, span.first, span.end.lineno, site.value):
        return
    for call in calls:
        name = "torch." if call in work else site.resolve(call.func)
        if clocks.may_wait(site.function, call, name, targets):
            return
    yield site.finding(f"the clock is read while `{site.short(work[-1])}` may still be running on the device")


def _by_timer(site: Site) -> Iterator[Finding]:
    """Work of the device that a timer of the project times elsewhere: in a block behind `with`, in a function that it decorates."""
    for timed in timers.timed(site, site.call):
        told = timed.calls and not _trains(timed)
        work = _unfinished(site.at(timed.function, timed.calls[0]), timed) if told else None
        if work is not None and not site.project.is_tested(timed.function):
            what = f"{names.last(work.func)}(...)"
            why = site.related(timed.function, work, "this is timed, and nothing waits for it")
            yield site.finding(f"the clock is read while `{what}` may still be running on the device", related=(why,))
            return


def _repeated(site: Site) -> Iterator[Finding]:
    """`timeit.timeit(run, number=n)`: what runs there is done over and over, training or not, to be timed."""
    given = site.argument("stmt", 0)
    timed = timers.run_by(site, given) if given is not None else None
    if timed is None or not timed.calls:
        return
    work = _unfinished(site.at(timed.function, timed.calls[0]), timed)
    if work is not None:
        why = site.related(timed.function, work, "this is timed, and nothing waits for it")
        text = f"the clock is read while `{names.last(work.func)}(...)` may still be running on the device"
        yield site.finding(text, related=(why,))


def _trains(timed: timers.Timed) -> bool:
    """Whether a part of a step of training is timed."""
    return any(isinstance(call.func, ast.Attribute) and call.func.attr in _TRAINING for call in timed.calls)


def _unfinished(site: Site, timed: timers.Timed) -> ast.Call | None:
    """The last work for the device that nothing waits for in what is timed; None where there is none."""
    if not site.accelerator:
        return None
    work = [call for call in timed.calls if clocks.is_work(site.value, call)]
    if not work or clocks.decides(timed.function, timed.first, timed.last, site.value):
        return None
    for call in timed.calls:
        name = "torch." if call in work else site.resolve(call.func)
        if clocks.may_wait(timed.function, call, name, site.project.targets):
            return None
    return work[-1]
