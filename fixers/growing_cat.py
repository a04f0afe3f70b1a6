from __future__ import annotations

import ast

from torchlint.facts.flow import contains
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, arguments, line_after, line_before, operand


def fix(site: Site, finding: Finding) -> Fix | None:
    """Collect in a list, and join once behind the loop."""
    statement, loop = site.statement, site.loop()
    if loop is None or "grown" not in site.match.caught:
        return None  # what grows from call to call, or is gathered in a list
    assert isinstance(statement, ast.Assign)
    target, tensors = site.part("grown"), site.part("parts")
    if not isinstance(target, ast.Name) or not isinstance(tensors, ast.List | ast.Tuple) or len(tensors.elts) != 2:
        return None
    old, new = tensors.elts
    if not (isinstance(old, ast.Name) and old.id == target.id) or loop.orelse:
        return None
    inside = [n for n in site.flow.nodes if isinstance(n, ast.Name) and n.id == target.id and contains(loop, n)]
    if len(inside) != 2:
        return None
    parts = f"{target.id}_parts"
    others = [one for one in site.call.args if one is not tensors]
    rest = arguments(site, *others, *(one for one in site.call.keywords if one.value is not tensors))
    joined = f"{operand(site, site.call.func, Place.RECEIVER)}({', '.join(filter(None, (parts, rest)))})"
    before = line_before(site, f"{parts} = [{target.id}]", loop)
    after = line_after(site, f"{target.id} = {joined}", loop)
    if before is None or after is None:
        return None
    append = f"{parts}.append({operand(site, new, Place.ARGUMENT)})"
    edits = (before, site.tree.replace(site.cst(statement), append), after)
    return Fix("Join once behind the loop", edits, "suggestion", "all parts are held until the loop ends")
