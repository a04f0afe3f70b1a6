from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import (
    clocks,
    frequency,
    handed_reads,
    host_needs,
    kernel_counts,
    logging_calls,
    loop_ends,
    names,
    type_tested,
)
from torchlint.facts import host_reads as reads
from torchlint.facts.syntax import same
from torchlint.facts.values import LIKELY, PROVEN, Value
from torchlint.facts.wherever import wherever
from torchlint.rule import Finding, Site, rule

_STACK = 3
"""So many reads of one block are worth stacking."""

_KEEPERS = "update record track store push put log report add_batch_value".split()
"""What methods are called that keep a number, and read it where it is a tensor."""


@rule(
    "TL101",
    shape=[
        "$x.item(...)",
        "$x.data[0]",
        "$x.get_scale(...)",
        "$x.state_dict(...)",
        "float(...)",
        "int(...)",
        "bool(...)",
        "complex(...)",
        *(f"{name}(...)" for name in reads.READERS),
        *(f"math.{name}(...)" for name in reads.MATH),
        *(f"$keeper.{name}(...)" for name in _KEEPERS),
    ],
    scope="any",
    fix="unsafe",
    numbers="rounding",
    impact="high",
    category="sync",
    principle=("async",),
    silenced_by=("TL201", "TL213"),
    confirmed_by=("sync", "d2h"),
)
def item_in_hot_loop(site: Site) -> Iterator[Finding]:
    """A tensor of the device is read back to Python on every step.

    ## What it does

    Finds `.item()`, `float(t)`, `int(t)`, `bool(t)` and `math.sqrt(t)` of a tensor in device memory (and `loss.data[0]`,
    by which torch read a loss before 0.4), in the innermost loop around `backward()` or the optimizer's step, in what that loop calls, and (as `info`) in evaluation
    and generation loops and in what these call. There is one finding a statement.

    What a method of the project reads where it is given a tensor (`if isinstance(v, torch.Tensor): v = v.item()`) is told of
    at the calls that give it one: `meters.update(loss=loss)`. What other helpers read so (`if hasattr(x, "item"): return x.item()`) is told of there,
    as `info`, where a call on a step or in a forward gives it a tensor of the device.

    The scale of a GradScaler is read in the same way, by `scaler.get_scale()` and `scaler.state_dict()["scale"]`.

    Three or more reads in one block could be one, of the stacked values; the message says so. A read in a logging
    call is TL104's, one that is repeated for each element is TL105's.

    ## Why is this slow?

    The host queues work for the device and runs ahead of it. To read a value it has to wait until the device has
    finished everything queued so far; then the device waits in turn, until the host has queued something new. The
    read itself (`aten::_local_scalar_dense`) is one copy and one stream synchronization; what it costs is the
    overlap.

    ## When it does not matter

    Behind a condition that holds once in many steps (`if step % log_every == 0:`), after the loop, on the way out
    of the program, in an exception handler, for a tensor in host memory, where the environment of a reinforcement
    learning loop needs the action, where it decides whether the optimizer steps on its gradients (`if math.isfinite(grad_norm): optimizer.step()`, the flag of
    `torch._amp_foreach_non_finite_check_and_unscale_`),
    where the loop ends as a value is small enough (`if loss.item() < 1e-7: break`), where a generation loop yields the value, and where an evaluation times its iterations and reads as the last thing in front of the clock: none of these is reported. Nor is what is read once a rollout, beside the
    loop that plays it (`env.step(action)`). A loop that is bound by its data loader
    waits anyway.

    ## Bad

    ```python
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item()  # TL101
    ```

    ## Good

    Sum on the device and read once.

    ```python
    total = torch.zeros((), device=device)
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach()
    print(total.item())  # ok
    ```

    ## Fix safety

    `total += loss.item()` becomes `total += loss.detach()`, and `total = float(total)` (`int(total)` for a count) is put
    behind the loop, around reads inside it, too. It is offered where `total` starts as a number and is read only after the
    loop or behind a throttle. It is unsafe, since the sum is then kept in the tensor's dtype (half precision and what is
    added to 0.0 in single precision) and no longer in a Python double; a sum of losses that starts as the integer 0 is 0.0
    where it is read before the first one was added, or the loop never runs. In the loop a number that the sum divides gives
    infinity where the sum is 0, which raised before.
    Nothing is offered where the dtype might be complex or a small integer, where the sum is seen by an inner function,
    by `locals()`, or after an exception in the loop, or where the loop selects a device (`f"cuda:{i}"`). That the losses
    of a loop over models lie on one device is taken for granted.

    ## References

    - <https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization>
    - <https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html>
    """
    if isinstance(site.target, ast.Attribute):
        yield from _of_old(site, site.target)
        return
    if site.name.removeprefix(".").removesuffix("()") in _KEEPERS:
        yield from _read_by_callee(site)
        return
    tensor = reads.scalar_read(site, site.call)
    if tensor is None:
        yield from _handed(site)
        return
    level = frequency.severity(site)
    if level is None or logging_calls.is_logged(site, site.call) or reads.per_element(site, site.call):
        return
    if wherever(site, _is_needed):
        return
    if type_tested.is_of_rest(site.function, site.call):
        return  # told where it is given
    if site.call not in reads.told_reads(site, site.statement) or _is_read_by_guard(site):
        return
    message = f"`{site.short()}` waits for the device {frequency.how_often(site)}"
    together = reads.reads_together(site)
    if isinstance(site.statement, ast.AugAssign) and not isinstance(site.statement.value, ast.List):
        seldom = "show it less often" if _is_shown(site, site.statement.target) else "read it once"
        message += f": keep the sum on the device and {seldom}"
    elif together >= _STACK:
        least = "at least " if reads.may_be_more(site) else ""
        message += f", one of {least}{together} reads in this block: `torch.stack(...).tolist()` is one"
    elif reads.at_once(site, site.statement) > 1:
        message += ", and so does another read of this statement"
    yield site.finding(message, severity=level, related=site.why_hot())


def _is_needed(place: Site) -> bool:
    """Whether the host has to have the value to go on, or a clock waits for it."""
    if host_needs.for_environment(place, place.call) or loop_ends.decides(place, place.call):
        return True
    if loop_ends.decides_step(place, place.call) or kernel_counts.is_count_for_memory(place, place.call):
        return True
    return place.hot is None and clocks.is_timed_by_next(place.function, place.target, place.resolve)


def _handed(site: Site) -> Iterator[Finding]:
    """What a helper reads, where some of its calls hand it a tensor on each step: `def item(x): return x.item() if hasattr(x, "item") else x`."""
    name = type_tested.read_parameter(site.function, site.call)
    if name is None or site.function.name in _KEEPERS:
        return  # of the keepers the calls are told
    if site.role == "test" or not site.accelerator:
        return
    found = handed_reads.handed(site, name)
    if found is not None:
        why = site.related(found.function, found.given, "given here")
        message = f"`{site.short()}` waits for the device {found.how_often}"
        yield site.finding(message, severity="info", related=(why,))


def _is_read_by_guard(site: Site) -> bool:
    """Whether the condition right in front has read the same, and nothing was queued since: `if x.item() < best: best = x.item()`."""
    return any(
        guard.block is not None
        and _first_of(guard.block) is site.statement
        and any(isinstance(part, ast.Call) and same(part, site.call) for part in ast.walk(guard.test))
        for guard in site.flow.guards(site.target)
    ) and all(same(one, site.call) for one in reads.scalar_reads(site, site.statement))


def _first_of(block: tuple[ast.stmt, ...]) -> ast.stmt:
    """The first statement of a block that runs, inside of `with torch.no_grad():` perhaps."""
    first = block[0]
    while isinstance(first, ast.With):
        first = first.body[0]
    return first


def _is_shown(site: Site, total: ast.expr) -> bool:
    """Whether the loop reads a sum again on each iteration: `bar.set_postfix(loss=total / (i + 1))`.

    `mean += (x.item() - mean) / i` reads its own sum, and shows it to nobody.
    """
    loop = site.loop()
    loads = site.flow.loads.get(total.id, ()) if isinstance(total, ast.Name) else ()
    others = (load for load in loads if site.flow.statement(load) is not site.statement)
    inside = (site.at(site.function, load) for load in others if loop is not None and loop in site.flow.loops(load))
    return any(one.hot is not None or one.warm is not None for one in inside)


def _of_old(site: Site, data: ast.Attribute) -> Iterator[Finding]:
    """`loss.data[0]` of a single value: a number of Python in torch before 0.4, and an error since."""
    read = site.flow.parents[data]
    assert isinstance(read, ast.Subscript)
    level = frequency.severity(site) if read in reads.told_old_reads(site, site.statement) else None
    if level is not None and not logging_calls.is_logged(site, read):
        message = f"`{site.short(read)}` waits for the device {frequency.how_often(site)}"
        yield site.finding(message, severity=level, at=read, related=site.why_hot())


def _read_by_callee(site: Site) -> Iterator[Finding]:
    """A tensor that is given to a function which reads it if it is one: `meters.update(loss=loss)`."""
    if not (site.call.args or site.call.keywords) or not site.accelerator:
        return
    for target, given, read in site.project.readers(site.function, site.call):
        if not _holds_tensor(site, given) or (level := frequency.severity(site)) is None:
            continue
        if not type_tested.is_of_rest(target, read) and reads.scalar_read(site.at(target, read), read) is not None:
            continue  # told there
        why = site.related(target, read, "read here, as it is a tensor")
        message = f"`{site.short(given)}` is read from the device {frequency.how_often(site)} by `{names.last(site.call.func)}()`"
        yield site.finding(message, severity=level, related=(why, *site.why_hot()))
        return


def _holds_tensor(site: Site, given: ast.expr) -> bool:
    """Whether something is a tensor of the device, or a dictionary of such; what a model or a criterion gave is one."""
    value = site.value(given)
    if value.kind != "dict":
        sure = _is_calculated(value) or _is_reduced(value)
        return reads.device_tensor(site, given, LIKELY if sure else PROVEN) is not None
    held = [one for one in (value.element, *(value.entries or {}).values()) if one is not None]
    return any((one.is_tensor or _is_calculated(one)) and not one.on_cpu and not one.from_loader for one in held)


def _is_reduced(value: Value) -> bool:
    """Whether one way makes a tensor of one element, and another something unknown, which is read as well if it is a tensor: the norm that `clip_grad_norm_` gives, or a library."""
    return value.kind == "tensor" and value.scalar and "unknown" in value.other_kinds


def _is_calculated(value: Value) -> bool:
    """Whether a tensor has a graph: a model, or a criterion, gave it."""
    return value.kind == "tensor" and value.grad
