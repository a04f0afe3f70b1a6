"""Conditions on options that the program never changes: all of its calls give a parameter the same constant, or leave it alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts.module import Class, Function
from .project import Project
from .texts import MAX_SITES


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
        asked = _asked_for_none(function, test)
        if asked:
            return isinstance(test.ops[0], ast.IsNot) if _is_always_given(project, function, asked) else None
        return _compared(project, function, test)
    given = _constant(project, function, test)
    return bool(given.value) if given is not None and isinstance(given.value, bool) else None


def _asked_for_none(function: Function, test: ast.Compare) -> str:
    """`mask` of `mask is None`, a parameter that is None by default, where it still is what was given."""
    left, other = test.left, test.comparators[0]
    if not (isinstance(left, ast.Name) and isinstance(other, ast.Constant) and other.value is None):
        return ""
    default = function.defaults.get(left.id)
    if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Is | ast.IsNot) or not isinstance(default, ast.Constant):
        return ""
    written = ast.dump(test)
    repeated = bool(function.flow.loops(test))
    for store in function.flow.stores.get(left.id, ()):
        if not repeated and store.lineno > (test.end_lineno or test.lineno):
            continue
        statement = function.flow.statement(store)
        around = function.flow.parents.get(statement)
        if not isinstance(around, ast.If) or ast.dump(around.test) != written or statement not in around.body:
            return ""
    return left.id if default.value is None else ""


def _is_always_given(project: Project, function: Function, name: str) -> bool:
    """Whether all calls outside of tests give a parameter something that is not None."""
    found = False
    for site in project.call_sites(function, MAX_SITES) or ():
        if project.in_test(site.function.module.path, site.function.name):
            continue
        node = function.argument(site.given or site.call, name)
        if node is None or not _is_something(project, site.function, node):
            return False
        found = True
    return found


def _is_something(project: Project, function: Function, node: ast.expr) -> bool:
    """Whether an expression is not None: a value that is known, or one of several that a call gives."""
    if isinstance(node, ast.Attribute):
        return False
    default = function.defaults.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(default, ast.Constant) and default.value is None:
        return False  # an annotation says nothing of that: `order: tuple = None`
    value = project.value(function, node)
    if value:
        return value.kind != "none" and "none" not in value.other_kinds
    stores = function.flow.stores.get(node.id, ()) if isinstance(node, ast.Name) else ()
    return bool(stores) and all(_is_unpacked(function, store) for store in stores)


def _is_unpacked(function: Function, store: ast.AST) -> bool:
    """`a, b = f(x)`"""
    statement = function.flow.statement(store)
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and isinstance(function.flow.parents.get(store), ast.Tuple)
    )


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
    if [method for method, _ in project.attribute_stores(klass, attr)] != [init]:
        return None
    kept = project.ask(("stored once", klass, attr), lambda: _stored_once(klass, attr), None)
    if not isinstance(kept, ast.Name) or [kept] != list(_stored(init, attr)):
        return None
    return _parameter(project, init, kept.id)


def _stored_once(klass: Class, attr: str) -> ast.expr | None:
    """What the methods of a class write to an attribute; None where they do so in more places, or it is not told."""
    kept = [written for method in klass.methods.values() for written in _stored(method, attr)]
    return kept[0] if len(kept) == 1 else None


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
