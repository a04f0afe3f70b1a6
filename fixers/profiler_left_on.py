from __future__ import annotations

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import call_node, spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    spelling = spelled(site, "torch.profiler.schedule")
    if site.name != "torch.profiler.profile()" or site.argument("schedule") is not None or spelling is None:
        return None
    code, imports = spelling
    edit = site.tree.add_argument(call_node(site), f"schedule={code}(wait=1, warmup=1, active=3)")
    note = "and call the profiler's step() at the end of each iteration"
    return Fix("Record a few steps", (edit, *imports), "suggestion", note) if edit is not None else None
