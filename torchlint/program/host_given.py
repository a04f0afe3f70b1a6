"""Calls that give a function nothing of the device: what they give was moved to the host in front of them."""

from __future__ import annotations

import ast

from ..facts.module import Class, Function
from ..facts.nodes import given_to, root_of
from ..facts.uses import assigned
from ..query.question import question
from .batches import sends
from .calling import CallSite
from .project import Project

_PLAIN = frozenset(("number", "str", "none", "ndarray"))
"""What says nothing of a device, and is read on the host."""
_STEPS = 3
"""Through how many names something is followed."""
_DEPTH = 2
"""Through how many calls it is looked for who sends something to the device."""


def is_all_on_host(project: Project, function: Function, site: CallSite) -> bool:
    """`paste(masks, boxes)` behind `boxes = [box.to("cpu") for box in boxes]`, of a function that has no model, and sends nothing to the device."""
    caller, call = site.function, site.given or site.call
    if not caller.module.source.holds(b"cpu"):
        return False
    if function.cls is not None and not _keeps_numbers_alone(project, function.cls):
        return False
    given = [node for node in given_to(call) if project.value(caller, node).kind not in _PLAIN]
    on_host = bool(given) and all(_is_of_host(project, caller, node, _STEPS) for node in given)
    return on_host and not sends(project, function, _DEPTH)


@question("keeps numbers alone", False)
def _keeps_numbers_alone(project: Project, klass: Class) -> bool:
    """Whether objects of a class have nothing of their own that may be on the device."""
    ancestry = list(project.ancestry(klass))
    if any(project.is_module(one) for one in ancestry):
        return False
    return all(project.attribute(klass, name).kind in _PLAIN for one in ancestry for name in one.stores)


def _is_of_host(project: Project, function: Function, node: ast.expr, steps: int) -> bool:
    """Whether something is on the host, or made of a name alone that is: `boxes.get("mask")`."""
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(_is_of_host(project, function, one, steps) for one in node.elts)
    value = project.value(function, node)
    held = value.element if value.kind == "list" and value.element is not None else value
    if held.on_cpu or value.kind != "unknown" or not steps:
        return held.on_cpu
    made = assigned(function, node) if isinstance(node, ast.Name) else node
    root = root_of(made, ast.Call, ast.Attribute, ast.Subscript) if made is not None else None
    return root is not None and root is not node and _is_of_host(project, function, root, steps - 1)
