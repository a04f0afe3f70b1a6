from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, operand


def fix(site: Site, finding: Finding) -> Fix | None:
    """`[x.item() for x in X]` -> `X.flatten().tolist()`: rows of one element give it, too."""
    if not isinstance(site.target, ast.Call):
        return None
    comprehension = site.flow.comprehension(site.target)
    func = site.call.func
    if (
        not isinstance(comprehension, ast.ListComp)
        or comprehension.elt is not site.target
        or len(comprehension.generators) != 1
    ):
        return None
    generator = comprehension.generators[0]
    if (
        generator.ifs
        or generator.is_async
        or not isinstance(func, ast.Attribute)
        or func.attr != "item"
        or not isinstance(func.value, ast.Name)
        or not isinstance(generator.target, ast.Name)
        or func.value.id != generator.target.id
        or not site.value(generator.iter).is_tensor
    ):
        return None
    whole = operand(site, generator.iter, Place.RECEIVER)
    return Fix(
        f"Read `{site.short(generator.iter)}` at once",
        (site.tree.replace(site.cst(comprehension), f"{whole}.flatten().tolist()"),),
        "unsafe",
        "Rows of several elements, and a tensor without rows, no longer raise.",
    )
