from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import element_tests, frequency, logging_calls, loop_ends
from torchlint.facts import host_reads as reads
from torchlint.facts.break_values import captured_test
from torchlint.facts.flow import Comprehension, contains
from torchlint.facts.nodes import given_to
from torchlint.rule import Finding, Site, plain, rule

# What has no name is shown in a few lines of other files alone, these calls everywhere.
_TESTS = ("isnan", "isinf", "isfinite", "any", "all", "equal", "allclose")
_CALLS = {f"{prefix}{name}()" for name in _TESTS for prefix in (".", "torch.")}


@rule(
    "TL102",
    shape=[
        *("if $_: ...", "while $_: ...", "assert $_", "$_ if $_ else $_", "$_ and $_", "$_ or $_", *plain(*_CALLS)),
        *("[$_ for $_ in $_]", "{$_ for $_ in $_}", "{$_: $_ for $_ in $_}", "($_ for $_ in $_)"),
    ],
    scope="any",
    fix="none",
    impact="high",
    category="sync",
    principle=("async",),
    silenced_by=("TL202",),
    confirmed_by=("sync",),
)
def tensor_branch_in_hot_loop(site: Site) -> Iterator[Finding]:
    """Python branches on the value of a device tensor on every step.

    ## What it does

    Finds `if`, `while`, `assert`, `and`, `or`, `not` and `a if t else b` whose condition is a tensor in device
    memory (a comparison, `torch.isnan(...)`, `.any()`, `torch.equal(...)`, `end in tokens`), in a step loop or in what it calls.
    Of a condition that is written on several lines each line is told of that asks the device. So is, on training steps, a loss by its name that may be None (`if extra_loss:`).
    So is what `torch.equal(...)` and `torch.allclose(...)` give, also where it is only handed on: `return torch.equal(x, y)`.
    In evaluation and generation loops, and in what these call, it is an `info`; so is, wherever it stands, the condition of a
    comprehension that compares the elements of a tensor proven to be on the device (`[i for i, token in enumerate(tokens) if token in ends]`).
    In what runs often any condition of a comprehension counts that is a tensor (`[i for i in range(n) if (mask == i).sum() == 0]`).

    ## Why is this slow?

    Python needs True or False, so `Tensor.__bool__` reads the value back: the host waits until the device has
    finished everything queued so far, on each test. In a loop over parameters that is hundreds of waits a step.

    ## When it does not matter

    Behind a condition that holds once in many steps, and where a generation loop has to know its end, but for a counter
    that is kept on the device; on training steps a loop that turns until it is somewhere (`while bad.any():`, `if residual < tolerance: break` of a
    solver inside of a step) is reported with `--preview` alone. Nor is what decides whether the optimizer steps on its gradients reported, nor an `assert` in
    compiled code that Dynamo makes a check inside the graph. Tests of
    shapes, dtypes, devices and of `None` read nothing and are not reported; nor are tensors in host memory.

    ## Bad

    ```python
    for images, labels in loader:
        loss = criterion(model(images.to(device)), labels.to(device))
        if torch.isnan(loss):  # TL102
            raise RuntimeError("diverged")
        loss.backward()
        optimizer.step()
    ```

    ## Good

    Let the device check it (the failure is raised at a later synchronization), or check once in many steps.

    ```python
    for step, (images, labels) in enumerate(loader):
        loss = criterion(model(images.to(device)), labels.to(device))
        torch._assert_async(torch.isfinite(loss).all())  # ok
        if step % 100 == 0 and torch.isnan(loss):  # ok
            raise RuntimeError("diverged")
        loss.backward()
        optimizer.step()
    ```

    Where the branch selects a value, `torch.where(condition, a, b)` selects on the device. A `GradScaler` already
    skips the steps whose gradients are not finite.

    ## References

    - <https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization>
    - <https://docs.pytorch.org/docs/stable/generated/torch.where.html>
    """
    if isinstance(site.target, Comprehension):
        yield from _compared(site, site.target)
        return
    if isinstance(site.target, ast.Call) and not _is_tested(site):
        yield from _told(site, site.target)
        return
    branch = _branch(site)
    test = _test(branch) if branch is not None and site.may_have_accelerator else None
    if branch is None or test is None:
        return
    asked = reads.tested(site, test)
    found = next(asked, None)
    if found is None or not site.accelerator or _is_checked_in_graph(site, found):
        return
    if (
        site.shown_whole
        and frequency.severity(site.at(site.function, branch if isinstance(branch, ast.expr) else test)) is None
    ):
        return
    place = site.at(site.function, found)
    level = frequency.severity(place)
    if level is None or (level == "info" and loop_ends.decides(place, found)) or _first(site) is not branch:
        return
    if loop_ends.decides_step(place, found) or (not site.settings.preview and loop_ends.decides_turns(place, found)):
        return
    if logging_calls.is_logged(site, found) or any(
        not _in_message(site, one) for one in reads.scalar_reads(site, site.statement)
    ):
        return
    for one in (found, *_on_other_lines(place, found, asked)):
        message = (
            f"Branch on the tensor `{site.short(one)}`: the host waits for the device {frequency.how_often(place)}"
        )
        yield site.finding(message, severity=level, at=one, related=place.why_hot())


def _on_other_lines(place: Site, found: ast.expr, others: Iterator[ast.expr]) -> Iterator[ast.expr]:
    """The operands of a condition that ask the device as well, each on a line of its own."""
    told = {found.lineno}
    for one in others:
        if one.lineno not in told and not loop_ends.decides_step(place, one):
            told.add(one.lineno)
            yield one


def _is_checked_in_graph(site: Site, tested: ast.expr) -> bool:
    """Whether an `assert` in compiled code asks for a tensor that Dynamo makes a check of the graph, which nobody waits for."""
    captured = captured_test(site.statement) if isinstance(site.statement, ast.Assert) else None
    return captured is not None and contains(captured, tested) and site.in_compiled


def _is_tested(site: Site) -> bool:
    """Whether a call is part of a condition, or of what one chooses from."""
    around = (*site.flow.expressions(site.target), site.statement)
    return any(_test(node) is not None or isinstance(node, ast.comprehension) for node in around)


def _told(site: Site, call: ast.Call) -> Iterator[Finding]:
    """`return torch.equal(a, b)`, `same = torch.allclose(a, b)`: a bool of Python, whoever asks for it."""
    if not site.may_have_accelerator or not reads.compares(site, call) or not site.accelerator or site.rare:
        return
    if not any(reads.is_on_device(site, one) for one in given_to(call)) and not reads.are_compared_there(site, call):
        return  # a copy, which TL103 tells of
    level = frequency.severity(site)
    if level is None or frequency.shows(site.function) or logging_calls.is_logged(site, call):
        return
    message = f"`{site.short(call)}` is a bool of Python: the host waits for the device {frequency.how_often(site)}"
    yield site.finding(message, severity=level, related=site.why_hot())


def _compared(site: Site, comprehension: Comprehension) -> Iterator[Finding]:
    """`[i for i, token in enumerate(tokens) if token in ends]`: each comparison asks the device for one element."""
    test = next(element_tests.of_device(site, comprehension), None) or _tested_in(site, comprehension)
    if test is None or site.role == "test" or site.rare or site.in_compiled or frequency.shows(site.function):
        return
    message = (
        f"`{site.short(test)}` waits for the device once for each element of this comprehension: read them all at once"
    )
    yield site.finding(message, severity=frequency.severity(site) or "info", at=test, related=site.why_hot())


def _tested_in(site: Site, comprehension: Comprehension) -> ast.expr | None:
    """The tensor that a condition of a comprehension is, in what runs often: `[i for i in range(n) if (mask == i).sum() == 0]`."""
    tests = [test for generator in comprehension.generators for test in generator.ifs]
    if not tests or not site.may_have_accelerator:
        return None
    found = next((one for test in tests for one in reads.tested(site, test)), None)
    return found if found is not None and site.accelerator and frequency.severity(site) is not None else None


def _in_message(site: Site, read: ast.Call) -> bool:
    """Whether a read is part of what an `assert` says where it fails."""
    message = site.statement.msg if isinstance(site.statement, ast.Assert) else None
    return message is not None and contains(message, read)


def _branch(site: Site) -> ast.AST | None:
    """The node that branches: the place itself, or in an evaluation loop the one around the call."""
    if not isinstance(site.target, ast.Call):
        return site.target
    if site.shown_whole:
        return None
    around = (site.target, *site.flow.ancestors(site.target))
    return next((node for node in around if _test(node) is not None), None)


def _test(node: ast.AST) -> ast.expr | None:
    """The condition; of `a or b` by itself, everything but the last operand."""
    if isinstance(node, ast.If | ast.While | ast.Assert | ast.IfExp):
        return node.test
    if isinstance(node, ast.BoolOp):
        return node.values[0] if len(node.values) == 2 else ast.BoolOp(node.op, node.values[:-1])
    return None


def _first(site: Site) -> ast.AST | None:
    """The first node of the statement that branches on a tensor: one finding a statement is enough."""
    nodes: list[ast.AST] = [site.statement, *reads.own_nodes(site.statement)]
    for node in nodes:
        test = _test(node)
        if test is not None and next(reads.tested(site, test), None) is not None:
            return node
    return None
