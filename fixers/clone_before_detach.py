from __future__ import annotations

import ast

from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import PERHAPS, cut


def fix(site: Site, finding: Finding) -> Fix | None:
    target, cloned, owner = site.whole, site.part("cloned"), site.part("x")
    assert isinstance(cloned, ast.Call)
    offset, data = site.source.offset, site.source.data
    method = offset(cloned.func.end_lineno or 0, cloned.func.end_col_offset or 0) - len("clone")
    last = offset(target.end_lineno or 0, target.end_col_offset or 0)
    gone = cut(site, target)
    if gone is None or b"#" in data[method:last] or not site.value(owner).is_tensor:
        return None  # a class of its own may give these methods another meaning
    edits = (Edit(method, method, b"detach()."), gone)
    note = "" if site.surely_tensor(owner) else PERHAPS
    return Fix("Detach before cloning", edits, "unsafe" if note else "safe", note)
