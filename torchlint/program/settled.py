"""Conditions on options that the program never changes: all of its calls give a parameter the same constant, or leave it alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts.module import Class, Function
from .project import MAX_SITES, Project


def truth(project: Project, function: Function, test: ast.expr) -> bool | None:
    """Whether a condition holds on all calls of the program; None where that is open."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(project, function, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.Or)  # one that holds is enough for `or`, one that does not for `and`
        found = [truth(project, function, part) for part in test.values]
        return decisive if decisive in found else None if None in found else not decisive
    if isinstance(test, ast.Compare):
        return _compared(project, function, test)
    given = _constant(project, function, test)
    return bool(given.value) if given is not None and isinstance(given.value, bool) else None


def _compared(project: Project, function: Function, test: ast.Compare) -> bool | None:
    """`reduction == "mean"`, of one word with another."""
    if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq | ast.NotEq):
        return None
    other = test.comparators[0]
    if not isinstance(other, ast.Constant) or not isinstance(other.value, str):
        return None
    given = _constant(project, function, test.left)
    if given is None or not isinstance(given.value, str):
        return None
    return (given.value == other.value) == isinstance(test.ops[0], ast.Eq)


def _constant(project: Project, function: Function, node: ast.expr) -> ast.Constant | None:
    """What a parameter, or an attribute that the constructor keeps one in, always is."""
    if isinstance(node, ast.Name):
        return _parameter(project, function, node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and function.cls is not None:
        first = function.parameters[0].arg if function.is_method and function.parameters else ""
        return _attribute(project, function.cls, node.attr) if node.value.id == first else None
    return None


def _parameter(project: Project, function: Function, name: str) -> ast.Constant | None:
    """What all calls outside of tests give for a parameter, one of two words or booleans that stand there."""
    default = function.defaults.get(name)
    if not isinstance(default, ast.Constant) or not isinstance(default.value, bool | str):
        return None
    if name in function.flow.stores:
        return None
    return _given(project, function, name, default)


def _given(project: Project, function: Function, name: str, default: ast.Constant) -> ast.Constant | None:
    sites = project.call_sites(function, MAX_SITES)
    found: dict[object, ast.Constant] = {}
    for site in sites or ():
        if project.in_test(site.function.module.path, site.function.name):
            continue
        call = site.given or site.call
        node = function.argument(call, name)
        if node is None:
            if any(keyword.arg is None for keyword in call.keywords) or any(
                isinstance(given, ast.Starred) for given in call.args
            ):
                return None
            node = default
        if not isinstance(node, ast.Constant):
            return None
        found[node.value] = node
    return next(iter(found.values())) if len(found) == 1 else None


def _attribute(project: Project, klass: Class, attr: str) -> ast.Constant | None:
    """What an attribute is that the constructor alone sets, to one of its parameters."""
    init = klass.methods.get("__init__")
    if init is None or not init.parameters or project.heirs(klass.name):
        return None
    kept = [name for method in klass.methods.values() for name in _stored(method, attr)]
    if len(kept) != 1 or kept[0] is None or not isinstance(kept[0], ast.Name):
        return None
    if [kept[0]] != list(_stored(init, attr)):
        return None
    return _parameter(project, init, kept[0].id)


def _stored(method: Function, attr: str) -> Iterator[ast.expr | None]:
    """What a method writes to an attribute of its object; None where that is not told."""
    first = method.parameters[0].arg if method.parameters else ""
    for target in method.flow.targets.get(f"{first}.{attr}", ()):
        parent: ast.AST | None = method.flow.parents.get(target)
        if isinstance(parent, ast.Tuple):
            statement = method.flow.parents.get(parent)
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple):
                yield (
                    statement.value.elts[parent.elts.index(target)]
                    if len(statement.value.elts) == len(parent.elts)
                    else None
                )
                continue
        yield parent.value if isinstance(parent, ast.Assign) else None
