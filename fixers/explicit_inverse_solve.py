from __future__ import annotations

import ast

from torchlint.facts import syntax
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import arguments, spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    """`torch.linalg.solve(A, B)` for a product of matrices: `@` and `matmul` may be one of vectors, which torch solves for otherwise."""
    matrix, other, whole = _matrix(site), site.part("other"), site.whole
    spelling = spelled(site, "torch.linalg.solve")
    if matrix is None or spelling is None or not isinstance(whole, ast.Call) or "matmul" in site.pattern:
        return None
    right = whole.args[-1] is site.target
    if right and syntax.calls_anything(matrix) and syntax.calls_anything(other):
        return None  # which is evaluated first may matter
    code = f"{spelling[0]}({arguments(site, matrix, other)}{', left=False' if right else ''})"
    edit = site.tree.replace(site.caught(), code)
    return Fix("Solve instead", (edit, *spelling[1]), "unsafe", "the last digits differ")


def _matrix(site: Site) -> ast.expr | None:
    """What is inverted."""
    if "x" in site.match:
        return site.part("x")
    return site.call.args[0] if len(site.call.args) == 1 and not site.call.keywords else None
