from __future__ import annotations

from torchlint.facts.compiler_table import PUBLIC
from torchlint.rewrite import older_torch, substituted
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    entry = PUBLIC[site.name]
    edits = substituted(site, entry)
    if edits is None:
        return None
    note = older_torch(site, entry.renamed_in)
    return Fix(f"Use `{entry.rename}`", edits, "unsafe" if note else "safe", note)
