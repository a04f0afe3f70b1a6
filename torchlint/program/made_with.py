"""What one object keeps for good of what made it: `Grid(n=None)` says of its methods that `self.n` is None there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts import names, syntax
from ..facts.alternatives import Said
from ..facts.flow import Loop
from ..facts.module import Class, Function
from ..facts.nodes import none_test, required, spreads
from ..query.question import question
from ..system.regex import regex
from ..system.stamp import as_bytes
from .calling import CallSite
from .project import Project
from .texts import MAX_SITES

_SET = rb"(?<!\bself)\.NAME[ \t]*=(?!=)"
"""How who makes an object sets an attribute of it."""


def said(project: Project, caller: Function, call: ast.Call, target: Function, known: tuple[Said, ...]) -> list[Said]:
    """What a call of a method says of the attributes of its object: what made that, or what is `known` of the caller's own."""
    if not isinstance(call.func, ast.Attribute) or not target.own_name:
        return []
    receiver = call.func.value
    if caller.own_name and names.chain(receiver) == [caller.own_name]:
        own = f"{caller.own_name}."
        told = (one for one in known if one.name.startswith(own))
        return [one._replace(name=f"{target.own_name}.{one.name.removeprefix(own)}") for one in told]
    asked = _asked(project, target)
    owner = project.value(caller, receiver) if asked else None
    if owner is None or owner.class_ is None or owner.made_in is None or owner.other_kinds:
        return []
    if not isinstance(owner.made_by, ast.Call):
        return []
    maker = owner.made_in.function_at(owner.made_by.lineno)
    kept = (_kept(project, maker, owner.made_by, owner.class_, name) for name in asked)
    return [one._replace(name=f"{target.own_name}.{one.name}") for one in kept if one is not None]


def behind(function: Function, node: ast.AST, loop: Loop | None) -> Iterator[Said]:
    """What the conditions in front of a place say of attributes of its own object: `if self.n is not None:`."""
    for guard in function.flow.guards(node, loop):
        yield from _said_by(function, guard.test, guard.true)


def _said_by(function: Function, test: ast.expr, true: bool) -> Iterator[Said]:
    for part, holds in required(test, true):
        none = none_test(part)
        name = syntax.own_attribute(function, none[0] if none is not None else part)
        if name is not None:
            own = f"{function.own_name}.{name}"
            yield Said(own, None, holds is none[1]) if none is not None else Said(own, True, holds)


@question("asked of own", ())
def _asked(project: Project, function: Function) -> tuple[str, ...]:
    """The attributes of its own object that conditions of a method ask for."""
    tests = (node.test for node in function.flow.nodes if isinstance(node, ast.If))
    found = {one.name for test in tests for true in (True, False) for one in _said_by(function, test, true)}
    return tuple(sorted(name.partition(".")[2] for name in found))


@question("kept of making", None)
def _kept(project: Project, maker: Function, made: ast.Call, klass: Class, name: str) -> Said | None:
    """The None or boolean that an attribute is on the object which a call makes, as long as that lasts; None where it may be another thing."""
    init = project.method(klass, "__init__")
    stores = [store for one in project.ancestry(klass) for store in project.attribute_stores(one, name)]
    given = [syntax.given_to_target(init.flow, target) for method, target in stores if method is init] if init else []
    parameter = given[0] if len(given) == 1 else None
    if init is None or not isinstance(parameter, ast.Name) or parameter.id in init.flow.stores or spreads(made):
        return None
    node = init.argument(made, parameter.id) or init.defaults.get(parameter.id)
    if not isinstance(node, ast.Constant) or not isinstance(node.value, bool | None):
        return None
    others = dict.fromkeys(method for method, _ in stores if method is not init)
    if any(_may_run_on(project, method, made) for method in others):
        return None
    is_set = regex(_SET.replace(b"NAME", as_bytes(name)))
    return None if project.holds(maker.module.path, is_set) else Said(name, node.value, True)


def _may_run_on(project: Project, method: Function, made: ast.Call) -> bool:
    """Whether a method may be called on the object that a call makes: of another one it is known which call made it."""
    sites = project.call_sites(method, MAX_SITES)
    return sites is None or not all(_is_of_another(project, site, made) for site in sites)


def _is_of_another(project: Project, site: CallSite, made: ast.Call) -> bool:
    callee = site.call.func
    made_by = project.value(site.function, callee.value).made_by if isinstance(callee, ast.Attribute) else None
    return made_by is not None and made_by is not made
