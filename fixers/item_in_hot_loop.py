from __future__ import annotations

import ast

from torchlint.rewrite import Place, operand
from torchlint.rule import Edit, Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    """`total += loss.item()` -> `total += loss.detach()`, where `total` is a number that is read after the loop."""
    statement = site.statement
    loops = site.flow.loops(site.target)
    func = site.call.func
    if not (
        isinstance(statement, ast.AugAssign)
        and isinstance(statement.op, ast.Add | ast.Sub)
        and isinstance(statement.target, ast.Name)
        and isinstance(func, ast.Attribute)
        and func.attr == "item"
        and loops
        and _arithmetic(site, statement.value)
    ):
        return None
    total = statement.target
    loads = _reads(site, total, loops[0])
    if loads is None:
        return None
    divisions = [
        d
        for store in site.flow.stores[total.id]
        if isinstance(d := site.flow.parents[store], ast.AugAssign) and d is not statement
    ]
    last = min((division.lineno for division in divisions), default=None)
    tensor = operand(site, func.value, Place.RECEIVER)
    detached = tensor if tensor.endswith(".detach()") else f"{tensor}.detach()"
    edits = [site.tree.replace(site.node, detached)]
    edits += [_divided(site, division) for division in divisions]
    edits += [
        site.tree.replace(site.cst(load), f"float({total.id})") for load in loads if last is None or load.lineno < last
    ]
    return Fix(
        f"Sum on the device and read `{total.id}` where it is used",
        tuple(edits),
        "unsafe",
        "The sum is kept in the dtype of the tensor, not in a Python double.",
    )


def _arithmetic(site: Site, node: ast.expr) -> bool:
    """Whether the value is the read itself, times or over numbers."""
    if node is site.target:
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        sides = [(node.left, node.right)]
        if isinstance(node.op, ast.Mult):
            sides.append((node.right, node.left))
        return any(_arithmetic(site, a) and site.value(b).kind in ("number", "unknown") for a, b in sides)
    return False


def _reads(site: Site, total: ast.Name, loop: ast.AST) -> list[ast.Name] | None:
    """Where the sum is read; None if it is no local number that is read rarely."""
    flow = site.flow
    name = total.id
    if name in flow.globals or name in {p.arg for p in site.function.parameters} or site.function is site.module.body:
        return None
    if any(name in inner.flow.loads for inner in site.function.nested.values()):
        return None
    stores = flow.stores[name]
    if not site.once(("starts", site.function, name), lambda: any(_starts(flow.parents[store]) for store in stores)):
        return None
    if not all(
        _starts(flow.parents[store]) or (_divides(flow.parents[store]) and loop not in flow.loops(store))
        for store in stores
        if store is not total
    ):
        return None
    loads = flow.loads.get(name, [])
    for load in loads:
        place = Site(site.analysis, site.function, load, site.rule)
        if loop in flow.loops(load) and (place.hot is not None or place.warm is not None):
            return None
    return loads


def _starts(parent: ast.AST) -> bool:
    """`total = 0.0`"""
    return (
        isinstance(parent, ast.Assign)
        and len(parent.targets) == 1
        and isinstance(parent.value, ast.Constant)
        and isinstance(parent.value.value, int | float)
        and not isinstance(parent.value.value, bool)
    )


def _divides(parent: ast.AST) -> bool:
    """`total /= len(loader)`"""
    return isinstance(parent, ast.AugAssign) and isinstance(parent.op, ast.Div)


def _divided(site: Site, division: ast.AugAssign) -> Edit:
    """`total = float(total) / len(loader)`: in place, a sum of integers could not be divided."""
    name, value = operand(site, division.target, Place.ELEMENT), operand(site, division.value, Place.OPERAND)
    return site.tree.replace(site.cst(division), f"{name} = float({name}) / {value}")
