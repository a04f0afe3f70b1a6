from __future__ import annotations

import ast

from torchlint.facts import syntax
from torchlint.rewrite import Place, line_after, line_before, operand
from torchlint.rule import Edit, Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name == ".backward()":
        return None
    if site.name == ".step()":
        title, edit = _step(site)
    else:
        title, edit = "Unscale the gradients first", _unscale(site)
    return Fix(title, (edit,), "unsafe", "the program trains differently from then on") if edit is not None else None


def _unscale(site: Site) -> Edit | None:
    step = _scaler_step(site)
    if step is None or not isinstance(site.statement, ast.Expr | ast.Assign):
        return None
    scaler, optimizer = step
    return line_before(
        site, f"{operand(site, scaler, Place.RECEIVER)}.unscale_({operand(site, optimizer, Place.ARGUMENT)})"
    )


def _step(site: Site) -> tuple[str, Edit | None]:
    assert isinstance(site.call.func, ast.Attribute)
    step = _scaler_step(site)
    if step is not None:
        return "Update the scale", line_after(site, f"{operand(site, step[0], Place.RECEIVER)}.update()")
    scaler = _scaler_of_backward(site)
    if scaler is None or site.call.keywords:
        return "", None
    optimizer = operand(site, site.call.func.value, Place.ARGUMENT)
    return "Step through the scaler", site.tree.replace(site.node, f"{scaler}.step({optimizer})")


def _scaler_step(site: Site) -> tuple[ast.expr, ast.expr] | None:
    """`scaler.step(optimizer)` at the place or after it, where the function has only one."""
    found = [
        (receiver, call.args[0])
        for call, receiver in syntax.method_calls(site.flow, "step")
        if len(call.args) == 1
        and "scaler" in site.text(receiver).lower()
        and not syntax.exclusive(site.flow, call, site.call)
    ]
    return found[0] if len(found) == 1 else None


def _scaler_of_backward(site: Site) -> str | None:
    for _, receiver in syntax.method_calls(site.flow, "backward"):
        if (
            isinstance(receiver, ast.Call)
            and isinstance(receiver.func, ast.Attribute)
            and receiver.func.attr == "scale"
        ):
            return operand(site, receiver.func.value, Place.RECEIVER)
    return None
