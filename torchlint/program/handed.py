"""Where a function is called by another name, and what loops go through what a generator gives: values followed forward, by names."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from ..facts import aliases, names
from ..facts.flow import Loop, contains
from ..facts.module import Class, Function, Module
from ..facts.nearby import nodes_on
from ..facts.nodes import bound_names
from ..facts.values import Value
from ..query.question import question
from ..system.stamp import as_bytes
from ..text.called import is_taken
from ..text.finders import fact_of_words
from ..text.source import Source
from . import supers
from .calling import CallSite, calls_imported
from .texts import MAX_SITES

T = TypeVar("T")
Use = tuple[Function, ast.expr]
"""An expression that may give what is followed, in its function."""
MOST_USES = 40
"""What goes further is not followed."""
_READ: frozenset[type[ast.AST]] = frozenset((ast.Name, ast.Attribute))
_PASS_ON = frozenset(("partial", "iter", *aliases.WRAPPERS))
"""Calls that stand for what they are given: `partial(f)` for f, `enumerate(rows)` for rows."""
ASKS_OF_CLASSES = frozenset(("super", "isinstance", "issubclass"))
"""What is given a class, and makes no object of it."""
_APPLY = frozenset(("map", "filter", "starmap", "imap", "tree_map", "apply_to_collection", "checkpoint"))
"""What calls the function that it is given, there and then."""


class Code(supers.Code, Protocol):
    """What is asked of the project."""

    def calling(self, name: str) -> frozenset[str]: ...
    def calls_of(self, function: Function) -> Iterator[CallSite]: ...
    def constructed(self, klass: Class, init: Function) -> list[tuple[Function, ast.Call]]: ...
    def fact(self, path: str, name: str, find: Callable[[Source], T]) -> T | None: ...
    def method(self, klass: Class, name: str) -> Function | None: ...
    def module_for_calls(self, path: str, name: str) -> Module | None: ...
    def module_for_name(self, path: str, name: str) -> Module | None: ...
    def named_by(self, module: Module, name: str) -> list[str]: ...
    def resolve(self, function: Function, node: ast.expr) -> str | None: ...
    def run_by(self, value: Value) -> list[Function]: ...
    def targets(self, function: Function, call: ast.Call) -> list[Function]: ...
    def value(self, function: Function, node: ast.expr) -> Value: ...


def calls_by_others(code: Code, function: Function) -> Iterator[CallSite]:
    """The calls of a function by other names: `fn = a if flag else b`, `run(fn=a)`, `self.fn = a`, `{"a": a}[name]`, `map(a, rows)`, `retry(a)(x)`, `return a`."""
    for module in _naming(code, function):
        yield from (site for site, _ in _by_others(code, module, function.name).get(function, ()))


def calls_handing(code: Code, function: Function) -> Iterator[CallSite]:
    """The same calls, but where a function is given to another one that calls it, `each(self.one, rows)`, that call."""
    for module in _naming(code, function):
        yield from (handing for _, handing in _by_others(code, module, function.name).get(function, ()))


def calls_as(code: Code, function: Function) -> list[CallSite]:
    """The calls that give a function all that it takes, by another name: `train = a if flag else b`, `train(x)`."""
    modules = _naming(code, function)
    sites = [site for module in modules for site, _ in _by_others(code, module, function.name, True).get(function, ())]
    return list({site.call: site for site in sites}.values())


@question("calls by map", [])
def calls_by_map(code: Code, function: Function) -> list[CallSite]:
    """The calls that `map(f, rows)` makes of a function, each as one with what is in front: `f(rows[0])`."""
    modules = _naming(code, function)
    sites = [site for module in modules for site, _ in _by_others(code, module, function.name).get(function, ())]
    return [CallSite(site.function, site.call, given) for site in sites if (given := _mapped(site.call)) is not None]


def _mapped(call: ast.Call) -> ast.Call | None:
    if (
        names.chain(call.func) != ["map"]
        or len(call.args) < 2
        or any(isinstance(one, ast.Starred) for one in call.args)
    ):
        return None
    first, *several = call.args
    given = [ast.copy_location(ast.Subscript(rows, ast.Constant(0), ast.Load()), rows) for rows in several]
    for one in given:
        ast.copy_location(one.slice, one)
    return ast.copy_location(ast.Call(first, [*given], []), call)


@question("by others", {})
def _by_others(
    code: Code, module: Module, name: str, whole: bool = False
) -> dict[Function, list[tuple[CallSite, CallSite]]]:
    """The calls of what a file gives on by a name, by what they run, each with the call that it is given to.

    If `whole`, those alone that give all that it takes, not what is left of it by `partial`, nor `map(a, rows)`.
    """
    sites: dict[Function, list[tuple[CallSite, CallSite]]] = {}
    for place, taken in named(module, name):
        given = code.run_by(code.value(place, taken))
        for where, use in uses(code, place, taken, whole, each=True) if given else ():
            call = where.flow.parents.get(use)
            if not isinstance(call, ast.Call) or (use is taken if call.func is use else whole):
                continue
            run = _run(code, where, call, use, given)
            if not run and _is_handed_in(code, (place, taken), (where, use), whole):
                run = given
            for one in run:
                if one in given:
                    site = CallSite(where, call)
                    sites.setdefault(one, []).append((site, _handing(place, taken) or site))
    return sites


def _handing(function: Function, taken: ast.expr) -> CallSite | None:
    """The call that a function is given to, itself or by `partial(...)`; None where it is given to none."""
    node: ast.AST = taken
    while True:
        call = function.flow.argument_of(node)
        if not isinstance(call, ast.Call) or call.func is node:
            return None
        if names.last(call.func) not in _PASS_ON:
            return CallSite(function, call)
        node = call


def _run(
    code: Code, function: Function, call: ast.Call, use: ast.expr, given: Sequence[Function]
) -> Sequence[Function]:
    """What a call runs of what it is given, or of what it calls: `map(f, rows)`, `fn(x)`, `retry(f)(x)`."""
    if call.func is not use:
        return given if names.last(call.func) in _APPLY else ()
    return code.targets(function, call) or (given if isinstance(use, ast.Call) else ())


def _is_handed_in(code: Code, start: Use, end: Use, whole: bool = False) -> bool:
    """Whether a call is of a parameter that gets a function or an object by names alone, whatever else it gets of others: `model(x)`."""
    where, use = end
    call = where.flow.parents.get(use)
    if not (isinstance(call, ast.Call) and call.func is use and _is_as_given(where, use)):
        return False
    return any(one is use for _, one in uses(code, *start, whole, named=True))


def loops_over(code: Code, generator: Function) -> Iterator[tuple[Function, Loop]]:
    """The loops that go through what a generator gives, or through an object whose `__iter__` it is."""
    for site in itertools.islice(_runs(code, generator), MAX_SITES):
        for where, use in uses(code, site.function, site.call):
            loop = where.flow.parents.get(use)
            if isinstance(loop, ast.For | ast.AsyncFor) and loop.iter is use:
                if use is site.call or _is_as_given(where, use) or generator in generators(code, where, use):
                    yield where, loop
            elif isinstance(loop, ast.Call) and names.last(loop.func) == "next":
                yield from ((where, one) for one in where.flow.loops(loop)[:1])


def _is_as_given(function: Function, use: ast.expr) -> bool:
    """Whether a name is what the callers of its function give, and nothing else."""
    return isinstance(use, ast.Name) and use.id in function.flow.parameters and use.id not in function.flow.stores


def _runs(code: Code, generator: Function) -> Iterator[CallSite]:
    """Where a generator is begun."""
    klass = generator.cls
    if generator.name != "__iter__" or klass is None:
        yield from code.calls_of(generator)
        return
    init = code.method(klass, "__init__")
    if init is not None:
        yield from (CallSite(*call) for call in code.constructed(klass, init))


def generators(code: Code, function: Function, iterable: ast.expr) -> list[Function]:
    """The generators of the project that may give what is iterated over: `batches(loader)`, `enumerate(self.batches())`, an object."""
    if isinstance(iterable, ast.Call) and names.last(iterable.func) in _PASS_ON:
        return [one for given in iterable.args for one in generators(code, function, given)]
    if isinstance(iterable, ast.Call):
        found = [one for one in code.targets(function, iterable) if one.giving_loops]
        if found:
            return found
    elif isinstance(iterable, ast.Name):
        made = function.flow.assignment(iterable.id)
        # Only upwards: `a = tqdm(b)` and `b = tqdm(a)` in a loop lead to each other.
        if made is not None and made.lineno < iterable.lineno and isinstance(made.value, ast.Call):
            return generators(code, function, made.value)
    value = code.value(function, iterable)
    methods = (code.method(klass, "__iter__") for klass in value.any_class)
    return [one for one in methods if one is not None and one.giving_loops]


def named(module: Module, name: str) -> Iterator[Use]:
    """Where a file names a function without calling it."""
    for place, lines in module.functions_at(module.lines_holding(name)).items():
        is_own = place is not module.body and place.binds(name) and name not in place.nested
        for node, parent in nodes_on(place, lines, _READ):
            assert isinstance(node, ast.Name | ast.Attribute)
            if names.last(node) != name or not isinstance(node.ctx, ast.Load):
                continue
            is_called = isinstance(parent, ast.Call) and parent.func is node
            if not is_called and not (is_own and isinstance(node, ast.Name)):
                yield place, node


@question("given on", True)
def is_given_on(code: Code, module: Module, name: str, is_own: bool) -> bool:
    """Whether a function or class of a file is given on by its name: to a call, into a list, by `return`; in that file alone if `is_own`.

    `super(Net, self)`, tests of types, annotations, base classes and `Net.width` give nothing on.
    """
    paths = [module.path, *(() if is_own else code.named_by(module, name))]
    modules = filter(None, (code.module_for_name(path, name) for path in paths if _is_taken(code, path, name)))
    return any(gives_on(place, node) for one in modules for place, node in named(one, name))


def gives_on(function: Function, node: ast.expr) -> bool:
    """Whether a place that names a function or class gives it on, as `is_given_on` tells."""
    parent = function.flow.parents.get(node)
    if isinstance(parent, ast.Tuple):
        parent = function.flow.parents.get(parent)  # `isinstance(layer, (Block, Other))`
    if isinstance(parent, ast.Call):
        return names.last(parent.func) not in ASKS_OF_CLASSES
    of_type = isinstance(parent, ast.AnnAssign) and parent.annotation is node
    return not of_type and not isinstance(parent, ast.Attribute | ast.ClassDef)


def given_on(code: Code, function: Function) -> Iterator[Use]:
    """Where a function is named without being called, in the files that may give it on."""
    for module in _naming(code, function):
        yield from named(module, function.name)


def _naming(code: Code, function: Function) -> Iterator[Module]:
    """The files that may give a function on under its name."""
    module, name = function.module, function.name
    if _is_taken(code, module.path, name):
        yield module
    if function.cls is not None or function.parent is not module.body:
        return
    others = (path for path in code.named_by(module, name)[:MAX_SITES] if _is_taken(code, path, name))
    yield from filter(None, (code.module_for_name(path, name) for path in others))


def _is_taken(code: Code, path: str, name: str) -> bool:
    return bool(code.fact(path, f"taken {name}", lambda source: _takes(source, name)))


@fact_of_words("taken")
def _takes(source: Source, name: str) -> bool:
    return is_taken(source.data, as_bytes(name))


@question("calls of made", [])
def calls_of_made(code: Code, method: Function) -> list[CallSite]:
    """Where objects of a class are called that run its `__call__`: `for metric in [Accuracy()]: metric(out)`, `post = A() if flag else B()`, `post(out)`.

    Nothing where these are many.
    """
    found = list(_calls_of_made(code, method.cls, method)) if method.cls is not None else []
    return found if len(found) <= MAX_SITES else []


def _calls_of_made(code: Code, klass: Class, method: Function) -> Iterator[CallSite]:
    paths = [klass.module.path, *code.named_by(klass.module, klass.name)]
    for module in filter(None, (code.module_for_calls(path, klass.name) for path in paths[:MAX_SITES])):
        for place, made in calls_imported(module, klass.name):
            for where, use in uses(code, place, made, each=True):
                call = where.flow.parents.get(use)
                if not isinstance(call, ast.Call) or call.func is not use:
                    continue
                run = code.targets(where, call)
                if method in run or (not run and _is_handed_in(code, (place, made), (where, use))):
                    yield CallSite(where, call)


def uses(
    code: Code, function: Function, node: ast.expr, whole: bool = False, *, each: bool = False, named: bool = False
) -> Iterator[Use]:
    """The expressions that may give what one gives, that one first.

    If `whole`, not what `partial` makes of it; if `each`, also what loops take out of what holds it; if `named`, not what
    reads an attribute, which may be that of another object.
    """
    todo: list[Use] = [(function, node)]
    seen: set[ast.expr] = set()
    while todo and len(seen) < MOST_USES:
        place, use = todo.pop(0)
        if use not in seen:
            seen.add(use)
            yield place, use
            todo += _goes_to(code, place, use, whole, named)
            todo += _taken_out(place, use) if each else ()


def _goes_to(code: Code, function: Function, node: ast.expr, whole: bool, named: bool) -> Iterator[Use]:
    parent = function.flow.parents.get(node)
    taker = function.flow.argument_of(node)
    if (
        isinstance(parent, ast.BoolOp | ast.Dict | ast.List | ast.Tuple | ast.NamedExpr)
        or (isinstance(parent, ast.IfExp) and node is not parent.test)
        or (isinstance(parent, ast.Subscript) and parent.value is node)
        or (isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp) and parent.elt is node)
        or (isinstance(parent, ast.DictComp) and parent.value is node)
    ):
        yield function, parent
    elif isinstance(parent, ast.Assign) and parent.value is node:
        for target in parent.targets:
            if isinstance(target, ast.Name) or not named:
                yield from _reads(code, function, target)
    elif isinstance(parent, ast.Return) and function.is_property:
        yield from _read_as(code, function, function.name)
    elif isinstance(parent, ast.Return):
        yield from ((site.function, site.call) for site in itertools.islice(code.calls_of(function), MAX_SITES))
    elif isinstance(taker, ast.Call) and taker.func is not node:
        yield from _given(code, function, taker, node, whole)


def _taken_out(function: Function, node: ast.expr) -> Iterator[Use]:
    """What a loop or a comprehension takes out of a list or dictionary: `metric` of `for metric in metrics`, `for name, metric in metrics.items()`."""
    flow = function.flow
    parent = flow.parents.get(node)
    if isinstance(parent, ast.Attribute) and parent.value is node and parent.attr in ("items", "values"):
        call = flow.parents.get(parent)
        if isinstance(call, ast.Call) and call.func is parent:
            yield function, call
    elif isinstance(parent, ast.For) and parent.iter is node:
        for name in sorted(bound_names(parent.target)):
            yield from ((function, load) for load in flow.loads.get(name, ()) if parent in flow.loops(load))
    elif isinstance(parent, ast.comprehension) and parent.iter is node:
        around = flow.parents[parent]
        for name in sorted(bound_names(parent.target)):
            yield from ((function, load) for load in flow.loads.get(name, ()) if contains(around, load))


def _given(code: Code, function: Function, call: ast.Call, node: ast.expr, whole: bool) -> Iterator[Use]:
    """Where what a call is given is read in what it runs."""
    targets = code.targets(function, call)
    if not targets and (above := supers.run_by(code, function, call)) is not None:
        targets = [above]
    if names.last(call.func) in _PASS_ON or (not targets and _is_wrapper(code, function, call)):
        if not whole:
            yield function, call
        return
    for target in targets:
        for parameter in target.parameters:
            if target.argument(call, parameter.arg) is node:
                yield from _loads(target, parameter.arg)


def _is_wrapper(code: Code, function: Function, call: ast.Call) -> bool:
    """`retry(self.measure)` of a library, called at once: that runs what it was given."""
    around = function.flow.parents.get(call)
    if not isinstance(around, ast.Call) or around.func is not call:
        return False
    return code.resolve(function, call.func) not in names.BUILTINS


def _reads(code: Code, function: Function, target: ast.expr) -> Iterator[Use]:
    """Where what is assigned is read: a name in its function and those inside of it, an attribute of an object anywhere."""
    if isinstance(target, ast.Name):
        yield from _loads(function, target.id)
    elif isinstance(target, ast.Attribute):
        yield from _read_as(code, function, target.attr)


def _read_as(code: Code, function: Function, name: str) -> Iterator[Use]:
    """Where an attribute of that name is read, in the file of a function and in those that call it."""
    others = code.calling(name)
    paths = {function.module.path, *(others if len(others) <= MAX_SITES else ())}
    for module in filter(None, (code.module_for_name(path, name) for path in sorted(paths))):
        for place, lines in module.functions_at(module.lines_holding(name)).items():
            for node, _ in nodes_on(place, lines, frozenset((ast.Attribute,))):
                if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
                    yield place, node


def _loads(function: Function, name: str) -> Iterator[Use]:
    module = function.module
    if function is module.body:
        places = [
            one for one in module.functions_at(module.lines_holding(name)) if one is function or not one.binds(name)
        ]
    else:
        places = [function, *(one for one in function.nested.values() if not one.binds(name))]
    for place in places:
        yield from ((place, load) for load in place.flow.loads.get(name, ()))
