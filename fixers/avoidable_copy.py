from __future__ import annotations

import ast

from torchlint.facts import calls, copies
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    func = site.call.func
    assert isinstance(func, ast.Attribute)
    if site.name == ".type()":
        return None
    if site.name == ".clone()":
        return _cloned(site)
    before = func.value
    if site.name == ".contiguous()":
        return Fix("Ask once", (site.tree.replace(site.node, site.text(before)),), "safe")
    assert isinstance(before, ast.Call) and isinstance(before.func, ast.Attribute)
    first, second = _given(before), _given(site.call)
    device, dtype = (first, second) if _is_device(site, before) else (second, first)
    code = f"{site.text(before.func)}(device={site.text(device)}, dtype={site.text(dtype)})"
    return Fix("Move and cast in one call", (site.tree.replace(site.node, code),), "safe")


def _cloned(site: Site) -> Fix | None:
    assert isinstance(site.call.func, ast.Attribute)
    made = site.call.func.value
    if copies.fresh(made):
        code = f"({site.text(made)})" if isinstance(made, ast.BinOp) else site.text(made)
        return Fix("Leave the copy out", (site.tree.replace(site.node, code),), "safe")
    found = copies.doubled(site.flow, site.call)
    assert found is not None and isinstance(found.cast.func, ast.Attribute)
    method = found.cast.func.attr
    if method in copies.DTYPES:
        torch = next((name for name, origin in site.module.imports.items() if origin == "torch"), None)
        if torch is None:
            return None
        given = f"{torch}.{copies.DTYPES[method]}"
    elif method == "to":
        given = ", ".join([*map(site.text, found.cast.args), *map(site.text, found.cast.keywords)])
    else:
        given = f'"{method}"'
    code = f"{site.text(found.tensor)}.to({given}, copy=True)"
    return Fix("Copy once", (site.tree.replace(site.cst(found.whole), code),), "safe")


def _given(call: ast.Call) -> ast.expr:
    return call.args[0] if call.args else call.keywords[0].value


def _is_device(site: Site, call: ast.Call) -> bool:
    if call.keywords:
        return call.keywords[0].arg == "device"
    return calls.is_device(site.value(call.args[0]))
