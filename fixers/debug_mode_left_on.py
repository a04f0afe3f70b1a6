from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    statement = site.statement
    if not isinstance(statement, ast.Expr | ast.Assign):
        return None
    edit = site.tree.delete_statement(statement)
    return Fix("Remove the switch", (edit,), "suggestion", "or put it behind a flag") if edit is not None else None
