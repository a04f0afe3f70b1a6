"""The model that a statement wraps, `net = DataParallel(net)`, and the functions that are given it behind that."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from . import syntax, uses
from .flow import contains
from .module import Function
from .moves import SENDING
from .names import chain
from .nodes import elements, given_to
from .place import Place

_MOST = 30
"""How many functions are followed."""


Model = list[str]
"""The parts of the dotted name that a model has."""


def wrapped(place: Place) -> Model | None:
    """What the wrapper is called: `net` of `net, loss = DataParallel(net).cuda(), loss.cuda()`, and of `wrapper = DataParallel(net)`, `net = wrapper.cuda()`."""
    node: ast.AST | None = place.target
    model: Model | None = None
    while node is not None:
        named = _named(place, node)
        if named is None:
            break
        model = chain(named[0])
        read = uses.only_read_inside(place.function, named[1])
        method = place.flow.parents.get(read) if read is not None else None
        node = (
            syntax.called(place.flow, method) if isinstance(method, ast.Attribute) and method.attr in SENDING else None
        )
    return model


def _named(place: Place, node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The name that a statement gives what a node stands in, and all of that."""
    statement = place.flow.statement(node)
    for target in elements(statement.targets[0]) if isinstance(statement, ast.Assign) else ():
        given = syntax.given_to_target(place.flow, target)
        if given is not None and contains(given, node):
            return target, given
    return None


def given_on(place: Place, model: Model) -> Iterator[tuple[Function, Model]]:
    """The function of a place, those of the project that it gives a model to, and those that these do, each with its name for it."""
    todo, seen = [(place.function, model)], set[tuple[Function, str]]()
    while todo and len(seen) < _MOST:
        function, own = todo.pop()
        if (function, ".".join(own)) in seen:
            continue
        seen.add((function, ".".join(own)))
        yield function, own
        todo += _beside(function, own)
        takers = place.once(("given by name", function), lambda: _takers(function))  # noqa: B023
        for call in takers.get(".".join(own), ()):
            targets = place.project.targets(function, call)
            named = ((target, name_of(target, call, own)) for target in targets)
            todo += [(target, [name]) for target, name in named if name is not None]


def _beside(function: Function, model: Model) -> Iterator[tuple[Function, Model]]:
    """The functions inside of one, which know a model by its name, and the methods of an object that keeps it."""
    yield from ((inner, model) for inner in _inside(function).values() if not inner.binds(model[0]))
    klass = function.cls
    if klass is None or not function.own_name:
        return
    if len(model) == 1:
        for target in function.assigned_attributes:
            kept, given = syntax.own_attribute(function, target), syntax.given_to_target(function.flow, target)
            if kept is not None and given is not None and chain(given) == model:
                yield function, [function.own_name, kept]
    elif model[:-1] == [function.own_name]:
        for method in klass.methods.values():
            if method.own_name:
                yield method, [method.own_name, model[1]]


def _inside(function: Function) -> dict[str, Function]:
    """The functions inside of one, by name; those of a file are no part of what it runs."""
    return function.nested if function is not function.module.body else {}


def _takers(function: Function) -> dict[str, list[ast.Call]]:
    """The calls of a function that are given something by its name, for each name."""
    found: dict[str, list[ast.Call]] = {}
    for call in function.flow.calls:
        for name in filter(None, map(chain, given_to(call))):
            found.setdefault(".".join(name), []).append(call)
    return found


def reads(function: Function, model: Model) -> Sequence[ast.expr]:
    """Where a function reads a model by its name, or as an attribute of its object."""
    if len(model) == 1:
        return function.flow.loads.get(model[0], ())
    used = function.cls.uses.get(model[1], ()) if function.cls is not None else ()
    return [use for method, use in used if method is function]


def may_know(function: Function, call: ast.Call, model: Model) -> bool:
    """Whether what a call runs may know a model: the call gives it, or what made the object did, or it stands inside of the function."""
    if isinstance(call.func, ast.Name) and call.func.id in _inside(function):
        return True
    made = _making(function, call)
    return any(chain(given) == model for one in (call, made) if one is not None for given in given_to(one))


def known_as(place: Place, target: Function, call: ast.Call, model: Model) -> Model | None:
    """What a function that a call runs calls a model: a parameter that the call gives, an attribute that what made its object gave, or the same name, inside of the caller."""
    name = name_of(target, call, model)
    if name is not None:
        return [name]
    if target.cls is None:
        is_inside = target in _inside(place.function).values() and not target.binds(model[0])
        return model if is_inside else None
    made = _making(place.function, call)
    for init in place.project.targets(place.function, made) if made is not None and target.own_name else ():
        given = name_of(init, made, model) if made is not None and init.name == "__init__" else None
        kept = (one[1] for _, one in _beside(init, [given]) if len(one) == 2) if given is not None else iter(())
        if (attribute := next(kept, None)) is not None:
            return [target.own_name, attribute]
    return None


def _making(function: Function, call: ast.Call) -> ast.Call | None:
    """What makes the object that a method is called of: `Scores(model)` of `Scores(model).run()`, or of `scores.run()` behind `scores = Scores(model)`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Name):
        owner = uses.assigned(function, owner)
    return owner if isinstance(owner, ast.Call) else None


def name_of(function: Function, call: ast.Call, model: Model) -> str | None:
    """What a function calls the model that a call gives it."""
    given = ((name, function.argument(call, name)) for name in function.positions)
    return next((name for name, node in given if node is not None and chain(node) == model), None)
