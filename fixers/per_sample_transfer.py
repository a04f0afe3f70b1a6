from __future__ import annotations

import ast

from torchlint.rule import Edit, Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    if finding.severity == "info":
        return None  # stacking needs shapes that nobody has promised
    call = site.call
    assert isinstance(call.func, ast.Attribute)
    name_end = site.source.end_of(call.func)
    dot = site.source.data.rindex(b".", 0, name_end)
    end = site.source.end_of(call)
    return Fix("Leave the sample on the host", (Edit(dot, end, b""),), "suggestion", "and move the batch in the loop")
