from __future__ import annotations

import ast

from torchlint.facts import api_table
from torchlint.facts.deprecated_table import KEYWORDS, NAMES, REQUIRED
from torchlint.rewrite import call_node, older_torch, substituted
from torchlint.rule import Edit, Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name.endswith("()"):
        name = site.name.removesuffix("()")
        return _keyword(site, finding, name) or _required(site, finding, name)
    entry = NAMES[site.name]
    edits = substituted(site, entry)
    if edits is None:
        return None
    note = older_torch(site, entry.renamed_in)
    return Fix(f"Use `{entry.rename}`", edits, "unsafe" if note else "safe", note)


def _keyword(site: Site, finding: Finding, name: str) -> Fix | None:
    """Rename the keyword that the finding is about, or leave it out where it has no effect."""
    for index, given in enumerate(site.call.keywords):
        entry = KEYWORDS.get(name, {}).get(given.arg or "")
        if entry is None or given.arg is None or not _is_at(site, given, finding):
            continue
        call = call_node(site)
        arg = call.args[len(site.call.args) + index]
        if entry.rename and arg.keyword is not None:
            return Fix(f"Name it `{entry.rename}`", (site.tree.replace(arg.keyword, entry.rename),), "safe")
        if entry.inert and isinstance(given.value, ast.Constant | ast.Name):
            return Fix("Leave it out", (site.tree.remove_argument(call, arg),), "safe")
    return None


def _is_at(site: Site, node: ast.keyword, finding: Finding) -> bool:
    return site.source.position(site.source.offset(node.lineno, node.col_offset)) == (finding.line, finding.column)


def _required(site: Site, finding: Finding, name: str) -> Fix | None:
    """Write the argument that keeps today's behaviour."""
    missing = REQUIRED.get(name)
    if missing is None or not missing.given or "without" not in finding.message:
        return None
    edit: Edit | None = site.tree.add_argument(call_node(site), missing.given)
    if edit is None:
        return None
    note = older_torch(site, api_table.there(f"{name}({missing.keyword})"))
    return Fix(f"Say `{missing.given}`", (edit,), "unsafe" if note else "safe", note)
