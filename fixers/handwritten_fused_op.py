from __future__ import annotations

import ast

from torchlint.rewrite import arguments, spelled
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    spelling = spelled(site, "torch.nn.functional.silu")
    if "sigmoid" not in site.name or spelling is None:
        return None
    product = site.flow.parents[site.target]
    assert isinstance(product, ast.BinOp)
    other = product.right if product.left is site.target else product.left
    edit = site.tree.replace(site.cst(product), f"{spelling[0]}({arguments(site, other)})")
    return Fix("Use `silu`", (edit, *spelling[1]), "unsafe", "the last digits differ")
