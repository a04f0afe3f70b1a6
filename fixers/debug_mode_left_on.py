from __future__ import annotations

import ast

from torchlint.facts.nodes import given_to
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    statement = site.statement
    if not isinstance(statement, ast.Expr | ast.Assign):
        return None
    given = given_to(statement.value) if isinstance(statement.value, ast.Call) else []
    if not all(isinstance(one, ast.Constant) for one in given):
        return None  # it is the default of the option that is to change
    if site.name == "os.environ.update()" and len(given) > 1:
        return None  # other variables are set with it
    edit = site.tree.delete_statement(statement)
    return Fix("Remove the switch", (edit,), "suggestion", "or put it behind a flag") if edit is not None else None
