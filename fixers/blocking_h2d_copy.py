from __future__ import annotations

from torchlint.facts.aliases import Batch
from torchlint.facts.told import Cast
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import call_node

_STREAMS = rb"\bStream\(|\bstream\("


def fix(site: Site, finding: Finding) -> Fix | None:
    if isinstance(finding.told, Cast) or not _is_equal(site):
        return None
    edit = site.tree.add_argument(call_node(site), "non_blocking=True")
    return Fix("Copy without waiting", (edit,), "safe") if edit is not None else None


def _is_equal(site: Site) -> bool:
    """Whether nothing can tell the two copies apart.

    On MPS an asynchronous copy may read memory that was given back meanwhile, a batch class of a library may not know
    `non_blocking`, another stream may read the copy before it has arrived, and what the host writes while the copy is under
    way may get into it.
    """
    data = site.source.data
    return (
        b"mps" not in data
        and b"torch.accelerator" not in data
        and site.receiver.kind == "tensor"
        and not site.analysis.context.switched_on(_STREAMS, site.module.path.rpartition("/")[0])
        and Batch(site.function, site.call, site.value).is_left_alone()
    )
