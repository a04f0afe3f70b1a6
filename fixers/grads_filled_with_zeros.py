from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.facts import names, related, syntax
from torchlint.facts.module import Function
from torchlint.facts.nodes import is_constant, none_test
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import Place, operand

if TYPE_CHECKING:
    import libcst as cst
else:
    from torchlint.rule.lazy import lazy

    cst = lazy("libcst")

_NOTE = "code that reads `p.grad` before the backward pass meets None, and optimizers skip unused parameters"
_THERE = (1, 7)
"""The first version whose `zero_grad()` takes `set_to_none`."""
_DROPS = (2, 0)
"""Since this version `zero_grad()` drops the gradients."""
_OWN = regex(rb"def zero_grad\(")
_SCALER = regex(rb"[sS]caler")
_READ = regex(rb"(?<!autograd)\.grad\b(?!\s*(?:is\b|=\s*(?:None\b|torch\.zeros)))")
"""Where a gradient is read without asking, or given by hand."""
_BY_NAME = regex(rb"getattr\([^()\n]*,\s*[\"']_?grad[\"']\s*\)|attrgetter\(\s*[\"'](?:\w+\.)*_?grad[\"']")
"""Where it is read by its name, with nothing in its place."""
_ZEROS = ("torch.zeros", "torch.zeros_like")


def fix(site: Site, finding: Finding) -> Fix | None:
    if _is_read(site):
        return None
    edit = _dropped(site) if site.name == ".zero_grad()" else _set_to_none(site)
    plural = "s" if site.name == ".zero_grad()" else ""
    return Fix(f"Drop the gradient{plural}", (edit,), "unsafe", _NOTE) if edit is not None else None


# zero_grad(set_to_none=False)


def _dropped(site: Site) -> Edit | None:
    known = site.receiver
    if not _is_torchs(site) or _are_stepped_by_turns(site):
        return None
    call, given = site.node, site.argument("set_to_none", 0)
    assert isinstance(call, cst.Call)
    if given is None:
        known_there = site.torch is not None and site.torch.low >= _THERE
        return site.tree.add_argument(call, "set_to_none=True") if known_there else None
    if not isinstance(given, ast.Constant):
        return None  # the option is the program's to change
    if known.proven and site.torch is not None and site.torch.low >= _DROPS:
        return site.tree.remove_argument(call, call.args[0])
    return site.tree.replace(site.cst(given), "True")


def _is_torchs(site: Site) -> bool:
    """Whether `zero_grad` is the method that optimizers and modules have of torch, as far as the project tells."""
    known = site.receiver
    if known.kind not in ("optimizer", "module", "unknown"):
        return False
    if known.class_ is not None:
        return site.project.method(known.class_, "zero_grad") is None
    return bool(known.class_name) or not related.holds(site, _OWN)


def _are_stepped_by_turns(site: Site) -> bool:
    """Whether a scaler steps one of several optimizers, or in several places: it raises where none of the parameters has a gradient."""
    receivers = {ast.dump(receiver) for _, receiver in syntax.method_calls(site.flow, "zero_grad")}
    steps = [one for one in syntax.method_calls(site.flow, "step") if _SCALER.search(ast.unparse(one[1]).encode())]
    return (len(receivers) > 1 or len(steps) > 1) and site.source.holds(_SCALER)


# p.grad.zero_(), p.grad = torch.zeros_like(p)


def _set_to_none(site: Site) -> Edit | None:
    statement = site.statement
    if "here" in site.match:
        return site.tree.replace(site.caught("here"), "None")
    grad = _gradient(site.call)
    whole = (statement.col_offset, statement.end_col_offset) == (site.call.col_offset, site.call.end_col_offset)
    return site.tree.replace(site.node, f"{operand(site, grad, Place.ELEMENT)} = None") if whole else None


def _gradient(call: ast.Call) -> ast.expr:
    assert isinstance(call.func, ast.Attribute)
    grad = call.func.value
    while isinstance(grad, ast.Attribute) and grad.attr != "grad":
        grad = grad.value
    return grad


# What would miss the zeros


def _is_read(site: Site) -> bool:
    """Whether the program reads a gradient, here or in a file that is linked to this one, without asking if there is one, or gives one by hand."""
    own = set(ast.walk(site.statement)) if site.name != ".zero_grad()" else set()
    for function in site.module.functions:
        if any(read not in own and not _is_asked(function, read) for read in _reads(function)) or _gives(function):
            return True
    return related.beside(site, _READ) or related.holds(site, _BY_NAME)


def _gives(function: Function) -> bool:
    """Whether a function assigns a gradient that others may hold, `p.grad = flat[:n].view_as(p)`: zeros are for them, too."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in ("grad", "_grad")
        and isinstance(node.ctx, ast.Store)
        and not isinstance(function.flow.parents.get(node), ast.AugAssign)
        and not _is_new(function, syntax.given_to_target(function.flow, node))
        for node in function.flow.nodes
    )


def _is_new(function: Function, given: ast.expr | None) -> bool:
    """Whether nobody else holds what a gradient is given: None, zeros, what an operator makes."""
    made = isinstance(given, ast.Call) and names.resolve(function, given.func) in _ZEROS
    return made or isinstance(given, ast.BinOp) or is_constant(given, None)


def _reads(function: Function) -> Iterator[ast.Attribute]:
    for node in function.flow.nodes:
        if not isinstance(node, ast.Attribute) or node.attr not in ("grad", "_grad") or isinstance(node.ctx, ast.Store):
            continue
        if not (isinstance(node.value, ast.Attribute) and node.value.attr == "autograd"):
            yield node


def _is_asked(function: Function, read: ast.Attribute) -> bool:
    """`p.grad is None`, and what stands behind such a condition."""
    if _is_none(function.flow.parents.get(read), read) is not None:
        return True
    return any(_holds(guard.test, read, guard.true) for guard in function.flow.guards(read))


def _holds(test: ast.expr, read: ast.Attribute, true: bool) -> bool:
    """Whether there is a gradient where the test is true (or false)."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if true else ast.Or):
        return any(_holds(part, read, true) for part in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _holds(test.operand, read, not true)
    return _is_none(test, read) is (not true)


def _is_none(test: ast.AST | None, read: ast.Attribute) -> bool | None:
    """Whether the gradient is None where a test is true; None for tests of something else."""
    asked = none_test(test)
    return asked[1] if asked is not None and syntax.same(asked[0], read) else None
