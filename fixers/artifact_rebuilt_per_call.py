from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import line_before


def fix(site: Site, finding: Finding) -> Fix | None:
    loop, statement = site.loop(), site.statement
    if (
        loop is None
        or not isinstance(statement, ast.Assign)
        or statement not in loop.body
        or statement.lineno != statement.end_lineno
    ):
        return None
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name) or len(site.flow.stores[target.id]) != 1:
        return None
    added = line_before(site, statement, loop)
    removed = site.tree.delete_statement(statement)
    if added is None or removed is None:
        return None
    return Fix("Load once, before the loop", (added, removed), "suggestion", "the loop must not change what it loads")
