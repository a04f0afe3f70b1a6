from __future__ import annotations

from torchlint.rewrite import call_node
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    call = call_node(site)
    index = next(i for i, keyword in enumerate(site.call.keywords) if keyword.arg == "foreach")
    edit = site.tree.remove_argument(call, call.args[len(site.call.args) + index])
    return Fix(
        "Let torch choose", (edit,), "unsafe", "sums are rounded in another order, and the peak of memory is higher"
    )
