"""Who makes objects of a class without calling its own name: constructors of subclasses, tables of classes (`MODELS[name](config)`)."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from ..facts import names
from ..facts.module import Class, Function, Module
from ..facts.nearby import nodes_on
from ..facts.syntax import is_super
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
    def named_by(self, module: Module, name: str) -> list[str]: ...
    def listing(self, path: str, name: str) -> Mapping[Function, Collection[int]]: ...
    def module_for_name(self, path: str, name: str) -> Module | None: ...
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


def knows_heirs(code: Code, init: Function) -> bool:
    """Whether all subclasses that run a constructor are looked at, and run it as `super().__init__(...)`."""
    heirs = code.subclasses(init.cls) if init.cls is not None else []
    own = [found for heir in heirs if (found := heir.methods.get("__init__")) is not None]
    return 0 < len(heirs) <= MOST and all(any(map(_is_super, one.flow.calls_named("__init__"))) for one in own)


def _is_super(call: ast.Call) -> bool:
    """`super().__init__(...)`"""
    return isinstance(call.func, ast.Attribute) and is_super(call.func.value)


def _from_tables(code: Code, klass: Class) -> Iterator[Call]:
    """Calls of what is looked up in a dictionary that holds the class."""
    for path in [klass.module.path, *code.named_by(klass.module, klass.name)][:MOST]:
        for function, table in _tables(code, path, klass):
            module, is_everyones = function.module, function is function.module.body
            paths = [path, *code.named_by(module, table)[: MOST - 1]] if is_everyones else []
            users = filter(None, (code.module_for_name(one, table) for one in paths))
            scopes = [user for one in users for user in one.functions_at(one.lines_holding(table))] or [function]
            for user in scopes[:MOST]:
                for call in user.flow.calls:
                    if isinstance(call.func, ast.Name | ast.Subscript) and _may_be(code.value(user, call.func), klass):
                        yield user, call


def _tables(code: Code, path: str, klass: Class) -> Iterator[tuple[Function, str]]:
    """The dictionaries of a file that have the class among their values, by the names that they are assigned to."""
    for function, numbers in code.listing(path, klass.name).items():
        for node, parent in nodes_on(function, numbers):
            if not (isinstance(node, ast.Dict) and isinstance(parent, ast.Assign) and len(parent.targets) == 1):
                continue
            target = parent.targets[0]
            held = (value for value in node.values if names.last(value) == klass.name)
            if isinstance(target, ast.Name) and any(code.value(function, value).class_ is klass for value in held):
                yield function, target.id


def _may_be(value: Value, klass: Class) -> bool:
    return value.kind == "class" and value.class_ is not klass and klass in value.classes
