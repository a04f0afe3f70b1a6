from __future__ import annotations

import ast

from torchlint.rewrite import spelled
from torchlint.rule import Finding, Fix, Site

_NOTE = "what the function returns no longer carries a graph for autograd"


def fix(site: Site, finding: Finding) -> Fix | None:
    node = site.function.node
    if isinstance(node, ast.Module) or site.name != ".eval()":
        return None
    if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in site.flow.nodes):
        return None
    if any(isinstance(call.func, ast.Attribute) and call.func.attr == "step" for call in site.flow.calls):
        return None
    spelling = spelled(site.at(site.function.parent, node), "torch.no_grad") if site.function.parent else None
    if spelling is None:
        return None
    edit = site.tree.add_decorator(node, f"@{spelling[0]}()")
    return Fix("Run the function without autograd", (edit, *spelling[1]), "unsafe", _NOTE)
