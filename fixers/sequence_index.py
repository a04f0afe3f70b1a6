from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    assert isinstance(site.target, ast.Subscript) and isinstance(site.target.slice, ast.List)
    index = site.target.slice
    inner = site.text(index)[1:-1].strip()
    if len(index.elts) == 1 and not inner.endswith(","):
        inner += ","
    if "#" in inner:
        return None
    return Fix("Index by a tuple", (site.tree.replace(site.cst(index), inner),), "safe")
