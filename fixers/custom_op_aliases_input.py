from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, operand, shown


def fix(site: Site, finding: Finding) -> Fix | None:
    place = shown(site, finding)
    assert isinstance(place.target, ast.expr)
    edit = place.tree.replace(place.node, f"{operand(place, place.target, Place.RECEIVER)}.clone()")
    return Fix(
        "Give back a copy",
        (edit,),
        "suggestion",
        "an operator that writes to its input should give nothing back instead",
    )
