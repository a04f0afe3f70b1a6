from __future__ import annotations

import ast

from torchlint.rewrite import arguments, spelled
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    matrix = _matrix(site)
    parent = site.flow.parents[site.target]
    spelling = spelled(site, "torch.linalg.solve")
    if matrix is None or spelling is None:
        return None
    right = False
    whole: ast.expr
    if isinstance(parent, ast.BinOp):
        right = parent.right is site.target
        whole, other = parent, parent.left if right else parent.right
    elif isinstance(parent, ast.Call):
        right = parent.args[1] is site.target
        whole, other = parent, parent.args[0] if right else parent.args[1]
    else:
        call = site.flow.parents[parent]
        assert isinstance(call, ast.Call)
        whole, other = call, call.args[0]
    code = f"{spelling[0]}({arguments(site, matrix, other)}{', left=False' if right else ''})"
    edit = site.tree.replace(site.cst(whole), code)
    return Fix(
        "Solve instead",
        (edit, *spelling[1]),
        "unsafe",
        "the last digits differ, and a batch of vectors is taken for a matrix",
    )


def _matrix(site: Site) -> ast.expr | None:
    """What is inverted."""
    if site.name == ".inverse()":
        assert isinstance(site.call.func, ast.Attribute)
        return site.call.func.value
    return site.call.args[0] if len(site.call.args) == 1 and not site.call.keywords else None
