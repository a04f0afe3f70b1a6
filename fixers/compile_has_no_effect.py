from __future__ import annotations

import ast

from torchlint.rewrite import Place, arguments, operand
from torchlint.rule import Finding, Fix, Site, chain


def fix(site: Site, finding: Finding) -> Fix | None:
    """Bind the result; compile in place; call the module instead of its forward."""
    call = site.call
    if isinstance(site.statement, ast.Expr) and site.name == "torch.compile()":
        if not call.args or not _assignable(site, call.args[0]):
            return None
        edit = site.tree.insert_before(site.node, f"{operand(site, call.args[0], Place.ELEMENT)} = ")
        return Fix("Bind the result", (edit,), "unsafe", "the program runs compiled code from here on")
    if site.name == "torch.compile()" and isinstance(site.statement, ast.Assign):
        target = site.statement.targets[0]
        if len(call.args) != 1 or site.text(call.args[0]) != site.text(target):
            return None
        code = f"{operand(site, target, Place.RECEIVER)}.compile({arguments(site, *call.keywords)})"
        edit = site.tree.replace(site.cst(site.statement), code)
        return Fix("Compile in place", (edit,), "suggestion", "the module is compiled wherever it is called")
    return None


def _assignable(site: Site, node: ast.expr) -> bool:
    """Whether an assignment binds what the expression reads: a name of another scope would become a local one."""
    if not isinstance(node, ast.Name):
        return chain(node) is not None
    function = site.function
    own = node.id in function.flow.stores or any(p.arg == node.id for p in function.parameters)
    return own or function is site.module.body
