from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    """Take the assignment out."""
    if not isinstance(site.statement, ast.Assign) or len(site.statement.targets) != 1:
        return None
    edit = site.tree.delete_statement(site.statement)
    return (
        Fix("Take it out", (edit,), "suggestion", "failures and recompiles of the compiler are seen") if edit else None
    )
