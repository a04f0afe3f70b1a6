from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint.facts import names, scaling, syntax
from torchlint.facts.common_names import OPTIMIZER_NAME
from torchlint.facts.module import Function
from torchlint.facts.nodes import argument_of, is_constant
from torchlint.facts.scaling import Scaled
from torchlint.facts.values import Value
from torchlint.rule import Finding, Related, Site, plain, rule
from torchlint.rule.lazy import regex

_CLIPS = {"torch.nn.utils.clip_grad_norm_()", "torch.nn.utils.clip_grad_value_()"}
_OTHER_UNSCALES = regex(rb"unscale(?!_\()|(?<!\.)unscale_")
"""What unscales in a way of its own, or hands that on."""
_NOTHING = frozenset(("contextlib.nullcontext",))
_AUTOCASTS = frozenset(("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "torch.cpu.amp.autocast"))


@rule(
    "TL606",
    shape=[*plain(*_CLIPS), "$x.backward(...)", "$x.step(...)"],
    severity="error",
    fix="unsafe",
    numbers="changed",
    torch=">=1.6",
    impact="high",
    category="precision",
    principle=("precision",),
)
def amp_step_order(site: Site) -> Iterator[Finding]:
    """The calls of a training step with automatic mixed precision come in the wrong order.

    ## What it does

    Finds in a function that calls `scaler.scale(loss).backward()`, or for gradients that are clipped behind another method of the object that does:
    gradients that are clipped before `scaler.unscale_(optimizer)`, also where the file unscales those of another optimizer, or unscales behind the clip,
    `optimizer.step()` in place of `scaler.step(optimizer)`, and a step without `scaler.update()` anywhere in the file.
    It also finds `.backward()` inside `with torch.autocast(...)`, or inside of what is one by its name (`with self.ctx:`), as a warning.

    ## Why is this slow?

    It is wrong before it is slow.
    The gradients carry the factor of the scaler, 65536 at first: clipped in this state, nearly all of them are cut down to
    nothing, and a plain `optimizer.step()` takes steps that are as much too long.
    Without `update()` the scale never adapts, and a scale that makes gradients overflow skips every step from then on.
    Backward under autocast is not recommended: its operations run in the type of the forward pass anyway, but those of
    custom functions and hooks are cast again.

    ## When it does not matter

    With a scaler that is not enabled (`enabled=False`, or `enabled=dtype == "float16"` behind `dtype = "bfloat16"`) `scale` and
    `step` do nothing of their own, and the order is free.
    A backward pass under autocast is not reported in tests, where it may be what is tested.

    ## Bad

    ```python
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # TL606
        scaler.step(optimizer)
        scaler.update()
    ```

    ## Good

    ```python
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # ok
        scaler.step(optimizer)
        scaler.update()
    ```

    ## Fix safety

    Writes the missing `unscale_` or `update`, or the scaler's `step` and `update`.
    The fix is unsafe because the program then trains differently, which is its purpose: gradients are clipped at their own
    size, steps are as long as the gradients say, those with infinite gradients are left out, and the scale changes.
    Each of these may be called once a step, so nothing is written where the calls might come in another number or order:
    a clip on each micro-step of one update, several optimizers, a step on a line with its `if`, an optimizer that is not
    known to be one of torch, a scaler that another function updates. Nothing is written for a backward under autocast.

    ## References

    - https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
    - https://docs.pytorch.org/docs/stable/amp.html
    """
    if site.name == ".backward()":
        yield from _backward(site)
        return
    scaled = _scaled_backward(site)
    if scaled is None:
        return
    related = (site.related(scaled.function, scaled.call, "the gradients are scaled here"),)
    if site.name not in _CLIPS:
        yield from _step(site, scaled.scaler, related)
    elif scaled.function is not site.function or not _may_be_unscaled(site, scaled.scaler):
        scaler = ast.unparse(scaled.scaler)
        yield site.finding(
            f"`{site.short()}` clips gradients that are still multiplied by the scale of `{scaler}`; "
            f"call `{scaler}.unscale_(optimizer)` first",
            related=related,
        )


def _scaled_backward(site: Site) -> Scaled | None:
    """`scaler.scale(loss).backward()` before the place, on a way that leads to it, or in another method of the object that is called before."""
    for one in site.once(("scaled", site.function), lambda: list(scaling.scaled(site))):
        if one.call.lineno < site.call.lineno and not syntax.exclusive(site.flow, one.call, site.call):
            return one
    return scaling.scaled_by_object(site) if site.name in _CLIPS else None


def _may_be_unscaled(site: Site, scaler: ast.expr) -> bool:
    """Whether something in the file unscales what is clipped, before it is."""
    return site.source.holds(b"unscale") and not _is_unscaled_in_vain(site, scaler)


def _is_unscaled_in_vain(site: Site, scaler: ast.expr) -> bool:
    """Whether all that unscales in the file does so for other optimizers than that of the clip, or too late for it."""
    if site.code_holds(_OTHER_UNSCALES):
        return False
    functions = site.module.functions
    calls = [(one, call) for one in functions for call, _ in syntax.method_calls(one.flow, "unscale_")]
    return _are_of_others(site, scaler, calls) or (bool(calls) and _come_late(site, calls))


def _are_of_others(site: Site, scaler: ast.expr, unscaling: Sequence[tuple[Function, ast.Call]]) -> bool:
    """Whether all that is unscaled in the file are gradients of other optimizers than the one that takes what is clipped."""
    own = _stepped(site, scaler)
    given = [site.project.value(function, call.args[0]) for function, call in unscaling if len(call.args) == 1]
    return own is not None and all(_is_made(one) and one.made_by is not own.made_by for one in given)


def _come_late(site: Site, unscaling: Sequence[tuple[Function, ast.Call]]) -> bool:
    """Whether all that unscales in the file stands behind the clip, in the same block."""
    flow = site.flow
    block = flow.parents.get(site.statement)
    return all(
        function is site.function and flow.parents.get(flow.statement(call)) is block and call.lineno > site.call.lineno
        for function, call in unscaling
    )


def _stepped(site: Site, scaler: ast.expr) -> Value | None:
    """The optimizer that the scaler steps behind the place, made of what is clipped: `Adam(net.parameters())`, `clip_grad_norm_(net.parameters(), 1)`."""
    clipped = site.argument("parameters", 0)
    for call, receiver in syntax.method_calls(site.flow, "step"):
        if call.lineno < site.call.lineno or not syntax.same(receiver, scaler) or len(call.args) != 1:
            continue
        optimizer = site.value(call.args[0])
        made = optimizer.made_by if _is_made(optimizer) else None
        if isinstance(made, ast.Call) and syntax.same(argument_of(made, "params", 0), clipped):
            return optimizer
    return None


def _is_made(value: Value) -> bool:
    """Whether it is known which call has made an optimizer."""
    return value.kind == "optimizer" and value.proven and isinstance(value.made_by, ast.Call)


def _step(site: Site, scaler: ast.expr, related: tuple[Related, ...]) -> Iterator[Finding]:
    assert isinstance(site.call.func, ast.Attribute)
    receiver = site.call.func.value
    written = site.text(scaler)
    if syntax.same(receiver, scaler):
        if not _has_call(site, "update"):
            yield site.finding(
                f"`{site.short()}` is never followed by `{written}.update()`, so the scale never adapts",
                related=related,
            )
    elif not site.call.args and _is_optimizer(site, receiver) and not _has_call(site, "step", scaler):
        yield site.finding(
            f"`{site.short()}` steps with gradients that are multiplied by the scale of `{written}`; "
            f"call `{written}.step({site.text(receiver)})`",
            related=related,
        )


def _is_optimizer(site: Site, node: ast.expr) -> bool:
    value = site.value(node)
    return value.kind == "optimizer" or (not value and bool(OPTIMIZER_NAME.search(names.last(node))))


def _has_call(site: Site, method: str, scaler: ast.expr | None = None) -> bool:
    """Whether any function of the file calls a method of the scaler, or of anything named like one."""
    for function in site.module.functions:
        for _, receiver in syntax.method_calls(function.flow, method):
            if syntax.same(receiver, scaler) or "scaler" in names.last(receiver).lower():
                return True
            if scaler is None and site.project.value(function, receiver).kind == "scaler":
                return True
    return False


def _backward(site: Site) -> Iterator[Finding]:
    assert isinstance(site.call.func, ast.Attribute)
    if site.role == "test":  # may well be what is tested
        return
    for context in site.flow.contexts(site.target):
        if _is_autocast(site, context):
            yield site.finding(
                f"`{site.short()}` runs under autocast; only the forward pass and the loss belong there",
                severity="warning",
                related=(site.related(site.function, context, "entered here"),),
            )
            return


def _is_autocast(site: Site, context: ast.expr) -> bool:
    """Whether what is entered is autocast, as it stands there or under a name, unless it is nothing at all."""
    found = set(_ways(site, site.function, context))
    return True in found and False not in found


def _ways(site: Site, function: Function, context: ast.expr) -> Iterator[bool | None]:
    """For each expression that makes what is entered: True for autocast, None for a context that does nothing, False for others."""
    if isinstance(context, ast.IfExp):
        yield from _ways(site, function, context.body)
        yield from _ways(site, function, context.orelse)
    elif isinstance(context, ast.Call):
        name = site.project.resolve(function, context.func)
        yield None if name in _NOTHING else name in _AUTOCASTS and not _disabled(context)
    else:
        for one, store in syntax.stores_of(function, context):
            if one is site.function and _excludes(site, store):
                continue
            made = syntax.given_to_target(one.flow, store)
            yield from _ways(site, one, made) if isinstance(made, ast.Call | ast.IfExp) else (False,)


def _excludes(site: Site, store: ast.expr) -> bool:
    """Whether a condition keeps what is stored from the place: `if half: context = autocast()`, and the `else` of `if half:`."""
    held = [(guard.test, guard.true) for guard in site.flow.guards(site.target)]
    return any(
        syntax.same(test, guard.test) and true is not guard.true
        for guard in site.flow.guards(store)
        for test, true in held
    )


def _disabled(context: ast.Call) -> bool:
    return any(k.arg == "enabled" and is_constant(k.value, False) for k in context.keywords)
