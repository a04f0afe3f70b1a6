from __future__ import annotations

import ast

from torchlint.rule import Edit, Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    target = site.target
    assert isinstance(target, ast.Attribute)
    end = site.source.offset(target.end_lineno or 0, target.end_col_offset or 0)
    edit = Edit(end - len(target.attr), end, b"requires_grad")
    return Fix("Spell `requires_grad`", (edit,), "unsafe", "the parameters are frozen from then on, as was meant")
