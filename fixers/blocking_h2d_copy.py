from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Fix, Site

if TYPE_CHECKING:
    import libcst as cst
else:
    from torchlint.lazy import lazy

    cst = lazy("libcst")


def fix(site: Site, finding: Finding) -> Fix | None:
    node = site.node
    assert isinstance(node, cst.Call)
    edit = site.tree.add_argument(node, "non_blocking=True")
    if edit is None:
        return None
    note = _risk(site)
    return Fix("Copy without waiting", (edit,), "unsafe" if note else "safe", note)


def _risk(site: Site) -> str:
    """What could tell the two copies apart; "" where nothing can."""
    data = site.source.data
    if b"mps" in data or b"torch.accelerator" in data:
        return "on MPS an asynchronous copy may read memory that was given back meanwhile"
    if site.receiver.kind != "tensor":
        return "a batch class of a library may not know `non_blocking`"
    if _written_after(site):
        return "the host writes to the batch while the copy may be under way"
    return ""


def _written_after(site: Site) -> bool:
    """Whether the function changes the batch in place, or something it is a part of."""
    func = site.call.func
    assert isinstance(func, ast.Attribute)
    root = func.value
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    if not isinstance(root, ast.Name):
        return True
    for load in site.flow.loads.get(root.id, ()):
        node: ast.AST = load
        parent = site.flow.parents[node]
        while isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is node:
            node, parent = parent, site.flow.parents[parent]
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and not _holds_result(site, parent):
            return True
        if isinstance(node, ast.Attribute) and isinstance(parent, ast.Call) and _in_place(node.attr):
            return True
    stores = site.flow.stores.get(root.id, ())
    return any(isinstance(site.flow.parents[store], ast.AugAssign) for store in stores)


def _holds_result(site: Site, statement: ast.AST) -> bool:
    """`batch[key] = batch[key].to(device)`: the slot of the batch takes the copy."""
    return statement is site.statement


def _in_place(method: str) -> bool:
    return method.endswith("_") and not method.startswith("_")
