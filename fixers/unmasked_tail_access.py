from __future__ import annotations

import ast

from torchlint.facts import triton
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, call_node, operand, shown


def fix(site: Site, finding: Finding) -> Fix | None:
    place = shown(site, finding)
    kernel = triton.kernel_of(place.function)
    if kernel is None or not isinstance(place.target, ast.Call):
        return None
    mask = triton.mask_of_same_offsets(kernel, place.target)
    edit = (
        place.tree.add_argument(call_node(place), f"mask={operand(place, mask, Place.VALUE)}")
        if mask is not None
        else None
    )
    return (
        Fix("Mask it like the other access", (edit,), "suggestion", "check that the mask means the same data")
        if edit is not None
        else None
    )
