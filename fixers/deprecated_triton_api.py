from __future__ import annotations

import ast

from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import older_torch

_NOTE = "TRITON_F32_DEFAULT no longer overrules it, and a device without TF32 refuses it"
_PRECISION = {True: "tf32", False: "ieee"}


def fix(site: Site, finding: Finding) -> Fix | None:
    function = site.module.function_at(finding.line)
    given = next((k for call in function.flow.calls for k in call.keywords if _at(site, k, finding)), None)
    if given is None or not isinstance(given.value, ast.Constant) or not isinstance(given.value.value, bool):
        return None
    start = site.source.start_of(given)
    end = site.source.end_of(given)
    edit = Edit(start, end, f'input_precision="{_PRECISION[given.value.value]}"'.encode())
    note = older_torch(site, (2, 4)) or _NOTE
    return Fix("Name the precision", (edit,), "unsafe", note)


def _at(site: Site, keyword: ast.keyword, finding: Finding) -> bool:
    if keyword.arg != "allow_tf32" or keyword.lineno != finding.line:
        return False
    return site.source.position(site.source.start_of(keyword)) == (
        finding.line,
        finding.column,
    )
