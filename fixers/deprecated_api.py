from __future__ import annotations

import ast

from torchlint.facts import api_table
from torchlint.facts.deprecated_table import NAMES, Keyword, Missing
from torchlint.facts.told import Argument
from torchlint.rewrite import call_node, older_torch, substituted
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    if isinstance(finding.told, Argument):
        entry = finding.told.entry
        return _required(site, entry) if isinstance(entry, Missing) else _keyword(site, entry, finding.told.given)
    renamed = NAMES[site.name]
    edits = substituted(site, renamed)
    if edits is None:
        return None
    note = older_torch(site, renamed.renamed_in)
    return Fix(f"Use `{renamed.rename}`", edits, "unsafe" if note else "safe", note)


def _keyword(site: Site, entry: Keyword, given: ast.keyword | None) -> Fix | None:
    """Rename the keyword, or leave it out where it has no effect."""
    if given is None:
        return None
    call = call_node(site)
    arg = call.args[len(site.call.args) + site.call.keywords.index(given)]
    if entry.rename and arg.keyword is not None:
        return Fix(f"Name it `{entry.rename}`", (site.tree.replace(arg.keyword, entry.rename),), "safe")
    if entry.inert and isinstance(given.value, ast.Constant | ast.Name):
        return Fix("Leave it out", (site.tree.remove_argument(call, arg),), "safe")
    return None


def _required(site: Site, missing: Missing) -> Fix | None:
    """Write the argument that keeps today's behaviour."""
    edit = site.tree.add_argument(call_node(site), missing.given) if missing.given else None
    if edit is None:
        return None
    note = older_torch(site, api_table.there(f"{missing.function}({missing.keyword})"))
    return Fix(f"Say `{missing.given}`", (edit,), "unsafe" if note else "safe", note)
