from __future__ import annotations

import ast

from torchlint.rewrite import arguments, spelled
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    """A constant message for an `assert`; `torch.where` for a conditional expression of tensors."""
    node = site.target
    if isinstance(node, ast.Assert):
        return _constant_message(site, node)
    if isinstance(node, ast.IfExp) and site.value(node.body).is_tensor and site.value(node.orelse).is_tensor:
        spelling = spelled(site, "torch.where")
        if spelling is None:
            return None
        edit = site.tree.replace(site.node, f"{spelling[0]}({arguments(site, node.test, node.body, node.orelse)})")
        note = "both sides are computed, and shapes are broadcast"
        return Fix("Choose with torch.where", (edit, *spelling[1]), "suggestion", note)
    return None


def _constant_message(site: Site, node: ast.Assert) -> Fix | None:
    if not isinstance(node.msg, ast.JoinedStr):
        return None
    parts = [str(part.value) if isinstance(part, ast.Constant) else "..." for part in node.msg.values]
    text = "".join(parts).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    edit = site.tree.replace(site.cst(node.msg), f'"{text}"')
    return Fix("Make the message a constant", (edit,), "unsafe", "the error no longer shows the values")
