from __future__ import annotations

from torchlint.facts import related
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import call_node, shown

_HOOKS = regex(rb"register_(?:module_)?forward_hook")
"""What may read the weights of any module."""


def fix(site: Site, finding: Finding) -> Fix | None:
    place = shown(site, finding)
    if related.holds(site, _HOOKS):
        return None
    edit = place.tree.add_argument(call_node(place), "need_weights=False")
    if edit is None:
        return None
    note = "the fused kernel sums and drops out in another order, and gives 0 where everything is masked, not NaN"
    return Fix("Ask for no weights", (edit,), "unsafe", note)
