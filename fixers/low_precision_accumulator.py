from __future__ import annotations

import ast

from torchlint.facts import triton
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import shown, spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    place = shown(site, finding)
    if not isinstance(place.target, ast.Call):
        return None
    dtype = triton.dtype_of(triton.language(place.function, place.target.func) or "", place.target)
    spelling = spelled(place, "triton.language.float32")
    if dtype is None or spelling is None:
        return None
    code, imports = spelling
    return Fix(
        "Add up in float32",
        (place.tree.replace(place.cst(dtype), code), *imports),
        "suggestion",
        "and cast where it is stored",
    )
