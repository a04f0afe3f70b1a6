from __future__ import annotations

import ast

from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import PERHAPS, cut


def fix(site: Site, finding: Finding) -> Fix | None:
    target, cloned, owner = site.whole, site.part("cloned"), site.part("x")
    assert isinstance(cloned, ast.Call)
    source, data = site.source, site.source.data
    method = source.end_of(cloned.func) - len("clone")
    last = source.end_of(target)
    gone = cut(site, target)
    if gone is None or b"#" in data[method:last] or not site.value(owner).is_tensor:
        return None  # a class of its own may give these methods another meaning
    edits = (Edit(method, method, b"detach()."), gone)
    note = "" if site.surely_tensor(owner) else PERHAPS
    return Fix("Detach before cloning", edits, "unsafe" if note else "safe", note)
