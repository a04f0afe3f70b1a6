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
    edit = site.tree.add_argument(node, "non_blocking=True") if _is_equal(site) else None
    return Fix("Copy without waiting", (edit,), "safe") if edit is not None else None


def _is_equal(site: Site) -> bool:
    """Whether nothing can tell the two copies apart.

    On MPS an asynchronous copy may read memory that was given back meanwhile, a batch class of a library may not know
    `non_blocking`, and what the host writes while the copy is under way may get into it.
    """
    data = site.source.data
    return (
        b"mps" not in data
        and b"torch.accelerator" not in data
        and site.receiver.kind == "tensor"
        and not _written_after(site)
    )


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
