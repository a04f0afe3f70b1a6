from __future__ import annotations

import ast

from torchlint.rewrite import Place, operand
from torchlint.rule import Finding, Fix, Site

_NOTE = "what is kept no longer answers to `requires_grad` and can't be back-propagated"


def fix(site: Site, finding: Finding) -> Fix | None:
    stored = _stored(site)
    edit = site.tree.replace(site.cst(stored), f"{operand(site, stored, Place.RECEIVER)}.detach()")
    return Fix("Detach what is kept", (edit,), "unsafe", _NOTE)


def _stored(site: Site) -> ast.expr:
    """The expression that is added or collected."""
    node = site.target
    if isinstance(node, ast.Call):
        return node.args[0]
    assert isinstance(node, ast.AugAssign | ast.Assign)
    return node.value.right if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) else node.value
