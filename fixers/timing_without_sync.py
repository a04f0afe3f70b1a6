from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import line_before, spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    spelling = spelled(site, "torch.cuda.synchronize")
    if spelling is None or not isinstance(site.statement, ast.Assign | ast.Expr | ast.Return | ast.AugAssign):
        return None
    code, imports = spelling
    edit = line_before(site, f"{code}()")
    return (
        Fix("Wait for the device first", (edit, *imports), "suggestion", "and before the first read of the clock")
        if edit is not None
        else None
    )
