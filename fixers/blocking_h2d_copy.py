from __future__ import annotations

from torchlint.facts.aliases import Batch
from torchlint.rewrite import call_node
from torchlint.rule import Finding, Fix, Site

_STREAMS = rb"\bStream\(|\bstream\("


def fix(site: Site, finding: Finding) -> Fix | None:
    edit = site.tree.add_argument(call_node(site), "non_blocking=True")
    if edit is None:
        return None
    note = _risk(site)
    return Fix("Copy without waiting", (edit,), "unsafe" if note else "safe", note)


def _risk(site: Site) -> str:
    """What could tell the two copies apart; "" where nothing can."""
    data = site.source.data
    if b"mps" in data or b"torch.accelerator" in data:
        return "on MPS an asynchronous copy may read memory that was given back meanwhile"
    if site.receiver.kind != "tensor":
        return "a batch class of a library may not know `non_blocking`"
    if site.analysis.context.switched_on(_STREAMS):
        return "another stream may read the copy before it has arrived"
    if not Batch(site.function, site.call, site.value).is_left_alone():
        return "something may write to the batch on the host while the copy is under way"
    return ""
