from __future__ import annotations

import ast

from torchlint.facts.flow import contains
from torchlint.rule import Edit, Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    """Collect in a list, and join once behind the loop."""
    statement, loop = site.statement, site.loop()
    assert isinstance(statement, ast.Assign) and loop is not None
    target = statement.targets[0]
    tensors = site.argument("tensors", 0)
    if not isinstance(target, ast.Name) or not isinstance(tensors, ast.List | ast.Tuple) or len(tensors.elts) != 2:
        return None
    old, new = tensors.elts
    if not (isinstance(old, ast.Name) and old.id == target.id) or loop.orelse:
        return None
    inside = [n for n in site.flow.nodes if isinstance(n, ast.Name) and n.id == target.id and contains(loop, n)]
    if len(inside) != 2:
        return None
    source = site.source
    start, end = (
        source.offset(n, c)
        for n, c in ((loop.lineno, loop.col_offset), (loop.end_lineno or 0, loop.end_col_offset or 0))
    )
    indent = source.data[source.lines[loop.lineno - 1] : start].decode()
    if indent.strip():
        return None
    parts = f"{target.id}_parts"
    newline = source.newline
    joined = site.text().replace(site.text(tensors), parts, 1)
    edits = (
        Edit(start, start, f"{parts} = [{target.id}]{newline}{indent}".encode()),
        site.tree.replace(site.cst(statement), f"{parts}.append({site.text(new)})"),
        Edit(end, end, f"{newline}{indent}{target.id} = {joined}".encode()),
    )
    return Fix("Join once behind the loop", edits, "suggestion", "all parts are held until the loop ends")
