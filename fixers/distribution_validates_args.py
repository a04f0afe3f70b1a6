from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.lazy import lazy
from torchlint.rule import Finding, Fix, Site

if TYPE_CHECKING:
    import libcst as cst
else:
    cst = lazy("libcst")


def fix(site: Site, finding: Finding) -> Fix | None:
    """Add `validate_args=False`."""
    node = site.node
    edit = site.tree.add_argument(node, "validate_args=False") if isinstance(node, cst.Call) else None
    if edit is None:
        return None
    note = "Parameters and values outside their domain are no longer refused."
    return Fix("Add `validate_args=False`", (edit,), "unsafe", note)
