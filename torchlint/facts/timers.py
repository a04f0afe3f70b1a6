"""What timers of the project time: blocks behind `with`, functions that they decorate, what stands between two of their methods."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from . import clocks, names, syntax
from .flow import Loop, contains
from .module import Class, Function, Module
from .place import Place

_MOST = 40
"""How many uses of a timer are looked at."""


class Timed(NamedTuple):
    """What runs, in some function, between the reads of a clock that a timer does."""

    function: Function
    first: int
    """The first line of it."""
    last: int
    calls: list[ast.Call]
    """The calls in it, in source order."""


def timed(place: Place, end: ast.Call) -> Iterator[Timed]:
    """What the timer times that the place is a part of, by its second read of the clock."""
    return itertools.islice(_timed(place, end), _MOST)


def _timed(place: Place, end: ast.Call) -> Iterator[Timed]:
    function = place.function
    if not function.decorator_names.isdisjoint(("contextmanager", "asynccontextmanager")):
        between = clocks.span(function, end, place.resolve)
        if between is not None and not _may_wait(place, between.calls()) and _yields_in(between):
            for site in place.callers(function):
                yield from _behind_with(site.function, site.call)
    elif (inner := _wrapped(place, end)) is not None:
        for function in _decorated(place, inner):
            yield Timed(function, function.header_line, _end(function), function.flow.calls)
    elif function.cls is not None and (starting := _starting(place, function.cls, end)) is not None:
        before = [one for one in function.flow.calls if one is not end and one.lineno <= end.lineno]
        if not _may_wait(place, before):
            yield from _of_object(place, function.cls, starting)


def _may_wait(place: Place, calls: Iterator[ast.Call] | list[ast.Call]) -> bool:
    targets = place.project.targets
    return any(clocks.may_wait(place.function, call, place.resolve(call.func), targets) for call in calls)


def _yields_in(span: clocks.Span) -> bool:
    """Whether the block of a `with` runs in it, and none of a loop."""
    flow = span.function.flow
    between = [node for node in flow.nodes if isinstance(node, ast.Yield)]
    return len(between) == 1 and span.start.lineno < between[0].lineno <= span.end.lineno and not flow.loops(between[0])


def _behind_with(function: Function, made: ast.expr) -> Iterator[Timed]:
    """The block of `with timer():`"""
    item = function.flow.parents.get(made)
    block = function.flow.parents.get(item) if isinstance(item, ast.withitem) else None
    if isinstance(block, ast.With):
        calls = [one for one in function.flow.calls_within(block) if any(contains(part, one) for part in block.body)]
        last = block.body[-1]
        yield Timed(function, block.body[0].lineno, last.end_lineno or last.lineno, calls)


def _wrapped(place: Place, end: ast.Call) -> Function | None:
    """The function around that is given another one, which is called between the reads: `out = fn(*args)`."""
    around = place.function.parent
    if around is None or isinstance(around.node, ast.Module):
        return None
    between = clocks.span(place.function, end, place.resolve)
    calls = list(between.calls()) if between is not None else []
    given = [
        one
        for one in calls
        if isinstance(one.func, ast.Name) and one.func.id in around.positions and not place.function.binds(one.func.id)
    ]
    if len(given) != 1 or place.flow.loops(given[0]):
        return None
    return None if _may_wait(place, [one for one in calls if one is not given[0]]) else around


def _decorated(place: Place, decorator: Function) -> Iterator[Function]:
    """The functions that a decorator goes around: under `@timed`, and under `@timed("name")` of a function that gives one."""
    factory = decorator.parent
    whole = factory if factory is not None and not isinstance(factory.node, ast.Module) else None
    named = whole or decorator
    for module in _users(place, named.module, named.name):
        for function in module.functions:
            for one in function.decorators:
                by_call = isinstance(one, ast.Call)
                name = one.func if isinstance(one, ast.Call) else one
                if by_call is not (whole is not None) or names.last(name) != named.name or function.parent is None:
                    continue
                if place.project.value(function.parent, name).function is named and not _gives_later(function):
                    yield function


def run_by(place: Place, given: ast.expr) -> Timed | None:
    """What is run of a function, or of a lambda, that something is given to call; None where that is not known."""
    if isinstance(given, ast.Lambda):
        calls = [call for call in place.flow.calls_within(given) if contains(given, call)]
        return Timed(place.function, given.lineno, given.end_lineno or given.lineno, calls)
    value = place.value(given)
    function = value.function if value.kind == "function" else None
    if function is None or _gives_later(function):
        return None
    return Timed(function, function.header_line, _end(function), function.flow.calls)


def _gives_later(function: Function) -> bool:
    """Whether a call of a function runs none of it yet: a generator, a coroutine."""
    return isinstance(function.node, ast.AsyncFunctionDef) or bool(function.yields)


def _end(function: Function) -> int:
    return getattr(function.node, "end_lineno", None) or function.header_line


def _starting(place: Place, klass: Class, end: ast.Call) -> frozenset[str] | None:
    """The methods that read the clock for an attribute which a read is subtracted from: `clock() - self.start`."""
    attribute = _subtracted(place.function, end)
    stores = klass.stores.get(attribute, ()) if attribute is not None else ()
    read = [
        method.name
        for method, target in stores
        if isinstance(made := syntax.given_to_target(method.flow, target), ast.Call)
        and place.project.resolve(method, made.func) in clocks.CLOCKS
    ]
    return None if not read or place.function.name in read else frozenset(read)


def _subtracted(function: Function, end: ast.Call) -> str | None:
    """The `start` of `clock() - self.start`, or of `stop - self.start` where the read is assigned to `stop` or `self.stop`."""
    flow = function.flow
    parent = flow.parents.get(end)
    if isinstance(parent, ast.BinOp):
        return syntax.own_attribute(function, _right(parent, lambda left: left is end))
    target = syntax.target(flow, end)
    if target is None:
        return None
    stop = names.chain(target)
    differences = (node for node in flow.nodes if isinstance(node, ast.BinOp) and node.lineno >= end.lineno)
    rights = (_right(node, lambda left: stop is not None and names.chain(left) == stop) for node in differences)
    return next((name for right in rights if (name := syntax.own_attribute(function, right)) is not None), None)


def _right(node: ast.BinOp, is_left: Callable[[ast.expr], bool]) -> ast.expr | None:
    return node.right if isinstance(node.op, ast.Sub) and is_left(node.left) else None


def _of_object(place: Place, klass: Class, starting: frozenset[str]) -> Iterator[Timed]:
    """What objects of a class time: behind `with`, and between `timer.tic()` and `timer.toc()`."""
    begins = starting | {name for name, method in klass.methods.items() if _calls_own(method, starting)}
    ending = place.function
    ends = {ending.name} | {name for name, method in klass.methods.items() if _calls_own(method, {ending.name})}
    if "__enter__" in begins and "__exit__" in ends:
        for module in _users(place, klass.module, klass.name):
            for function in module.functions:
                yield from _behind_with_of(place, function, klass)
    for site in place.callers(ending):
        yield from _since(place, site.function, site.call, begins)


def _calls_own(method: Function, called: frozenset[str] | set[str]) -> bool:
    """Whether a method calls another one of its object."""
    return any(
        syntax.own_attribute(method, call.func) in called for name in called for call in method.flow.calls_named(name)
    )


def _behind_with_of(place: Place, function: Function, klass: Class) -> Iterator[Timed]:
    """The blocks of a function behind `with` and an object of a class."""
    for block in function.flow.nodes:
        for item in block.items if isinstance(block, ast.With) else ():
            if klass in place.project.value(function, item.context_expr).any_class:
                yield from _behind_with(function, item.context_expr)


def _since(place: Place, function: Function, end: ast.Call, begins: frozenset[str]) -> Iterator[Timed]:
    """What runs between `timer.tic()` and `timer.toc()` in one block of a function."""
    if not isinstance(end.func, ast.Attribute) or (timer := names.chain(end.func.value)) is None:
        return
    flow = function.flow
    loops: list[Loop] = flow.loops(end)
    before = [
        call
        for name in begins
        for call, receiver in syntax.method_calls(flow, name)
        if call.lineno < end.lineno and names.chain(receiver) == timer and flow.loops(call) == loops
    ]
    start = max(before, key=lambda call: call.lineno, default=None)
    if start is None or timer == [function.own_name]:
        return
    first = (start.end_lineno or start.lineno) + 1
    calls = [
        call
        for call in flow.calls_between(first, end.lineno)
        if call is not end and not contains(flow.statement(end), call)
    ]
    yield Timed(function, first, end.lineno, calls)


def _users(place: Place, module: Module, name: str) -> Iterator[Module]:
    """The files that may use something of a module, its own first."""
    paths = [module.path, *place.project.named_by(module, name)]
    yield from place.project.modules(dict.fromkeys(paths))
