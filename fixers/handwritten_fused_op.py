from __future__ import annotations

import ast

from torchlint.facts.dtypes import dtype
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import arguments, spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    product = site.flow.parents[site.target]
    if "sigmoid" not in site.name or not isinstance(product, ast.BinOp):
        return None
    other = product.right if product.left is site.target else product.left
    spelling = spelled(site, "torch.nn.functional.silu")
    if spelling is None or dtype(site, other) != "floating":
        return None
    edit = site.tree.replace(site.cst(product), f"{spelling[0]}({arguments(site, other)})")
    return Fix("Use `silu`", (edit, *spelling[1]), "unsafe", "the last digits differ")
