from __future__ import annotations

from torchlint.facts import api_table
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import call_node, older_torch


def fix(site: Site, finding: Finding) -> Fix | None:
    edit = site.tree.add_argument(call_node(site), "use_reentrant=True")
    if edit is None:
        return None
    note = older_torch(site, api_table.there(f"{site.name.removesuffix('()')}(use_reentrant)"))
    return Fix("Say what it does today: `use_reentrant=True`", (edit,), "unsafe" if note else "safe", note)
