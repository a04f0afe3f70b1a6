from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import arguments


def fix(site: Site, finding: Finding) -> Fix | None:
    assert isinstance(site.target, ast.Subscript) and isinstance(site.target.slice, ast.List)
    index = site.target.slice
    inner = arguments(site, *index.elts)
    code = f"{inner}," if len(index.elts) == 1 else inner
    return Fix("Index by a tuple", (site.tree.replace(site.cst(index), code),), "safe")
