"""What is put into tables of functions away from where they are read: `_LOSSES[name] = fn` of a decorator, `self._hooks[event].append(fn)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ..facts import names
from ..facts.flow import Flow
from ..facts.module import Class, Function, Module
from ..facts.nearby import nodes_on
from ..facts.nodes import callee, string
from ..facts.values import ClassValue, Dict, FunctionValue, List, Value, join_all, replace
from ..query.question import question
from ..system.regex import regex
from ..system.stamp import as_bytes
from . import handed
from .calling import CallSite
from .texts import MAX_SITES

_ADDS = frozenset(("append", "add", "appendleft", "insert"))
CHOOSES = frozenset(("get", "pop"))
"""The methods that look one value of a dictionary up."""
_READ: frozenset[type[ast.AST]] = frozenset((ast.Name, ast.Attribute))
CALLABLE = frozenset(("function", "class", "module", "instance"))
"""The kinds of value that a program calls."""
_FILLS = regex(rb"\.(?:append|add|appendleft|insert|setdefault)\(|\][ \t]*=[^=]")
"""What a file holds that puts something into a table."""
MOST = 40
"""A table of more stands for too much: nothing is told of it."""
Owner: TypeAlias = Class | Function
"""Whose table it is: that of a class, or of a file (by the function that is its body)."""
Table: TypeAlias = tuple[Owner, str]
"""Whose it is, and its name."""


class Code(handed.Code, Protocol):
    """What is asked of the project."""

    def call_sites(self, function: Function, most: int = ...) -> list[CallSite] | None: ...
    def definition(self, name: str, near: Module) -> Function | Class | Module | None: ...
    def holders(self, pattern: bytes, *, word: bytes = b"") -> frozenset[str]: ...
    def is_tested(self, function: Function) -> bool: ...


class _Put(NamedTuple):
    """A place that puts something into a table, under keys, the outermost first."""

    function: Function
    what: ast.expr
    keys: tuple[ast.expr, ...]
    appended: bool
    """Whether it is added to a list there."""


class _Given(NamedTuple):
    """A value that is put into a table, with its keys as far as they are words."""

    value: Value
    keys: tuple[str | None, ...]
    appended: bool


class _Use(NamedTuple):
    """A call that registers something: of `on`, whose arguments may be keys, and of what is registered."""

    function: Function
    call: ast.Call | None
    value: Value
    name: str


def with_put(code: Code, owner: Owner, name: str, begun: Value) -> Value:
    """A table that begins empty, or as lists that are, with the functions, objects and classes that are put into it elsewhere."""
    if not _begins_empty(begun) or not owner.module.source.holds(_FILLS):
        return begun
    put = _put(code, owner, name)
    return _filled(begun, put) if put else begun


def _begins_empty(value: Value) -> bool:
    if value.kind == "list":
        return value.element is None and not value.items
    held = [*(value.entries or {}).values(), value.element] if value.kind == "dict" else [value]
    return all(one is None or (one is not value and _begins_empty(one)) for one in held)


def _filled(begun: Value, put: Sequence[_Given]) -> Value:
    """A value with what is put below it, whose keys are those that are left."""
    here = [one for one in put if not one.keys]
    below = [one for one in put if one.keys]
    if not below:
        each = join_all([one.value for one in here])
        return List(element=each) if any(one.appended for one in here) else each
    words = list(dict.fromkeys(one.keys[0] for one in below))
    entries = dict(begun.entries or {}) if begun.kind == "dict" else {}
    for word in words:
        if word is not None:
            inner = [one._replace(keys=one.keys[1:]) for one in below if one.keys[0] == word]
            entries[word] = _filled(entries.get(word, Dict()), inner)
    element = None
    if None in words:  # under a key that nobody knows may stand what stands under one that is known
        element = _filled(Dict(), [one._replace(keys=one.keys[1:]) for one in below])
    if begun.kind == "list":
        return replace(begun, element=element)
    return replace(begun, entries=None if element is not None else entries, element=element)


@question("put into table", [])
def _put(code: Code, owner: Owner, name: str) -> list[_Given]:
    """All that is put into a table; nothing where that is not all known, or something else than functions, objects and classes."""
    found: list[_Given] = []
    for put in _puts(code, owner, name):
        given = list(_given(code, put))
        if not given or not all(one.value.kind in CALLABLE for one in given):
            return []
        found += given
    if len(found) > MOST or (any(one.keys for one in found) and not _is_one(code, owner)):
        return []
    return found


def _is_one(code: Code, owner: Owner) -> bool:
    """Whether there is but one table: of a file, or of a class of which the program makes one object."""
    init = code.method(owner, "__init__") if isinstance(owner, Class) else None
    made = code.constructed(init.cls, init) if init is not None and init.cls is not None else []
    return len([function for function, _ in made if not code.is_tested(function)]) <= 1


def _puts(code: Code, owner: Owner, name: str) -> Iterator[_Put]:
    """Where something is put into a table: the body of its own file is known without."""
    for function, node in _naming(code, owner, name):
        put = _put_at(function, node) if owner_of(code, function, node) == owner else None
        if put is not None and function is not owner:
            yield put


def _naming(code: Code, owner: Owner, name: str) -> Iterator[tuple[Function, ast.expr]]:
    """Where a table is named that may be one: in the file that it stands in, and in those that import its name."""
    module = owner.module
    others = [] if isinstance(owner, Class) else code.named_by(module, name)
    for path in (module.path, *(others if len(others) <= MAX_SITES else ())):
        near = module if path == module.path else code.module_for_name(path, name)
        for function, lines in near.functions_at(near.lines_holding(name)).items() if near is not None else ():
            for node, _ in nodes_on(function, lines, _READ):
                if isinstance(node, ast.Name | ast.Attribute) and names.last(node) == name:
                    yield function, node


def owner_of(code: Code, function: Function, node: ast.expr) -> Owner | None:
    """Whose table an expression names: a class's, where it is an attribute of its objects, a file's, or nobody's that is known."""
    if isinstance(node, ast.Name) and (body := _file_of(function, node.id)) is not None:
        return body
    imported, _, name = (code.resolve(function, node) or "").rpartition(".")
    module = code.definition(imported, function.module) if imported else None
    if isinstance(module, Module):
        return module.body if name in module.assigned else None
    if not isinstance(node, ast.Attribute):
        return None
    method = _method_around(function)
    own = isinstance(node.value, ast.Name) and method is not None and node.value.id == method.own_name
    klass = method.cls if own and method is not None else code.value(function, node.value).class_
    return klass if klass is not None and (node.attr in klass.stores or node.attr in klass.assigned) else None


def _file_of(function: Function, name: str) -> Function | None:
    """The body of the file that assigns a name which no function around a place binds."""
    scope: Function | None = function
    body = function.module.body
    while scope is not None and scope is not body:
        if scope.binds(name) or name in scope.positions:
            return None
        scope = scope.parent
    return body if name in function.module.assigned else None


def _method_around(function: Function) -> Function | None:
    """The method that a function is, or stands in."""
    scope: Function | None = function
    while scope is not None and scope.cls is None:
        scope = scope.parent
    return scope


def _put_at(function: Function, node: ast.expr) -> _Put | None:
    """What is put there: `table[a][b] = fn`, `table[a].append(fn)`, `table.setdefault(a, []).append(fn)`; None elsewhere."""
    flow, keys, at = function.flow, list[ast.expr](), node
    while True:
        parent = flow.parents.get(at)
        if isinstance(parent, ast.Subscript) and parent.value is at:
            keys.append(parent.slice)
            if isinstance(parent.ctx, ast.Store):
                made = flow.parents.get(parent)
                what = made.value if isinstance(made, ast.Assign) and parent in made.targets else None
                return _Put(function, what, tuple(keys), False) if what is not None else None
            at = parent
        elif isinstance(parent, ast.Attribute) and parent.value is at:
            call = flow.parents.get(parent)
            if not isinstance(call, ast.Call) or call.func is not parent or not call.args:
                return None
            if parent.attr in _ADDS:
                return _Put(function, call.args[-1], tuple(keys), True)
            if parent.attr != "setdefault" or len(call.args) != 2:
                return None
            keys.append(call.args[0])
            if not _begins_list(call.args[1]):
                return _Put(function, call.args[1], tuple(keys), False)
            at = call
        else:
            return None


def _begins_list(node: ast.expr) -> bool:
    """`[]`, `{}`, `list()`"""
    return isinstance(node, ast.List | ast.Dict | ast.Set) or (isinstance(node, ast.Call) and not node.args)


def _given(code: Code, put: _Put) -> Iterator[_Given]:
    """What a place puts into a table, call by call where its function is given that."""
    for part in put.what.elts if isinstance(put.what, ast.Tuple) else [put.what]:
        registering = _registering(put.function, part) if isinstance(part, ast.Name) else None
        if registering is None:
            value = code.value(put.function, part)
            if value.kind in CALLABLE or part is put.what:
                yield _Given(value, tuple(string(key) for key in put.keys), put.appended)
            continue
        taker, on = registering
        for use in _uses(code, taker, on):
            keys = tuple(_word(key, names.last(part), on, use) for key in put.keys)
            yield _Given(use.value, keys, put.appended)


def _registering(function: Function, what: ast.Name) -> tuple[str, Function] | None:
    """The parameter that is registered, "" where it is one of what the function gives, and the function whose calls register: `add` of `add(fn)`, `on` of `on(event)(fn)`."""
    if what.id in function.positions and what.id not in function.flow.stores:
        outer = function.parent
        if outer is not None and outer is not function.module.body and _gives(outer, function):
            return "", outer
        return what.id, function
    inner = _lambda_around(function.flow, what)
    if inner is not None and any(end.value is inner for end in function.flow.returns):
        return "", function
    return None


def _lambda_around(flow: Flow, what: ast.Name) -> ast.Lambda | None:
    """The lambda whose one parameter a name is."""
    for _, node in flow.around(what, through=frozenset()):
        if isinstance(node, ast.Lambda):
            return node if [one.arg for one in node.args.args] == [what.id] else None
    return None


def _gives(outer: Function, inner: Function) -> bool:
    """Whether a function gives one that it defines."""
    ends = [end.value for end in outer.flow.returns]
    return bool(ends) and all(isinstance(end, ast.Name) and outer.nested.get(end.id) is inner for end in ends)


def _word(key: ast.expr, what: str, on: Function, use: _Use) -> str | None:
    """A key, where it is written out, given by the call that registers, or the name of what is registered."""
    match key:
        case ast.BoolOp(op=ast.Or(), values=parts):
            return next((word for part in parts if (word := _word(part, what, on, use)) is not None), None)
        case ast.Attribute(value=ast.Name(id=owner), attr="__name__") if owner == what:
            return use.name
        case ast.Name(id=name) if name in on.positions:
            given = on.argument(use.call, name) if use.call is not None else None
            return string(given if given is not None else on.defaults.get(name))
    return string(key)


def _uses(code: Code, parameter: str, on: Function) -> Iterator[_Use]:
    """What a function is given to register, by its parameter, or else as the decorator that it gives."""
    for function, decorator, value, name in decorating(code, on):
        if isinstance(decorator, ast.Call) is not bool(parameter):
            yield _Use(function, decorator if isinstance(decorator, ast.Call) else None, value, name)
    for site in code.call_sites(on, MAX_SITES) or ():
        if parameter:
            given = on.argument(site.given or site.call, parameter)
        else:
            around = site.function.flow.parents.get(site.call)
            is_called = isinstance(around, ast.Call) and around.func is site.call and len(around.args) == 1
            given = around.args[0] if isinstance(around, ast.Call) and is_called else None
        if given is not None:
            yield _Use(site.function, site.call, code.value(site.function, given), names.last(given))


@question("decorating", [])
def decorating(code: Code, on: Function) -> list[tuple[Function, ast.expr, Value, str]]:
    """Where a function decorates others: the function around, the decorator, and what it is given, with its name."""
    word = as_bytes(on.name)
    found: list[tuple[Function, ast.expr, Value, str]] = []
    for path in sorted(code.holders(rb"@[\w.]*\b" + word + rb"\b", word=word)):
        module = code.module_for_name(path, on.name)
        defined: list[Function | Class] = [*module.functions, *module.classes] if module is not None else []
        for one in defined:
            for decorator in one.decorators:
                if one.parent is None or names.last(callee(decorator)) != on.name:
                    continue
                if on in _by(code, one.parent, decorator):
                    value = FunctionValue(function=one) if isinstance(one, Function) else ClassValue(class_=one)
                    found.append((one.parent, decorator, value, one.name))
    return found if len(found) <= MOST else []


def holding(code: Code, function: Function) -> list[Table]:
    """The tables that a function is put into: by its decorators, by calls that it is given to, or where it stands."""
    found: dict[Table, None] = {}
    for decorator in function.decorators:
        for on in _by(code, function.parent, decorator):
            found.update(dict.fromkeys(_filled_by(code, on)))
    for place, use in handed.given_on(code, function):
        found.update(dict.fromkeys(_taking(code, place, use)))
    return list(found)


def _by(code: Code, scope: Function | None, decorator: ast.expr) -> list[Function]:
    """What a decorator is, or whose call gives it."""
    if scope is None:
        return []
    if isinstance(decorator, ast.Call):
        return code.targets(scope, decorator)
    if isinstance(decorator, ast.Attribute):
        klass = code.value(scope, decorator.value).class_
        method = code.method(klass, decorator.attr) if klass is not None else None
        return [method] if method is not None else []
    return code.run_by(code.value(scope, decorator))


def _taking(code: Code, place: Function, use: ast.expr) -> Iterator[Table]:
    """The tables that an expression is put into there."""
    taker = place.flow.argument_of(use)
    if isinstance(taker, ast.Call) and taker.func is not use:
        called = taker.func if isinstance(taker.func, ast.Call) else taker
        for on in code.targets(place, called):
            yield from _filled_by(code, on)
    while isinstance(taker, ast.Tuple):
        use, taker = taker, place.flow.parents.get(taker)
    for node in _roots(taker, use):
        owner = owner_of(code, place, node)
        if owner is not None:
            yield owner, names.last(node)


def _roots(taker: ast.AST | None, use: ast.expr) -> Iterator[ast.expr]:
    """The table of `table[key] = use`, and of `table[key].append(use)`."""
    holders: list[ast.expr] = []
    if isinstance(taker, ast.Assign) and taker.value is use:
        holders = [target for target in taker.targets if isinstance(target, ast.Subscript)]
    elif isinstance(taker, ast.Call) and isinstance(taker.func, ast.Attribute) and taker.func.attr in _ADDS:
        holders = [taker.func.value]
    for holder in holders:
        node = holder
        while not isinstance(node, ast.Name | ast.Attribute):
            if isinstance(node, ast.Subscript):
                node = node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault":
                node = node.func.value
            else:
                break
        if isinstance(node, ast.Name | ast.Attribute):
            yield node


@question("filled by", [])
def _filled_by(code: Code, on: Function) -> list[Table]:
    """The tables into which a function puts what its calls, or the decorators that it gives, are given."""
    found: dict[Table, None] = {}
    for function in (on, *on.nested.values()):
        for node in function.flow.nodes if on.module.source.holds(_FILLS) else ():
            if not isinstance(node, ast.Name | ast.Attribute):
                continue
            put = _put_at(function, node)
            parts = [] if put is None else put.what.elts if isinstance(put.what, ast.Tuple) else [put.what]
            taken = (_registering(function, part) for part in parts if isinstance(part, ast.Name))
            owner = owner_of(code, function, node) if any(one is not None and one[1] is on for one in taken) else None
            if owner is not None:
                found[owner, names.last(node)] = None
    return list(found)


def reading(code: Code, owner: Owner, name: str) -> Iterator[tuple[Function, ast.expr]]:
    """Where something is taken out of a table: `table[key]`, `table.get(key)`, `table` of a loop."""
    for function, node in _naming(code, owner, name):
        if _put_at(function, node) is None and owner_of(code, function, node) == owner:
            yield function, _taken(function.flow, node)


def _taken(flow: Flow, node: ast.expr) -> ast.expr:
    """What is taken out of what an expression names, by keys: `table[a].get(b)`."""
    at = node
    while True:
        parent = flow.parents.get(at)
        if isinstance(parent, ast.Subscript) and parent.value is at:
            at = parent
            continue
        call = flow.parents.get(parent) if isinstance(parent, ast.Attribute) and parent.attr in CHOOSES else None
        if not isinstance(call, ast.Call) or call.func is not parent:
            return at
        at = call
