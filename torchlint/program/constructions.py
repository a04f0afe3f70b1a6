"""Who makes objects of a class without calling its own name: constructors of subclasses, tables of classes (`MODELS[name](config)`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Protocol

from ..facts import names
from ..facts.module import Class, Function, Module
from ..facts.nearby import nodes_on
from ..facts.syntax import is_super
from ..facts.values import Value
from ..system.stamp import as_bytes
from ..text.source import Source

MOST = 8
"""So many subclasses, tables, or functions that use one, are looked at."""
Call = tuple[Function, ast.Call]
_NAME = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_." + bytes(range(128, 256))
_ATTACHED = frozenset(bytes((byte,)) for byte in (*_NAME, *b"(["))
"""What stands behind a name that is part of another, or that something is read of."""
_NEAR = 200
"""So many bytes in front of a name are looked at for what it stands behind."""


class Code(Protocol):
    """What is asked of the project."""

    def subclasses(self, klass: Class) -> list[Class]: ...
    def bases(self, klass: Class) -> list[Class]: ...
    def method(self, klass: Class, name: str) -> Function | None: ...
    def value(self, function: Function, node: ast.expr) -> Value: ...
    def named_by(self, module: Module, name: str) -> list[str]: ...
    def source(self, path: str) -> Source | None: ...
    def module(self, path: str) -> Module | None: ...
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
            module = function.module
            others = code.named_by(module, table)[: MOST - 1] if function is module.body else []
            users = [module, *filter(None, map(code.module, others))] if function is module.body else []
            scopes = [user for one in users for user in one.functions_at(one.lines_holding(table))] or [function]
            for user in scopes[:MOST]:
                for call in user.flow.calls:
                    if isinstance(call.func, ast.Name | ast.Subscript) and _may_be(code.value(user, call.func), klass):
                        yield user, call


def _lines_of_values(source: Source, word: bytes) -> list[int]:
    return [source.position(offset)[0] for offset in _among_values(source.data, word)]


def _tables(code: Code, path: str, klass: Class) -> Iterator[tuple[Function, str]]:
    """The dictionaries of a file that have the class among their values, by the names that they are assigned to."""
    source = code.source(path)
    word = as_bytes(klass.name)
    told = f"values {klass.name}"
    lines = source.told_lines(told, lambda one: _lines_of_values(one, word)) if source is not None else []
    module = code.module(path) if lines else None
    if module is None:
        return
    for function, numbers in module.functions_at(lines).items():
        for node, parent in nodes_on(function, numbers):
            if not (isinstance(node, ast.Dict) and isinstance(parent, ast.Assign) and len(parent.targets) == 1):
                continue
            target = parent.targets[0]
            held = (value for value in node.values if names.last(value) == klass.name)
            if isinstance(target, ast.Name) and any(code.value(function, value).class_ is klass for value in held):
                yield function, target.id


def _among_values(data: bytes, name: bytes) -> Iterator[int]:
    """Where a name may be a value of a dictionary, as far as the text tells: behind a colon, or first on its line."""
    place = data.find(name)
    while place >= 0:
        end = place + len(name)
        if data[end : end + 1] not in _ATTACHED:
            before = data[max(place - _NEAR, 0) : place].rstrip(_NAME).rstrip(b" \t(\\")
            if not before or before.endswith((b":", b"\n", b"\r")):
                yield place
        place = data.find(name, end)


def _may_be(value: Value, klass: Class) -> bool:
    return value.kind == "class" and value.class_ is not klass and klass in value.classes
