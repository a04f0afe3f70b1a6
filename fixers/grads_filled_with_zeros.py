from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.rewrite import Place, operand
from torchlint.rule import Finding, Fix, Site

if TYPE_CHECKING:
    import libcst as cst
else:
    from torchlint.lazy import lazy

    cst = lazy("libcst")

_NOTE = "code that reads `p.grad` before the backward pass meets None, and optimizers skip unused parameters"


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name == ".zero_grad()":
        return _called(site)
    if site.name == ".grad":
        statement = site.statement
        assert isinstance(statement, ast.Assign)
        edit = site.tree.replace(site.cst(statement.value), "None")
    else:
        assert isinstance(site.call.func, ast.Attribute)
        grad = site.call.func.value
        while isinstance(grad, ast.Attribute) and grad.attr != "grad":
            grad = grad.value
        edit = site.tree.replace(site.node, f"{operand(site, grad, Place.ELEMENT)} = None")
    return Fix("Drop the gradient", (edit,), "unsafe", _NOTE)


def _called(site: Site) -> Fix | None:
    call = site.node
    assert isinstance(call, cst.Call)
    if not call.args:
        edit = site.tree.add_argument(call, "set_to_none=True")
    elif isinstance(site.argument("set_to_none", 0), ast.Constant):
        edit = site.tree.remove_argument(call, call.args[0])
    else:
        return None  # the option is the program's to change
    return Fix("Drop the gradients", (edit,), "unsafe", _NOTE) if edit is not None else None
