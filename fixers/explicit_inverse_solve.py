from __future__ import annotations

import ast

from torchlint.facts import related, syntax
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import arguments, older_torch, spelled

_NARROW = regex(rb"autocast|mixed_precision|16-mixed")
"""What lets `mm` take float32 beside bfloat16."""
_SPARSE = regex(rb"sparse")
_NOTE = "the last digits differ, and the result lies in memory column by column: `view` may fail"
_LEFT = (1, 13)
"""The first version of torch whose `solve` has `left`."""


def fix(site: Site, finding: Finding) -> Fix | None:
    """`torch.linalg.solve(A, B)` for a product of matrices: `@` and `matmul` may be one of vectors, which torch solves for otherwise."""
    matrix, other, whole = _matrix(site), site.part("other"), site.whole
    spelling = spelled(site, "torch.linalg.solve")
    if matrix is None or spelling is None or not isinstance(whole, ast.Call) or "matmul" in site.pattern:
        return None
    if related.holds(site, _NARROW) or site.source.holds(_SPARSE):
        return None  # `solve` takes neither what autocast casts for `mm`, nor sparse matrices
    right = whole.args[-1] is site.target
    if right and syntax.calls_anything(matrix) and syntax.calls_anything(other):
        return None  # which is evaluated first may matter
    code = f"{spelling[0]}({arguments(site, matrix, other)}{', left=False' if right else ''})"
    edit = site.tree.replace(site.caught(), code)
    older = older_torch(site, _LEFT) if right else ""
    note = f"{_NOTE}; {older}" if older else _NOTE
    return Fix("Solve instead", (edit, *spelling[1]), "unsafe", note)


def _matrix(site: Site) -> ast.expr | None:
    """What is inverted."""
    if "x" in site.match:
        return site.part("x")
    return site.call.args[0] if len(site.call.args) == 1 and not site.call.keywords else None
