from __future__ import annotations

from torchlint.rewrite import call_node, shown
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    place = shown(site, finding)
    edit = place.tree.add_argument(call_node(place), "need_weights=False")
    if edit is None:
        return None
    note = "the fused kernel sums in another order, and hooks get no weights"
    return Fix("Ask for no weights", (edit,), "unsafe", note)
