from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import operand, place_of


def fix(site: Site, finding: Finding) -> Fix | None:
    """Leave the tensor a tensor: take `.item()` off, or `float()` from around it."""
    if not isinstance(site.target, ast.Call):
        return None
    call = site.call
    if site.resolve(call.func) in ("float", "int", "bool") and len(call.args) == 1:
        tensor: ast.expr = call.args[0]
    elif isinstance(call.func, ast.Attribute) and call.func.attr == "item":
        tensor = call.func.value
    else:
        return None
    edit = site.tree.replace(site.node, operand(site, tensor, place_of(site, call)))
    return Fix("Keep the tensor", (edit,), "suggestion", "the result is a tensor instead of a Python number")
