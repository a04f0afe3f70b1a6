"""Conditions on a flag that is given by calls: how often what they give is true."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from ..facts import first_time, guards
from ..facts.flow import Guard
from ..facts.module import Function
from ..facts.nodes import spreads, without_not
from . import objects
from .calling import CallSite
from .project import Project

Handed = Callable[[CallSite, ast.expr, bool], guards.Meaning]
"""What is said of a flag that a call hands on as its own function was given it."""


def meaning(
    project: Project, function: Function, name: str, true: bool, is_rare: Callable[[CallSite], bool], handed: Handed
) -> guards.Meaning:
    """What a parameter that has to be true, or false, says where all calls of the program give something that seldom is.

    `report` of `loss(x, report=step % 10 == 0)`, `skip` of `loss(x, skip=not self.fresh)`, where `self.fresh = False`
    follows, or a flag that is such a one of the caller itself (`handed`); and `clean` of `save(x, clean=True)`, where that call is rare (`is_rare`) and others give nothing: a flag that
    every call gives tells no calls apart.
    """
    if name in function.flow.stores or name not in function.positions:
        return ""
    found, alike = set[guards.Meaning](), True
    for site in project.own_sites(function) or _of_modules(project, function):
        call = site.given or site.call
        hidden = spreads(call)
        node = function.argument(call, name) or function.defaults.get(name)
        if node is None or hidden:
            return ""
        if isinstance(node, ast.Constant):
            alike = alike and bool(node.value) is true
            if bool(node.value) is true and not is_rare(site):
                return ""
            if bool(node.value) is true:
                found.add("throttled")
            continue
        said = _said(project, site, node, true, handed)
        if said not in guards.RARE:
            return ""
        found.add(said)
        alike = False
    if alike:
        return ""
    return "throttled" if "throttled" in found else "cold" if found else ""


def _said(project: Project, site: CallSite, node: ast.expr, true: bool, handed: Handed) -> guards.Meaning:
    """What one call gives: a condition, not a name alone, which may be an option; a flag that is taken back behind it, or handed on."""
    flow = site.function.flow
    if first_time.taken_back(node, true, flow):
        return "cold"
    plain, holds = without_not(node, true)
    if isinstance(plain, ast.Attribute) or (isinstance(plain, ast.Name) and guards.definition(plain, flow) is None):
        return handed(site, plain, holds)
    guard = Guard(plain, holds, None, site.call)
    return guards.meaning(guard, flow, lambda n: project.value(site.function, n))


def _of_modules(project: Project, function: Function) -> Iterator[CallSite]:
    """The calls of objects that run a `forward`, outside of tests: `net(x)` of `net = Net()`."""
    if function.name == "forward" and function.cls is not None:
        yield from (one for one in objects.calls(project, function) if not project.is_tested(one.function))
