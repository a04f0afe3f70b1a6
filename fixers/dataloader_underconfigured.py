from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.told import Options
from torchlint.rule import Finding, Fix, Site

if TYPE_CHECKING:
    import libcst as cst
else:
    from torchlint.rule.lazy import lazy

    cst = lazy("libcst")


def fix(site: Site, finding: Finding) -> Fix | None:
    node = site.node
    if not isinstance(node, cst.Call):
        return None  # a class that is made of a loader
    assert isinstance(finding.told, Options)
    added = finding.told.lacking
    if not added or any(option.partition("=")[0] in _given(node) for option in added):
        return None
    edit = site.tree.add_argument(node, *added)
    if edit is None:
        return None
    return Fix("Configure the loader", (edit,), "suggestion", "measure which number of workers is best")


def _given(node: cst.Call) -> frozenset[str]:
    return frozenset(arg.keyword.value for arg in node.args if arg.keyword is not None)
