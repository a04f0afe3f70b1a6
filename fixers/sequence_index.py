from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, operand


def fix(site: Site, finding: Finding) -> Fix | None:
    index = site.part("index")
    assert isinstance(index, ast.List)
    inner = ", ".join(operand(site, one, Place.ELEMENT) for one in index.elts)
    code = f"{inner}," if len(index.elts) == 1 else inner
    return Fix("Index by a tuple", (site.tree.replace(site.caught("index"), code),), "safe")
