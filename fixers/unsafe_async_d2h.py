from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.rule import Finding, Fix, Site

if TYPE_CHECKING:
    import libcst as cst
else:
    from torchlint.rule.lazy import lazy

    cst = lazy("libcst")


def fix(site: Site, finding: Finding) -> Fix | None:
    node = site.caught()
    assert isinstance(node, cst.Call)
    flag = next(arg for arg in node.args if arg.keyword is not None and arg.keyword.value == "non_blocking")
    edit = site.tree.remove_argument(node, flag)
    return Fix("Wait for the copy", (edit,), "suggestion", "or wait for an event before the read, and copy meanwhile")
