from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator

from torchlint.facts.argparse_defaults import argparse_defaults
from torchlint.facts.nodes import bound_names, is_constant
from torchlint.facts.units import related, top_of
from torchlint.rule import Finding, Range, Site, rule
from torchlint.rule.lazy import regex

_FILLS = Range.parse(">=1.7,<2.0")
# Gradients that are buffers, whoever deals with them: part of a bucket, views of a flat tensor, captured in a graph.
_BUCKETS = regex(rb"gradient_as_bucket_view|flat_?(?:grad|param)|CUDAGraph|cuda\.graph\(")
# DeepSpeed drops the gradients itself, and Accelerate's optimizers for it have a `zero_grad()` that does nothing.
_ENGINE = regex(rb"(?m)^[ \t]*(?:import|from)[ \t]+deepspeed\b|\bDeepSpeedPlugin\b")
# A gradient that has to be there: it is added to, or sent by reference.
_ADDED_TO = regex(rb"\.grad(?:\.data)?(?:\s*[-+]=|\[|\.(?:add_|copy_|share_memory_))")


@rule(
    "TL501",
    shape=[
        "$x.zero_grad(...)",
        "$parameter.grad.zero_(...);",
        "$parameter.grad.data.zero_(...);",
        *(f"$parameter.grad = ($here := torch.{name}(...))" for name in ("zeros_like", "zeros")),
    ],
    fix="unsafe",
    numbers="exact",
    impact="medium",
    category="memory",
    torch=">=1.7",
    confirmed_by=("operator:zero_", "operator:_foreach_zero_", "operator:zeros", "operator:zeros_like"),
)
def grads_filled_with_zeros(site: Site) -> Iterator[Finding]:
    """Gradients are filled with zeros instead of dropped.

    ## What it does

    Finds `zero_grad(set_to_none=False)`, also by an option of the command line whose default is False, and
    `p.grad.zero_()` or `p.grad = torch.zeros_like(p)` over the parameters of a model.
    For programs that are for torch 1.7 to 1.13 at the newest a bare `zero_grad()` in a step loop counts as well: it filled by default. A `cudatoolkit` that an environment has beside any torch does not say so: newer ones do not mind it.

    ## Why is this slow?

    One kernel writes zeros for each parameter, the backward pass then reads and adds to them instead of just writing,
    and the memory of the gradients stays allocated through the forward pass, where the peak is.

    ## When it does not matter

    Where gradients are views of a flat buffer, are added to by hand, sent to other processes by reference or captured
    in a CUDA graph, they have to stay: what does so is not reported, nor what shares a class or a function with it.
    Nor is what a framework's hook fills once, at the start or the end of a run (`on_fit_start`).

    ## Bad

    ```python
    for x in batches:
        optimizer.zero_grad(set_to_none=False)  # TL501
        model(x).sum().backward()
        optimizer.step()
    ```

    ## Good

    ```python
    for x in batches:
        optimizer.zero_grad()  # ok
        model(x).sum().backward()
        optimizer.step()
    ```

    ## Fix safety

    Drops the argument (for torch before 2.0 and where the object is not known to be torch's it says True), or assigns None.
    Unsafe: code that reads `p.grad` before the backward pass meets None, and optimizers skip parameters without a
    gradient, so that weight decay and momentum no longer touch parameters that a step did not use.
    Nothing is offered where the file, or one that it imports or is imported by, reads a gradient without asking whether
    there is one (also by its name, `getattr(p, "grad")`), or assigns one that others may hold (`p.grad = flat[:n].view_as(p)`), where `zero_grad` is the project's own method, and where a `GradScaler` deals with several optimizers, or
    steps one in several places: where no gradient is there it raises.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    """
    if site.once_a_run:
        return
    if site.name == ".zero_grad()":
        yield from _called(site)
    elif (site.name == ".zero_()" or site.hot or site.loop()) and _of_each_parameter(site):
        yield site.finding(f"`{site.short()}` writes zeros for each parameter", related=site.why_hot())


def _called(site: Site) -> Iterator[Finding]:
    if site.spread or _is_buffer(site) or site.receiver.class_name == "torch.optim.SparseAdam":
        return  # of gradients that are sparse only the few rows that they have are zeroed
    given = site.argument("set_to_none", 0)
    if given is None:
        torch = site.torch
        if torch is None or torch.supposed or not _FILLS.low < torch.high <= _FILLS.high or not site.hot:
            return
        if site.receiver.kind in ("optimizer", "module") and not site.source.holds(_ENGINE):
            message = f"`{site.short()}` fills the gradients with zeros on every step before torch 2.0"
            yield site.finding(message, related=site.why_hot())
    elif is_constant(given, False):
        yield site.finding(f"`{site.short()}` fills the gradients with zeros instead of dropping them")
    elif _off_by_default(site, given):
        message = f"`{site.short(given)}` is False unless the option is given: the gradients are filled with zeros"
        yield site.finding(message, severity="info", related=site.why_hot())


def _is_buffer(site: Site) -> bool:
    """Whether the gradients have to stay for something that the file does, or the code around the place."""
    return site.source.holds(_BUCKETS) or (
        site.source.holds(_ADDED_TO) and site.once(("added to", site.function), lambda: _is_added_to(site))
    )


def _is_added_to(site: Site) -> bool:
    """Whether the class or function around the place writes into gradients, or one that it names or that names it."""
    module = site.module
    lines = (bisect_right(site.source.lines, match.start()) for match in _ADDED_TO.finditer(site.source.data))
    return any(related(module, top_of(site.function), top_of(other)) for other in module.functions_at(lines))


def _off_by_default(site: Site, node: ast.expr) -> bool:
    """Whether the expression is an option of the command line that is False when nobody gives it."""
    if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
        return False
    return not site.value(node.value) and argparse_defaults(site.module).get(node.attr) is False


def _makes_state(site: Site) -> bool:
    """Whether the zeros are for a step without a backward pass, by which an optimizer makes its state."""
    line = site.statement.lineno
    steps = [call.lineno for call in site.flow.calls_named("step") if call.lineno > line]
    return bool(steps) and not any(line < call.lineno < steps[0] for call in site.flow.calls_named("backward"))


def _of_each_parameter(site: Site) -> bool:
    """Whether the place is in a loop over parameters, and not there to fill in missing gradients."""
    if _is_buffer(site) or _makes_state(site):
        return False
    for guard in site.flow.guards(site.target):
        test = guard.test
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is if guard.true else ast.IsNot):
            return False
    loop = site.loop((ast.For,))
    if not isinstance(loop, ast.For):
        return False
    node = site.part("parameter")
    targets = bound_names(loop.target)
    return isinstance(node, ast.Name) and node.id in targets and site.value(node).parameter
