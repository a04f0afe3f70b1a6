"""Who makes objects of a class without calling its own name: constructors of subclasses, tables of classes (`MODELS[name](config)`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Protocol

from ..facts import names
from ..facts.module import Class, Function, Module
from ..facts.nearby import nodes_on
from ..facts.values import Value

MOST = 8
"""So many subclasses, tables, or functions that use one, are looked at."""
Call = tuple[Function, ast.Call]


class Code(Protocol):
    """What is asked of the project."""

    def subclasses(self, klass: Class) -> list[Class]: ...
    def bases(self, klass: Class) -> list[Class]: ...
    def method(self, klass: Class, name: str) -> Function | None: ...
    def value(self, function: Function, node: ast.expr) -> Value: ...
    def named_by(self, module: Module, name: str) -> list[Module]: ...
    def constructed(self, klass: Class, init: Function) -> list[Call]: ...


def constructions(code: Code, init: Function) -> Iterator[Call]:
    """The calls that run a constructor besides those of its class by name."""
    klass = init.cls
    if klass is None:
        return
    yield from _from_tables(code, klass)
    for heir in code.subclasses(klass)[:MOST]:
        if not any(code.method(base, "__init__") is init for base in code.bases(heir)):
            continue
        own = heir.methods.get("__init__")
        if own is not None:
            yield from ((own, call) for call in own.flow.calls_named("__init__") if _is_super(call))
        else:
            yield from code.constructed(heir, init)
            yield from _from_tables(code, heir)


def _is_super(call: ast.Call) -> bool:
    """`super().__init__(...)`"""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(owner, ast.Call) and names.last(owner.func) == "super"


def _from_tables(code: Code, klass: Class) -> Iterator[Call]:
    """Calls of what is looked up in a dictionary that holds the class."""
    for module in [klass.module, *code.named_by(klass.module, klass.name)][:MOST]:
        for function, table in _tables(code, module, klass):
            users = [module, *code.named_by(module, table)][:MOST] if function is module.body else []
            scopes = [user for one in users for user in one.functions_at(one.lines_holding(table))] or [function]
            for user in scopes[:MOST]:
                for call in user.flow.calls:
                    if isinstance(call.func, ast.Name | ast.Subscript) and _may_be(code.value(user, call.func), klass):
                        yield user, call


def _tables(code: Code, module: Module, klass: Class) -> Iterator[tuple[Function, str]]:
    """The dictionaries of a file that have the class among their values, by the names that they are assigned to."""
    for function, lines in module.functions_at(module.lines_holding(klass.name)).items():
        for node, parent in nodes_on(function, lines):
            if not (isinstance(node, ast.Dict) and isinstance(parent, ast.Assign) and len(parent.targets) == 1):
                continue
            target = parent.targets[0]
            held = (value for value in node.values if names.last(value) == klass.name)
            if isinstance(target, ast.Name) and any(code.value(function, value).klass is klass for value in held):
                yield function, target.id


def _may_be(value: Value, klass: Class) -> bool:
    return value.kind == "class" and value.klass is not klass and klass in value.either
