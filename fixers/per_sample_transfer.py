from __future__ import annotations

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import cut


def fix(site: Site, finding: Finding) -> Fix | None:
    if finding.severity == "info":
        return None  # stacking needs shapes that nobody has promised
    edit = cut(site, site.call)
    if edit is None:
        return None
    return Fix("Leave the sample on the host", (edit,), "suggestion", "and move the batch in the loop")
