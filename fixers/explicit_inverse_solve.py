from __future__ import annotations

import ast

from torchlint.facts import syntax
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import arguments, spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    """`torch.linalg.solve(A, B)` for a product of matrices: `@` and `matmul` may be one of vectors, which torch solves for otherwise."""
    matrix, product = _matrix(site), _product(site)
    spelling = spelled(site, "torch.linalg.solve")
    if matrix is None or product is None or spelling is None:
        return None
    whole, other = product
    right = whole.args[-1] is site.target
    if right and syntax.calls_anything(matrix) and syntax.calls_anything(other):
        return None  # which is evaluated first may matter
    code = f"{spelling[0]}({arguments(site, matrix, other)}{', left=False' if right else ''})"
    edit = site.tree.replace(site.cst(whole), code)
    return Fix("Solve instead", (edit, *spelling[1]), "unsafe", "the last digits differ")


def _matrix(site: Site) -> ast.expr | None:
    """What is inverted."""
    if site.name == ".inverse()":
        assert isinstance(site.call.func, ast.Attribute)
        return site.call.func.value
    return site.call.args[0] if len(site.call.args) == 1 and not site.call.keywords else None


def _product(site: Site) -> tuple[ast.Call, ast.expr] | None:
    """A call of `mm` or `bmm` that the inverse is a factor of, and the other factor."""
    parent = site.flow.parents[site.target]
    if isinstance(parent, ast.Call) and site.resolve(parent.func) in ("torch.mm", "torch.bmm"):
        return parent, parent.args[0] if parent.args[1] is site.target else parent.args[1]
    if isinstance(parent, ast.Attribute) and parent.attr in ("mm", "bmm"):
        call = syntax.called(site.flow, parent)
        return (call, call.args[0]) if call is not None and not call.keywords else None
    return None
