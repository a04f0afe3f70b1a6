from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import arguments, shown, spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    place = shown(site, finding)
    spelling = spelled(place, "triton.cdiv")
    if spelling is None or not isinstance(place.target, ast.BinOp):
        return None
    code, imports = spelling
    edit = place.tree.replace(place.node, f"{code}({arguments(place, place.target.left, place.target.right)})")
    if finding.severity == "error":
        return Fix("Round up", (edit, *imports), "unsafe", "the last block, left out so far, is processed too")
    return Fix(
        "Round up",
        (edit, *imports),
        "suggestion",
        "the kernel masks nothing: its last block would reach beyond the data",
    )
