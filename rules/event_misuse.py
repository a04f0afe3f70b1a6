from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import clocks, syntax
from torchlint.facts.nodes import is_constant
from torchlint.rule import Finding, Site, rule

_EVENTS = ("torch.cuda.Event", "torch.xpu.Event", "torch.mps.Event", "torch.Event")
_RECORDED = "$stream.record_event()"
"""A stream that is given no event makes one as they are by default."""


@rule(
    "TLM03",
    shape=[*(f"{name}(...)" for name in _EVENTS), _RECORDED, "$start.elapsed_time($end)"],
    fix="unsafe",
    numbers="exact",
    category="measurement",
)
def event_misuse(site: Site) -> Iterator[Finding]:
    """Events are used in a way that gives an error instead of a time.

    ## What it does

    Finds events without `enable_timing=True` whose `elapsed_time` is asked for in the same function or class, those included that
    `stream.record_event()` makes where it is given none, and
    `elapsed_time` in the function that records the second event, with nothing between that waits for it.

    ## Why is this slow?

    Both raise: "Both events must be created with argument 'enable_timing=True'" and "Both events must be completed
    before calculating elapsed time".

    ## When it does not matter

    Events that only order streams need no timing and are cheaper without. `time.time()` is TLM05's.

    ## Bad

    ```python
    def measure(model, x):
        start, end = torch.cuda.Event(), torch.cuda.Event()  # TLM03
        start.record()
        model(x)
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end)
    ```

    ## Good

    ```python
    def measure(model, x):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)  # ok
        start.record()
        model(x)
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end)  # ok
    ```

    ## Fix safety

    `enable_timing=True` is added. Reading the time raised before; it is called unsafe since it can't be run without a
    device. A wait before `elapsed_time` is a suggestion.

    ## References

    - <https://docs.pytorch.org/docs/stable/generated/torch.cuda.Event.html>
    """
    if site.name == ".elapsed_time()":
        yield from _unfinished(site)
    elif site.name == ".record_event()":
        if _read(site):
            yield site.finding(
                f"`elapsed_time` raises for the event that `{site.short()}` makes: give it one with `enable_timing=True`"
            )
    elif not site.spread and _untimed(site) and _read(site):
        yield site.finding(
            f"`elapsed_time` raises for `{site.short()}`, which takes no times without `enable_timing=True`"
        )


def _untimed(site: Site) -> bool:
    given = site.argument("enable_timing", 1 if site.name == "torch.Event()" else 0)
    return given is None or is_constant(given, False)


def _read(site: Site) -> bool:
    """Whether the event that is made here is asked for its time."""
    name = _bound(site)
    if name is not None:
        return any(
            _of(node, name)
            for call, receiver in syntax.method_calls(site.flow, "elapsed_time")
            for node in (receiver, *call.args)
        )
    attribute = syntax.own_attribute(site.function, syntax.target(site.flow, site.call))
    if attribute is None or site.function.cls is None:
        return False
    return any(
        syntax.own_attribute(method, node) == attribute
        for method in site.function.cls.methods.values()
        for call, receiver in syntax.method_calls(method.flow, "elapsed_time")
        for node in (receiver, *call.args)
    )


def _bound(site: Site) -> str | None:
    """The name that the event is assigned to."""
    target = syntax.target(site.flow, site.call)
    return target.id if isinstance(target, ast.Name) else None


def _of(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _unfinished(site: Site) -> Iterator[Finding]:
    end = site.part("end")
    if not isinstance(end, ast.Name):
        return
    records = [
        call
        for call, receiver in syntax.method_calls(site.flow, "record")
        if _of(receiver, end.id) and call.lineno < site.call.lineno
    ]
    if not records or site.flow.loops(records[-1]) != site.flow.loops(site.call):
        return
    for call in site.flow.calls:
        if records[-1].lineno <= call.lineno <= site.call.lineno and call not in (records[-1], site.call):
            last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            unknown = isinstance(call.func, ast.Name) and call.func.id != "print"
            if last in clocks.waiting() or "sync" in last or unknown or site.project.targets(site.function, call):
                return
    yield site.finding(f"`{end.id}` may not be over yet: `elapsed_time` raises until it is, so synchronize before")
