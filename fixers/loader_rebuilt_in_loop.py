from __future__ import annotations

import ast

from torchlint.facts.flow import Loop, contains
from torchlint.facts.nodes import names_in
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, line_before, operand


def fix(site: Site, finding: Finding) -> Fix | None:
    """Hoist `iter(loader)` before the loop; where it ends the author has to say."""
    loop = site.loop()
    if site.name != "next()" or loop is None:
        return None
    taken = any(isinstance(node, ast.Name) and node.id == "batches" for node in site.flow.nodes)
    if taken or _changes(site, loop):
        return None
    before = line_before(site, f"batches = {operand(site, site.part('iterator'), Place.ELEMENT)}", loop)
    if before is None:
        return None
    edits = (before, site.tree.replace(site.caught("iterator"), "batches"))
    return Fix("Keep the iterator", edits, "suggestion", "start a new one where it is exhausted")


def _changes(site: Site, loop: Loop) -> bool:
    """Whether what the iterator is made of is bound anew in the loop: `next(batches(loader, step))`."""
    stores = (store for name in names_in(site.part("iterator")) for store in site.flow.stores.get(name, ()))
    return any(contains(loop, store) for store in stores)
