from __future__ import annotations

from torchlint.rewrite import shown
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    place = shown(site, finding)
    edit = place.tree.insert_after(place.cst(place.target), ".clone()")
    return Fix(
        "Give back a copy",
        (edit,),
        "suggestion",
        "an operator that writes to its input should give nothing back instead",
    )
