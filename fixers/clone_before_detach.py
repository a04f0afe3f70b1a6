from __future__ import annotations

import ast

from torchlint.rule import Edit, Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    target, cloned, owner = site.whole, site.part("cloned"), site.part("x")
    assert isinstance(cloned, ast.Call)
    offset, data = site.source.offset, site.source.data
    method = offset(cloned.func.end_lineno or 0, cloned.func.end_col_offset or 0) - len("clone")
    end = offset(cloned.end_lineno or 0, cloned.end_col_offset or 0)
    last = offset(target.end_lineno or 0, target.end_col_offset or 0)
    if b"#" in data[method:last] or not site.value(owner).is_tensor:
        return None  # a class of its own may give these methods another meaning
    edit = Edit(method, last, b"detach()." + data[method:end])
    return Fix("Detach before cloning", (edit,), "safe")
