from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import frequency, handed_reads, logging_calls, short_functions
from torchlint.facts import host_reads as reads
from torchlint.facts.flow import Guard
from torchlint.facts.nodes import given_to
from torchlint.facts.wherever import wherever
from torchlint.rule import Finding, Site, rule


@rule(
    "TL104",
    shape=[
        "$x.format(...)",
        *(f"$x.{name}(...)" for name in logging_calls.METHODS),
        *(f"{name}(...)" for name in logging_calls.FUNCTIONS),
        "$text = $written",
        "$text += $written",
        "$writes(...)",
    ],
    scope="hot",
    fix="suggestion",
    category="sync",
    principle=("async",),
    silenced_by=("TL203",),
    confirmed_by=("sync", "d2h"),
)
def tensor_logged_every_step(site: Site) -> Iterator[Finding]:
    """A device tensor is printed or logged on every step.

    ## What it does

    Finds calls of `print`, of loggers, progress bars (`set_postfix`) and experiment trackers (`add_scalar`,
    `wandb.log`) that format or read a tensor in device memory: itself, in an f-string, `%` or `format`, in a
    dictionary, or by `.item()`; and text that is made of one and kept (`text = f"{loss:.3f}"`) or given to any other call
    (`sys.stderr.write(f"{loss:.3f}")`). In evaluation and generation loops it is an `info` (`print` is not looked for
    there).

    ## Why is this slow?

    To write a tensor down, its value has to be on the host: the host waits until the device has finished everything
    queued so far, and then does its writing while the device has nothing to do. A progress bar that draws rarely
    (`mininterval`) still evaluates its arguments on each step.

    ## When it does not matter

    Behind a condition that holds once in many steps, and after the loop: neither is reported, nor is what is logged once a
    rollout, beside the loop that plays it (`env.step(action)`), and what all calls on steps give as a number (`self.write(loss.item())`, beside `self.write(total)` of a validation). A condition on the
    rank alone is no such condition, since everybody waits for rank 0. `logger.debug("%s", loss)` formats nothing
    while the level is off, and `self.log("loss", loss)` of Lightning keeps the tensor.

    ## Bad

    ```python
    for images, labels in loader:
        loss = criterion(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        print(f"loss {loss:.3f}")  # TL104
    ```

    ## Good

    ```python
    for step, (images, labels) in enumerate(loader):
        loss = criterion(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"loss {loss:.3f}")  # ok
    ```

    ## References

    - <https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization>
    - <https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#disable-debugging-apis>
    """
    if isinstance(site.target, ast.Assign | ast.AugAssign):
        yield from _kept_as_text(site, site.target.value)
        return
    formats = site.name == ".format()"
    if not site.may_have_accelerator:
        return
    if not (formats or logging_calls.logging_call(site, site.call)):
        for given in given_to(site.call):
            yield from _kept_as_text(site, given)
        return
    found = logging_calls.logged(site, site.call) if site.hot or site.warm else []
    if formats:
        # A read of its own is told by TL101, a copy by TL103.
        found = [one for one in found if not _is_told(site, one)]
    level = frequency.severity(site) if found else None
    if level is None or not site.accelerator or logging_calls.is_logged(site, site.call):
        return
    found = [one for one in found if not handed_reads.is_number_on_steps(site, one)]
    if not found or _warns(site):
        return
    what = "written as text" if formats else "logged"
    for number, one in enumerate(found):
        message = f"`{site.short(one)}` is read from the device {frequency.how_often(site)} to be {what}"
        yield site.finding(message, at=one if number else None, severity=level, related=site.why_hot())


def _warns(site: Site) -> bool:
    """Whether a condition in front of the place, or of the call of a function that does nothing else, is a read of its own: what it warns of is rare."""
    return wherever(site, _is_warned)


def _is_warned(site: Site) -> bool:
    guards = (guard for guard in site.flow.guards(site.target) if not _is_special_case(guard))
    tests = [guard.test for guard in guards if not _is_of_step(site, guard)]
    calls = (part for test in tests for part in ast.walk(test) if isinstance(part, ast.Call))
    return any(True for test in tests for _ in reads.tested(site, test)) or any(
        reads.scalar_read(site, call) is not None for call in calls
    )


def _is_special_case(guard: Guard) -> bool:
    """`if labels.sum() < 1: return x.sum() * 0`, `if loss > 1e4: raise Diverged`: what stands behind it is the ordinary way."""
    block = guard.otherwise if guard.block is None else []
    left = block[-1] if block else None
    return isinstance(left, ast.Raise | ast.Break) or (isinstance(left, ast.Return) and left.value is not None)


def _is_of_step(site: Site, guard: Guard) -> bool:
    """`if labels.sum() == 0: continue` in front of `loss.backward()`: what stands behind a condition as the backward pass does is the ordinary way."""
    return any(
        other.node is guard.node and other.true is guard.true
        for call in short_functions.calling(site.function, "backward")
        for other in site.flow.guards(call)
    )


def _is_told(site: Site, one: ast.expr) -> bool:
    if isinstance(one, ast.Call):
        return reads.scalar_read(site, one) is not None or reads.host_copy(site, one) is not None
    return reads.reads_as_before(site, one)


def _kept_as_text(site: Site, made: ast.expr) -> Iterator[Finding]:
    """`text = f"{loss:.3f}"`, `text += "%.3f" % loss`, `write(f"{loss:.3f}")`: a tensor is read where the text is made, whoever sees it."""
    texts = [one for one in _parts(made) if _is_text(site, one)]
    if not texts or not (site.hot or site.warm) or not site.accelerator:
        return
    written = (one for text in texts for one in logging_calls.formatted(site, text))
    found = next((one for one in written if reads.device_tensor(site, one) is not None), None)
    level = frequency.severity(site) if found is not None else None
    if level is None or found is None or _warns(site):
        return
    message = f"`{site.short(found)}` is read from the device {frequency.how_often(site)} to be written as text"
    yield site.finding(message, at=found, severity=level, related=site.why_hot())


def _parts(made: ast.expr) -> list[ast.expr]:
    """What is made, or what a list of it holds: `[f"{step}", f"{loss:.3f}"]`, `[f"{v:.3f}" for v in losses]`."""
    if isinstance(made, ast.List | ast.Tuple):
        return made.elts
    return [made.elt if isinstance(made, ast.ListComp | ast.GeneratorExp) else made]


def _is_text(site: Site, made: ast.expr) -> bool:
    """An f-string, `"..." % values`, or a sum of such."""
    while isinstance(made, ast.BinOp) and isinstance(made.op, ast.Add):
        if _is_text(site, made.right):
            return True
        made = made.left
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mod):
        return site.value(made.left).kind == "str"
    return isinstance(made, ast.JoinedStr)
