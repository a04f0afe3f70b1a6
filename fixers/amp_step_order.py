from __future__ import annotations

import ast
import re

from torchlint.facts import names, order, related, syntax
from torchlint.facts.common_names import OPTIMIZER_NAME
from torchlint.facts.module import Function
from torchlint.rule import Edit, Finding, Fix, Site, chain
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import Place, line_after, line_before, operand

_CLIPS = ("clip_grad_norm_", "clip_grad_value_")
_SCALER = regex(rb"[sS]caler")


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name == ".backward()":
        return None
    if site.name != ".step()":
        return _unscaled(site)
    step = _scaler_step(site)
    return _updated(site, step) if step is not None and step[0] is site.call else _stepped(site)


def _unscaled(site: Site) -> Fix | None:
    """`scaler.unscale_(optimizer)` in front of the only clip, where the scaler's step follows each time."""
    step = _scaler_step(site)
    if step is None or _elsewhere(site, "unscale_") or any(syntax.method_calls(site.flow, "unscale_")):
        return None  # twice is an error
    call, scaler, optimizer = step
    if _first_clip(site) is not site.call or not order.followed(site.flow, site.statement, site.flow.statement(call)):
        return None
    if not (_stays(site, scaler, call) and _stays(site, optimizer, call)):
        return None
    code = f"{operand(site, scaler, Place.RECEIVER)}.unscale_({operand(site, optimizer, Place.ARGUMENT)})"
    edit = line_before(site, code)
    note = "gradients are clipped at their own size, so the program trains differently"
    return Fix("Unscale the gradients first", (edit,), "unsafe", note) if edit is not None else None


def _first_clip(site: Site) -> ast.Call:
    """The first clip on the way to the place: gradients are unscaled once."""
    clips = [site.call, *(call for name in _CLIPS for call in site.flow.calls_named(name))]
    return min(
        (call for call in clips if not syntax.exclusive(site.flow, call, site.call)),
        key=lambda call: (call.lineno, call.col_offset),
    )


def _updated(site: Site, step: tuple[ast.Call, ast.expr, ast.expr]) -> Fix | None:
    """`scaler.update()` behind the scaler's only step."""
    _, scaler, _ = step
    scaled = _scaled_backward(site)
    if scaled is None or _elsewhere(site, "update") or not _once_a_backward(site, scaled[0]):
        return None
    edit = line_after(site, f"{operand(site, scaler, Place.RECEIVER)}.update()")
    note = "the scale changes with the gradients, so the program trains differently"
    return Fix("Update the scale", (edit,), "unsafe", note) if edit is not None else None


def _stepped(site: Site) -> Fix | None:
    """`scaler.step(optimizer)` and `scaler.update()` for the only step of an optimizer behind the scaled backward pass."""
    assert isinstance(site.call.func, ast.Attribute)
    optimizer, scaled = site.call.func.value, _scaled_backward(site)
    known = site.value(optimizer)
    if scaled is None or known.kind != "optimizer" or not known.proven or known.class_name.endswith("LBFGS"):
        return None
    if site.call.keywords or _steps(site) != [site.call] or _elsewhere(site, "step") or _elsewhere(site, "update"):
        return None
    backward, scaler = scaled
    if not _once_a_backward(site, backward):
        return None
    owner = operand(site, scaler, Place.RECEIVER)
    edits: list[Edit | None] = [
        site.tree.replace(site.node, f"{owner}.step({operand(site, optimizer, Place.ARGUMENT)})")
    ]
    updates = _updates(site)
    if not updates:
        edits.append(line_after(site, f"{owner}.update()"))
    elif len(updates) > 1 or not order.followed(site.flow, site.statement, site.flow.statement(updates[0])):
        return None
    made = tuple(edit for edit in edits if edit is not None)
    note = "the steps are as long as the gradients say, and those with infinite ones are left out"
    return Fix("Step through the scaler", made, "unsafe", note) if len(made) == len(edits) else None


def _scaler_step(site: Site) -> tuple[ast.Call, ast.expr, ast.expr] | None:
    """`scaler.step(optimizer)` at the place or on the way from it, where the function has only one: the call, scaler, optimizer."""
    found = [
        (call, receiver, call.args[0])
        for call, receiver in syntax.method_calls(site.flow, "step")
        if len(call.args) == 1
        and _is_scaler(site, site.function, receiver)
        and not syntax.exclusive(site.flow, call, site.call)
    ]
    return found[0] if len(found) == 1 and chain(found[0][1]) and chain(found[0][2]) else None


def _scaled_backward(site: Site) -> tuple[ast.Call, ast.expr] | None:
    """`scaler.scale(loss).backward()` and the scaler, where all of the function have the same one and the first is on the way."""
    found = [
        (call, receiver.func.value)
        for call, receiver in syntax.method_calls(site.flow, "backward")
        if isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Attribute) and receiver.func.attr == "scale"
    ]
    on_the_way = [one for one in found if not syntax.exclusive(site.flow, one[0], site.call)]
    same = all(syntax.same(scaler, found[0][1]) for _, scaler in found)
    return on_the_way[0] if on_the_way and same and chain(on_the_way[0][1]) else None


def _once_a_backward(site: Site, backward: ast.Call) -> bool:
    """Whether the place is a statement of its own that a backward pass has come before, in the same pass of the same loop."""
    return isinstance(site.flow.parents[site.call], ast.Expr) and order.preceded(
        site.flow, site.statement, site.flow.statement(backward)
    )


def _steps(site: Site) -> list[ast.Call]:
    """The steps of optimizers on ways that lead through the place."""
    return [
        call
        for call, receiver in syntax.method_calls(site.flow, "step")
        if (site.value(receiver).kind == "optimizer" or OPTIMIZER_NAME.search(names.last(receiver)))
        and not syntax.exclusive(site.flow, call, site.call)
    ]


def _updates(site: Site) -> list[ast.Call]:
    return [c for c, receiver in syntax.method_calls(site.flow, "update") if _is_scaler(site, site.function, receiver)]


def _elsewhere(site: Site, method: str) -> bool:
    """Whether a function beside the place's own may call a method of the scaler: in this file, or in one that it is linked to."""
    for function in site.module.functions:
        calls = syntax.method_calls(function.flow, method) if function is not site.function else ()
        if any(_is_scaler(site, function, receiver) for _, receiver in calls):
            return True
    call = re.compile(rb"\.%s\(" % method.encode())
    return related.beside(site, _SCALER) and related.beside(site, call)


def _is_scaler(site: Site, function: Function, node: ast.expr) -> bool:
    return "scaler" in names.last(node).lower() or site.project.value(function, node).kind == "scaler"


def _stays(site: Site, node: ast.expr, last: ast.Call) -> bool:
    """Whether a name means the same at the place and at a later call."""
    root = (chain(node) or [""])[0]
    first = (site.statement.lineno, site.statement.col_offset)
    return not any(
        first <= (s.lineno, s.col_offset) < (last.lineno, last.col_offset) for s in site.flow.stores.get(root, ())
    )
