from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import kept_by_objects, names, related, training
from torchlint.facts.told import Kept
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import Place, operand

_NOTE = "what is kept no longer answers to `requires_grad`, prints no `grad_fn` and can't be back-propagated"
_COLLECTS = regex(rb"def (?:append|__i?add__|__radd__)\(")


def fix(site: Site, finding: Finding) -> Fix | None:
    assert isinstance(finding.told, Kept)
    holder = kept_by_objects.container(site.part("holder"))
    if _is_own(site, holder) or _is_trained_on(site, holder):
        return None
    stored = [part for name in ("first", "stored") if isinstance(part := site.match.caught.get(name), ast.expr)]
    kept = [one for part in stored for one in _with_history(site, part, finding.told.name)]
    edits = tuple(site.tree.replace(site.cst(one), f"{operand(site, one, Place.RECEIVER)}.detach()") for one in kept)
    return Fix("Detach what is kept", edits, "unsafe", _NOTE) if edits else None


def _with_history(site: Site, node: ast.expr, name: str) -> Iterator[ast.expr]:
    """The tensors in an expression that carry the graph of a name or a call: the expression, elements of it, else that itself."""
    names = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Call | ast.Subscript) and ast.unparse(part) == name
    ]
    if any(isinstance(part, ast.Call) and site.value(part).other_kinds for part in names):
        return  # it may give nothing
    if isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield from _with_history(site, element, name)
    elif names and site.value(node).is_tensor:
        yield node
    else:
        yield from names


def _is_own(site: Site, holder: ast.expr) -> bool:
    """Whether a class of the project may collect it."""
    value = site.value(holder)
    unknown = value.kind in ("unknown", "instance")
    return unknown and (value.class_ is not None or related.holds(site, _COLLECTS))


def _is_trained_on(site: Site, holder: ast.expr) -> bool:
    """Whether a backward pass starts at what is kept, where it is given back to, or read as an attribute."""
    flow = site.flow
    if isinstance(holder, ast.Name):
        loads = flow.loads.get(holder.id, ())
        returned = any(isinstance(around, ast.Return) for load in loads for around in flow.ancestors(load))
        return returned and training.is_trained_on(site, site.function)
    name = names.last(holder)
    return site.once(
        ("trained on", site.module, name), lambda: kept_by_objects.is_trained_on_in(site, site.module, name)
    )
