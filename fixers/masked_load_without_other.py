from __future__ import annotations

import ast

from torchlint.facts import triton
from torchlint.facts.triton_masks import unfilled
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import call_node, shown

_NEUTRAL = {
    "max": '-float("inf")',
    "argmax": '-float("inf")',
    "softmax": '-float("inf")',
    "min": 'float("inf")',
    "argmin": 'float("inf")',
}


def fix(site: Site, finding: Finding) -> Fix | None:
    place = shown(site, finding)
    kernel = triton.kernel_of(place.function)
    if kernel is None or not isinstance(place.target, ast.Call):
        return None
    reduction = next((name for load, name in unfilled(kernel) if load is place.target), "")
    if reduction not in (*_NEUTRAL, "sum", "dot"):
        return None
    edit = place.tree.add_argument(call_node(place), f"other={_NEUTRAL.get(reduction, '0.0')}")
    note = "the neutral value of what the load is reduced with, unless it is changed before"
    return Fix("Fill the masked elements", (edit,), "suggestion", note) if edit is not None else None
