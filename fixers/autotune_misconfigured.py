from __future__ import annotations

from torchlint.facts.told import Retuned
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import call_node


def fix(site: Site, finding: Finding) -> Fix | None:
    if not isinstance(finding.told, Retuned):
        return None
    pointer, how = finding.told.pointer, finding.told.how
    remedy = "reset_to_zero" if how == "atomic_add" else "restore_value"
    edit = site.tree.add_argument(call_node(site), f'{remedy}=["{pointer}"]')
    note = "if the output starts as zeros" if how == "atomic_add" else "it is copied before each trial"
    return Fix("Put the output back between trials", (edit,), "suggestion", note) if edit is not None else None
