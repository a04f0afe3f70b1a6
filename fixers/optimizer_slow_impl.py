from __future__ import annotations

from torchlint.rewrite import call_node
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name == ".grad":
        return None
    call = call_node(site)
    if all(keyword.arg != "foreach" for keyword in site.call.keywords):
        added = site.tree.add_argument(call, "fused=True")
        return Fix("Use the fused kernel", (added,), "unsafe", "sums are rounded in another order") if added else None
    index = next(i for i, keyword in enumerate(site.call.keywords) if keyword.arg == "foreach")
    edit = site.tree.remove_argument(call, call.args[len(site.call.args) + index])
    return Fix(
        "Let torch choose", (edit,), "unsafe", "sums are rounded in another order, and the peak of memory is higher"
    )
