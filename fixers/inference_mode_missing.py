from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, line_after, operand


def fix(site: Site, finding: Finding) -> Fix | None:
    assert isinstance(site.call.func, ast.Attribute)
    edit = line_after(site, f"{operand(site, site.call.func.value, Place.RECEIVER)}.eval()")
    return (
        Fix("Switch to evaluation mode", (edit,), "unsafe", "the outputs of dropout and batch norm change")
        if edit is not None
        else None
    )
