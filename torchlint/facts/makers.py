"""What is called makes one kind of objects, whatever way the program takes: `norm_layer(64)`, where that is handed on as a class."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from .bindings import Assigned, Before, Binding, Defined, Joined, Part, Reach
from .module import Class, Function, key_of
from .names import last
from .nodes import none_test, spreads, without_not
from .syntax import given_to_target, own_attribute, scope_of
from .values import Value

_MOST = 40
"""Of more callers none is asked."""
_STEPS = 400
"""What leads further is not known: two calls of each function in a chain of twenty are a million ways."""
_PUTS = rb"""\b%s(?:\[[^\]\n]*\][^\S\n]*=(?!=)|[^\S\n]*\|=|\.(?:update|setdefault|pop)\()"""
"""What puts something into a dictionary, or takes it out."""
Outcome = Iterator[bool | None]
"""For each way: True for a maker of that kind, None for None, False for anything else."""


class CallSite(Protocol):
    """A call, and the function it stands in."""

    @property
    def function(self) -> Function: ...
    @property
    def call(self) -> ast.Call: ...
    @property
    def given(self) -> ast.Call | None: ...


class Code(Protocol):
    """What is asked of the project."""

    def value(self, function: Function, node: ast.expr) -> Value: ...
    def resolve(self, function: Function, node: ast.expr) -> str | None: ...
    def targets(self, function: Function, call: ast.Call) -> list[Function]: ...
    def heirs(self, name: str) -> list[tuple[str, str]]: ...
    def subclasses(self, klass: Class) -> list[Class]: ...
    def any_holds(self, pattern: bytes, places: str = "", *, word: bytes = b"") -> bool: ...
    def all_runs_of(self, function: Function, most: int) -> Sequence[CallSite] | None: ...


def is_chosen(function: Function, maker: ast.expr) -> bool:
    """Whether a function has what it calls from somewhere: a name of its own or of one around it, what its object keeps, what a table holds."""
    if isinstance(maker, ast.Subscript):
        return True
    kept = own_attribute(function, maker)
    if kept is not None:
        return function.cls is not None and kept in function.cls.stores
    return isinstance(maker, ast.Name) and scope_of(function, maker.id) is not function.module.body


class Makers:
    """What makes objects of one kind alone, when it is called: on all paths, by all callers, and by the defaults of parameters."""

    def __init__(self, code: Code, accepts: Callable[[Value], bool]) -> None:
        """`accepts` tells of a value that it is such a maker."""
        self._code = code
        self._accepts = accepts
        self._open: set[tuple[Function, str]] = set()
        """What is being asked: a function that hands on to itself what it got adds nothing."""
        self._steps = 0

    def holds(self, function: Function, maker: ast.expr) -> bool:
        """Whether an expression that is called is one."""
        self._open.clear()
        self._steps = 0
        is_any = False
        for one in self._ways(function, maker, function.bindings.reach):
            if one is not True:
                return False
            is_any = True
        return is_any

    def _once(self, function: Function, what: str, ways: Outcome) -> Outcome:
        """The ways of something that a function is given, keeps or returns; none where they lead back to it."""
        key = (function, what)
        self._steps += 1
        if self._steps > _STEPS:
            yield False
        elif key not in self._open:
            self._open.add(key)
            yield from ways
            self._open.discard(key)

    def _ways(self, function: Function, node: ast.expr, reach: Reach) -> Outcome:
        match node:
            case ast.Constant(value=None):
                yield None
            case ast.IfExp():
                for part, true in ((node.body, True), (node.orelse, False)):
                    found = self._ways(function, part, reach)
                    yield from _not_none(found) if _is_there(node.test, true, part) else found
            case ast.BoolOp(op=ast.Or(), values=[*first, last]):
                for part in first:
                    yield from _not_none(self._ways(function, part, reach))
                yield from self._ways(function, last, reach)
            case ast.Lambda(body=ast.Call(func=made)):
                yield from self._ways(function, made, reach)
            case ast.Call():
                yield from self._returned(function, node, reach)
            case ast.Name() | ast.Attribute():
                yield from self._named(function, node, reach)
            case ast.Subscript():
                yield self._accepts(self._code.value(function, node)) and self._is_closed(node.value)
            case _:
                yield False

    def _is_closed(self, table: ast.expr) -> bool:
        """Whether a dictionary holds what it was written with: no line of the program puts more into one of that name."""
        name = last(table).encode()
        return isinstance(table, ast.Dict) or (bool(name) and not self._code.any_holds(_PUTS % name, word=name))

    def _named(self, function: Function, node: ast.Name | ast.Attribute, reach: Reach) -> Outcome:
        binding = reach.get(node)
        kept = own_attribute(function, node)
        if isinstance(binding, Defined):
            yield self._accepts(self._code.value(function, node))
        elif binding is not None:
            yield from self._bound(function, binding)
        elif kept is not None:
            yield from self._kept(function, kept)
        elif isinstance(node, ast.Name) and (scope := scope_of(function, node.id)) is not function.module.body:
            is_given = node.id in scope.positions and (scope is function or node.id not in scope.flow.stores)
            yield from self._once(scope, node.id, self._passed(scope, node.id)) if is_given else (False,)
        else:
            yield self._accepts(self._code.value(function, node))

    def _bound(self, function: Function, binding: Binding) -> Outcome:
        match binding:
            case Assigned():
                yield from self._ways(function, binding.node, binding.reach)
            case Part(whole=Assigned(node=ast.Tuple(elts=parts)) as whole) if len(parts) == binding.count:
                yield from self._ways(function, parts[binding.at], whole.reach)
            case Joined():
                for one, other in ((binding.one, binding.other), (binding.other, binding.one)):
                    found = self._bound(function, one)
                    yield from _not_none(found) if _is_in_its_place(function, one, other) else found
            case Before():
                yield from self._named(function, binding.node, {})
            case _:
                yield False

    def _passed(self, function: Function, name: str) -> Outcome:
        """What all calls of a function give for a parameter, or its default for those that give none."""
        for site in self._code.all_runs_of(function, _MOST) or (None,):
            call = (site.given or site.call) if site is not None else None
            given = function.argument(call, name) if call is not None else None
            default = function.defaults.get(name)
            if site is not None and given is not None:
                yield from self._ways(site.function, given, site.function.bindings.reach)
            elif call is None or spreads(call) or default is None:
                yield False
            else:
                yield from self._ways(function, default, function.bindings.reach)

    def _returned(self, function: Function, call: ast.Call, reach: Reach) -> Outcome:
        """What a call gives: `partial(nn.BatchNorm2d, affine=True)`, or a function of the project on all its paths."""
        if self._code.resolve(function, call.func) == "functools.partial" and call.args:
            yield from self._ways(function, call.args[0], reach)
            return
        targets = self._code.targets(function, call)
        factory = targets[0] if len(targets) == 1 and targets[0].cls is None else None
        if factory is None or not isinstance(factory.node, ast.FunctionDef) or factory.is_replaced:
            yield False
            return
        yield from self._once(factory, "", self._results(factory))

    def _results(self, factory: Function) -> Outcome:
        yield from (False for _ in factory.bindings.yielded)
        for returned in factory.bindings.returned:
            yield from self._bound(factory, returned) if returned is not None else (None,)
        if factory.bindings.reaches_end:
            yield None

    def _kept(self, function: Function, name: str) -> Outcome:
        """What the constructor keeps as an attribute, where nobody else sets it."""
        klass = function.cls
        stores = klass.stores.get(name, []) if klass is not None else []
        if klass is None or len(stores) != 1 or self._is_set_by_heirs(klass, name):
            yield False
            return
        method, target = stores[0]
        given = given_to_target(method.flow, target) if method.name == "__init__" else None
        if given is None or (method, f".{name}") in self._open:
            yield False  # what it is before that, perhaps in the class
        else:
            yield from self._once(method, f".{name}", self._ways(method, given, method.bindings.reach))

    def _is_set_by_heirs(self, klass: Class, name: str) -> bool:
        """Whether a subclass may set an attribute: of too many, none is looked at."""
        heirs = self._code.subclasses(klass)
        return any(name in heir.stores for heir in heirs) if heirs else bool(self._code.heirs(klass.name))


def _not_none(found: Outcome) -> Outcome:
    return (one for one in found if one is not None)


def _is_there(test: ast.expr, true: bool, node: ast.expr) -> bool:
    """Whether something is not None where a test is true, or false: `x is not None`, `x`."""
    test, true = without_not(test, true)
    tested = none_test(test)
    asked, there = (tested[0], not tested[1]) if tested is not None else (test, True)
    key = key_of(node)
    return key is not None and key_of(asked) == key and there is true


def _is_in_its_place(function: Function, before: Binding, instead: Binding) -> bool:
    """Whether a parameter gets something else right where it is None: `if norm is None: norm = nn.BatchNorm2d`."""
    if not isinstance(before, Before) or not isinstance(instead, Assigned):
        return False
    statement = function.flow.parents.get(instead.node)
    test = function.flow.parents.get(statement) if isinstance(statement, ast.Assign) else None
    return isinstance(test, ast.If) and _is_there(test.test, statement not in test.body, before.node)
