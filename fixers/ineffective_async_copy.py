from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.rule import Edit, Finding, Fix, Site

if TYPE_CHECKING:
    import libcst as cst
else:
    from torchlint.rule.lazy import lazy

    cst = lazy("libcst")


def fix(site: Site, finding: Finding) -> Fix | None:
    owner = site.part("x")
    if not (isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr == "pin_memory"):
        return None  # the loader is to be told, not the copy
    node = site.caught()
    assert isinstance(node, cst.Call)
    flag = next(arg for arg in node.args if arg.keyword is not None and arg.keyword.value == "non_blocking")
    end = site.source.end_of(owner)
    start = site.source.data.rindex(b".", 0, end)
    edits = (Edit(start, end, b""), site.tree.remove_argument(node, flag))
    return Fix("Copy without pinning", edits, "suggestion", "or let the loader pin: `pin_memory=True`")
