from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    """Leave the call out."""
    statement = site.statement
    if not isinstance(statement, ast.Expr) or statement.value is not site.target:
        return None
    edit = site.tree.delete_statement(statement)
    return Fix(f"Remove `{site.short()}`", (edit,), "suggestion") if edit is not None else None
