from __future__ import annotations

import ast

from torchlint.facts import calls
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    func = site.call.func
    assert isinstance(func, ast.Attribute)
    if site.name == ".type()":
        return None
    before = func.value
    if site.name == ".contiguous()":
        return Fix("Ask once", (site.tree.replace(site.node, site.text(before)),), "safe")
    assert isinstance(before, ast.Call) and isinstance(before.func, ast.Attribute)
    first, second = _given(before), _given(site.call)
    device, dtype = (first, second) if _is_device(site, before) else (second, first)
    code = f"{site.text(before.func)}(device={site.text(device)}, dtype={site.text(dtype)})"
    return Fix("Move and cast in one call", (site.tree.replace(site.node, code),), "safe")


def _given(call: ast.Call) -> ast.expr:
    return call.args[0] if call.args else call.keywords[0].value


def _is_device(site: Site, call: ast.Call) -> bool:
    if call.keywords:
        return call.keywords[0].arg == "device"
    return calls.is_device(site.value(call.args[0]))
