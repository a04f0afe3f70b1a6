from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, operand


def fix(site: Site, finding: Finding) -> Fix | None:
    if "index" not in site.match:
        return None  # a list by its name
    index = site.part("index")
    assert isinstance(index, ast.List)
    inner = ", ".join(operand(site, one, Place.ELEMENT) for one in index.elts)
    code = f"{inner}," if len(index.elts) == 1 else inner
    plain = site.surely_tensor(site.part("tensor")) and any(_is_no_number(site, one) for one in index.elts)
    note = "" if plain else "an array, or a list of numbers alone, is indexed otherwise"
    edit = site.tree.replace(site.caught("index"), code)
    return Fix("Index by a tuple", (edit,), "unsafe" if note else "safe", note)


def _is_no_number(site: Site, node: ast.expr) -> bool:
    """Whether an element surely makes the list stand for one index a dimension."""
    if isinstance(node, ast.List | ast.Tuple):
        return True
    if isinstance(node, ast.Constant):
        return node.value is None or node.value is Ellipsis
    return (isinstance(node, ast.Call) and site.resolve(node.func) == "slice") or site.surely_tensor(node)
