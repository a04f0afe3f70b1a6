from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, line_before, operand


def fix(site: Site, finding: Finding) -> Fix | None:
    """Hoist `iter(loader)` before the loop; where it ends the author has to say."""
    loop = site.loop()
    if site.name != "next()" or loop is None:
        return None
    taken = any(isinstance(node, ast.Name) and node.id == "batches" for node in site.flow.nodes)
    if taken:
        return None
    before = line_before(site, f"batches = {operand(site, site.part('iterator'), Place.ELEMENT)}", loop)
    if before is None:
        return None
    edits = (before, site.tree.replace(site.caught("iterator"), "batches"))
    return Fix("Keep the iterator", edits, "suggestion", "start a new one where it is exhausted")
