from __future__ import annotations

import ast

from torchlint.facts.bindings import Iterated, Part
from torchlint.facts.dtypes import dtype
from torchlint.facts.nodes import is_written
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import Place, operand

_NOTE = "the parameters obey from then on, as was meant, and a backward pass raises where all of them are frozen"
_FACTORIES = frozenset(f"torch.{name}" for name in ("zeros", "ones", "empty", "rand", "randn"))


def fix(site: Site, finding: Finding) -> Fix | None:
    target = site.target
    assert isinstance(target, ast.Attribute)
    if _is_read(site, target.attr):
        return None
    if site.value(target.value).kind == "module":
        return _called(site, target)
    if not _may_require_gradients(site, target.value):
        return None
    edit = _behind_dot(site, target, target, "requires_grad")
    return Fix("Spell `requires_grad`", (edit,), "unsafe", _NOTE)


def _called(site: Site, target: ast.Attribute) -> Fix | None:
    """`module.requires_grad_(False)`: the attribute of a module means nothing."""
    statement = site.statement
    is_own = isinstance(statement, ast.Assign) and is_written(statement) and statement.targets == [target]
    if not isinstance(statement, ast.Assign) or not is_own or not site.value(target.value).proven:
        return None
    code = f"requires_grad_({operand(site, statement.value, Place.ARGUMENT)})"
    edit = _behind_dot(site, target, statement, code)
    taken = site.source.data[edit.start : edit.end]
    return Fix("Call `requires_grad_`", (edit,), "unsafe", _NOTE) if b"#" not in taken else None


def _behind_dot(site: Site, target: ast.Attribute, last: ast.expr | ast.stmt, code: str) -> Edit:
    source = site.source
    start = source.end_of(target) - len(target.attr)
    return Edit(start, source.end_of(last), code.encode())


def _is_read(site: Site, name: str) -> bool:
    """Whether the project uses the attribute for something of its own."""
    if name in ("requires_grad_", "requires_grad"):
        return False  # the method's own name, and what tensors have: nothing is told of what is read
    return site.analysis.context.switched_on(rb"\b%s\b(?!\s*=[^=])" % name.encode())


def _may_require_gradients(site: Site, owner: ast.expr) -> bool:
    """Whether it is a parameter, or a tensor of floating point that was just made: torch takes no integers, and no results."""
    value = site.value(owner)
    if value.parameter or _is_one_of_parameters(site, owner):
        return True
    made = value.made_by
    return (
        isinstance(made, ast.Call)
        and made in site.flow.parents
        and site.resolve(made.func) in _FACTORIES
        and dtype(site, owner) == "floating"
    )


def _is_one_of_parameters(site: Site, owner: ast.expr) -> bool:
    """`for p in anything.parameters()`"""
    binding = site.function.bindings.reach.get(owner)
    whole = binding.whole if isinstance(binding, Part) else binding
    called = whole.node if isinstance(whole, Iterated) else None
    return (
        isinstance(called, ast.Call)
        and isinstance(called.func, ast.Attribute)
        and called.func.attr in ("parameters", "named_parameters")
    )
