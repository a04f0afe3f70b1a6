from __future__ import annotations

import ast

from torchlint.facts import triton
from torchlint.facts.told import Launch
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import shown


def fix(site: Site, finding: Finding) -> Fix | None:
    place = shown(site, finding)
    value = place.target.value if isinstance(place.target, ast.Constant) else None
    if finding.told != Launch("num_warps") or not isinstance(value, int) or value < 1:
        return None
    nearest = 32 if value > 32 else 1 << (value - 1).bit_length()
    assert triton.power_of_two(nearest)
    return Fix(
        f"Use {nearest} warps",
        (place.tree.replace(place.node, str(nearest)),),
        "suggestion",
        "measure which number is best",
    )
