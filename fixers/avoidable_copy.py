from __future__ import annotations

import ast

from torchlint.facts import calls, copies
from torchlint.rewrite import Place, arguments, operand, place_of, spelled
from torchlint.rule import Edit, Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    func = site.call.func
    assert isinstance(func, ast.Attribute)
    if site.name == ".type()":
        return None
    if site.name == ".clone()":
        return _cloned(site)
    before = func.value
    if site.name == ".contiguous()":
        return Fix(
            "Ask once", (site.tree.replace(site.node, operand(site, before, place_of(site, site.call))),), "safe"
        )
    assert isinstance(before, ast.Call) and isinstance(before.func, ast.Attribute)
    first, second = _given(before), _given(site.call)
    device, dtype = (first, second) if _is_device(site, before) else (second, first)
    where, kind = operand(site, device, Place.VALUE), operand(site, dtype, Place.VALUE)
    code = f"{operand(site, before.func, Place.RECEIVER)}(device={where}, dtype={kind})"
    return Fix("Move and cast in one call", (site.tree.replace(site.node, code),), "safe")


def _cloned(site: Site) -> Fix | None:
    assert isinstance(site.call.func, ast.Attribute)
    made = site.call.func.value
    if copies.fresh(made):
        code = operand(site, made, place_of(site, site.call))
        return Fix("Leave the copy out", (site.tree.replace(site.node, code),), "safe")
    found = copies.doubled(site.flow, site.call)
    assert found is not None and isinstance(found.cast.func, ast.Attribute)
    method = found.cast.func.attr
    imports: tuple[Edit, ...] = ()
    if method in copies.DTYPES:
        spelling = spelled(site, f"torch.{copies.DTYPES[method]}")
        if spelling is None:
            return None
        given, imports = spelling
    elif method == "to":
        given = arguments(site, *found.cast.args, *found.cast.keywords)
    else:
        given = f'"{method}"'
    code = f"{operand(site, found.tensor, Place.RECEIVER)}.to({given}, copy=True)"
    return Fix("Copy once", (site.tree.replace(site.cst(found.whole), code), *imports), "safe")


def _given(call: ast.Call) -> ast.expr:
    return call.args[0] if call.args else call.keywords[0].value


def _is_device(site: Site, call: ast.Call) -> bool:
    if call.keywords:
        return call.keywords[0].arg == "device"
    return calls.is_device(site.value(call.args[0]))
