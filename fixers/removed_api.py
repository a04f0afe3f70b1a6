from __future__ import annotations

import ast

from torchlint.facts import api_table
from torchlint.facts.deprecated_table import KEYWORDS, NAMES
from torchlint.rewrite import call_node, substituted
from torchlint.rule import Finding, Fix, Site

_NOTE = "the program raised before"


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name.endswith("()"):
        return _without_keyword(site)
    entry = NAMES[site.name]
    edits = substituted(site, entry)
    return Fix(f"Use `{entry.rename}`", edits, "unsafe", _NOTE) if edits is not None else None


def _without_keyword(site: Site) -> Fix | None:
    gone = KEYWORDS[site.name.removesuffix("()")]
    for index, given in enumerate(site.call.keywords):
        entry = gone.get(given.arg or "")
        if (
            entry is not None
            and site.torch is not None
            and api_table.gone(entry.name, site.torch) is not None
            and isinstance(given.value, ast.Constant | ast.Name | ast.Attribute)
        ):
            call = call_node(site)
            edit = site.tree.remove_argument(call, call.args[len(site.call.args) + index])
            return Fix(f"Leave `{given.arg}` out", (edit,), "unsafe", _NOTE)
    return None
