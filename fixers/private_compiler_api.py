from __future__ import annotations

import ast

from torchlint.facts.compiler_table import PUBLIC
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import older_torch, substituted


def fix(site: Site, finding: Finding) -> Fix | None:
    entry = PUBLIC[site.name]
    edits = substituted(site, entry)
    if edits is None:
        return None
    note = older_torch(site, entry.renamed_in) or ("" if _decorates(site) else entry.risk)
    return Fix(f"Use `{entry.rename}`", edits, "unsafe" if note else "safe", note)


def _decorates(site: Site) -> bool:
    """Whether the name stands as a decorator, which runs when its function is defined."""
    parent = site.flow.parents[site.target]
    return isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
