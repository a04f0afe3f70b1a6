from __future__ import annotations

import ast

from torchlint.facts import syntax
from torchlint.facts.compiler_table import PUBLIC
from torchlint.facts.deprecated_table import Entry
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import older_torch, substituted

_GIVEN = rb"\b%s\s*=(?!=)|[\"']%s[\"']"
"""How a call is given an argument by its name."""


def fix(site: Site, finding: Finding) -> Fix | None:
    entry = PUBLIC[site.name]
    edits = substituted(site, entry)
    if edits is None:
        return None
    note = older_torch(site, entry.renamed_in) or ("" if _decorates(site) else entry.risk or _given_later(site, entry))
    return Fix(f"Use `{entry.rename}`", edits, "unsafe" if note else "safe", note)


def _given_later(site: Site, entry: Entry) -> str:
    """What a call by another name may give that the public function refuses; "" where no file of the project names it."""
    assert isinstance(site.target, ast.expr)
    if syntax.called(site.flow, site.target) is not None:
        return ""
    for one in sorted(entry.refused):
        word = one.encode()
        if site.analysis.context.switched_on(_GIVEN % (word, word), word=word):
            return f"the public function takes no `{one}`"
    return ""


def _decorates(site: Site) -> bool:
    """Whether the name stands as a decorator, which runs when its function is defined."""
    parent = site.flow.parents[site.target]
    return isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
