from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.lazy import lazy
from torchlint.rule.rewrite import call_node

if TYPE_CHECKING:
    import libcst as cst
else:
    cst = lazy("libcst")


def fix(site: Site, finding: Finding) -> Fix | None:
    if not site.name.startswith(("torch.optim.", "functools.")):
        return None  # an update by hand, or the optimizer of another library, which has other defaults
    call = call_node(site)
    if all(keyword.arg not in ("foreach", "fused") for keyword in site.call.keywords):
        if not site.option("suggest-fused") or site.spread:
            return None  # what preview tells is left to who measures, what a dictionary says to who writes it
        added = site.tree.add_argument(call, "fused=True")
        note = "sums are rounded in another order, and all parameters have to be of floating point, on a device with such a kernel"
        return Fix("Use the fused kernel", (added,), "unsafe", note) if added else None
    edits = _without_choice(site, call)
    note = "sums are rounded in another order, and the peak of memory is higher"
    return Fix("Let torch choose", edits, "unsafe", note) if edits else None


def _without_choice(site: Site, call: cst.Call) -> tuple[Edit, ...]:
    """Take `foreach=False` out, and `fused=False`, beside which torch chooses nothing; nothing where a comment is in between."""
    first = len(site.call.args)
    given = [first + i for i, keyword in enumerate(site.call.keywords) if keyword.arg in ("foreach", "fused")]
    if len(given) < 2 or given[1] != given[0] + 1:
        return tuple(site.tree.remove_argument(call, call.args[at]) for at in given)
    if not given[0]:
        return ()
    start, end = site.tree.span(call.args[given[0] - 1])[1], site.tree.span(call.args[given[1]])[1]
    return (Edit(start, end, b""),) if b"#" not in site.source.data[start:end] else ()
