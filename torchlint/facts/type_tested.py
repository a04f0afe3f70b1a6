"""Reads of tensors behind a test of their type: who gives such a function a tensor of the device waits for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import names
from .flow import Guard
from .module import Function
from .nodes import conjuncts, elements, names_in
from .uses import only_read

_READS = frozenset(("item", "tolist"))
_CASTS = frozenset(("float", "int"))
_TENSORS = frozenset(("Tensor", "Variable", "FloatTensor"))
_MAKES = frozenset(("tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "LongTensor"))
_GOES_THROUGH = frozenset(("items", "values"))


def read_of(function: Function, call: ast.Call) -> list[tuple[ast.expr, ast.Call]]:
    """What a call gives a function that it reads on the host where it is a tensor, each with the read.

    `if isinstance(value, torch.Tensor): value = value.item()` reads the parameter, and
    `for k, v in kwargs.items(): if isinstance(v, torch.Tensor): v = v.item()` what is given by names that are no parameters.
    """
    found: list[tuple[ast.expr, ast.Call]] = []
    for name, read in _tested(function):
        if name != function.keywords:
            given = function.argument(call, name)
            found += [(given, read)] if given is not None else []
        else:
            found += [
                (one.value, read) for one in call.keywords if one.arg is None or one.arg not in function.positions
            ]
    return found


def is_of_rest(function: Function, read: ast.Call) -> bool:
    """Whether a function reads what it is given by names that are no parameters, one after the other."""
    return any(name == function.keywords and one is read for name, one in _tested(function))


def read_parameter(function: Function, read: ast.Call) -> str | None:
    """The parameter that a call reads behind a test of its type."""
    if function.positions.keys().isdisjoint(names_in(read)):
        return None
    return next((name for name, one in _tested(function) if one is read and name != function.keywords), None)


def is_made_one(function: Function, name: str) -> bool:
    """Whether a function makes a tensor of a parameter that is none: `if not isinstance(x, torch.Tensor): x = torch.tensor(x)`."""
    stores = function.flow.stores.get(name, ())
    made = (statement.value for store in stores if isinstance(statement := function.flow.parents[store], ast.Assign))
    return any(
        isinstance(value, ast.Call) and names.last(value.func) in _MAKES and any(_is(one, name) for one in value.args)
        for value in made
    ) and any(tested.id == name for _, tested in _tests(function))


def is_asked(function: Function, name: str) -> bool:
    """Whether a function asks of what type a parameter is: `if not isinstance(lengths, list): lengths = lengths.tolist()`."""
    return any(call.args and _is(call.args[0], name) for call in function.flow.calls_named("isinstance"))


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _tested(function: Function) -> Iterator[tuple[str, ast.Call]]:
    """The parameters that a function reads behind a test of their type, or whose values it goes through so."""
    for test, tested in _tests(function):
        name, read = _parameter(function, tested), _read(function, tested.id, test)
        if name is not None and read is not None:
            yield name, read


def _tests(function: Function) -> Iterator[tuple[ast.expr, ast.Name]]:
    """The conditions that ask whether a name is a tensor: `isinstance(x, Tensor)`, `type(x) == Tensor`, `hasattr(x, "item")`."""
    for call in function.flow.calls_named("hasattr"):
        match call.args:
            case [ast.Name() as asked, ast.Constant(value="item")]:
                yield call, asked
    for call in (*function.flow.calls_named("isinstance"), *function.flow.calls_named("is_tensor")):
        tested = names.type_tested(call)
        if isinstance(tested, ast.Name) and all(map(_names_tensor, call.args[1:])):
            yield call, tested
    for call in function.flow.calls_named("type"):
        match function.flow.parents.get(call):
            case (
                ast.Compare(
                    left=ast.Call(args=[ast.Name() as tested]) as left,
                    ops=[ast.Eq() | ast.Is() | ast.In()],
                    comparators=[types],
                ) as test
            ) if left is call and _names_tensor(types):
                yield test, tested


def _names_tensor(types: ast.expr) -> bool:
    """Whether a test asks for tensors, among others."""
    return any(names.last(one) in _TENSORS for one in elements(types))


def _parameter(function: Function, tested: ast.Name) -> str | None:
    """The parameter that a name is, or through whose values it goes: `for k, v in kwargs.items()`."""
    if tested.id in function.positions:
        return tested.id
    rest = function.keywords
    for store in function.flow.stores.get(tested.id, ()):
        loop = function.flow.statement(store)
        through = loop.iter if isinstance(loop, ast.For) else None
        called = names.chain(through.func) if isinstance(through, ast.Call) and not through.args else None
        if called is not None and len(called) == 2 and called[0] == rest and called[1] in _GOES_THROUGH:
            return rest
    return None


def _read(function: Function, name: str, test: ast.expr) -> ast.Call | None:
    """The read of a name in what runs where a test holds."""
    for load in function.flow.loads.get(name, ()):
        read = _reader(function, load)
        if read is not None and any(_holds(guard, test) for guard in function.flow.guards(read)):
            return read
    return None


def _holds(guard: Guard, test: ast.expr) -> bool:
    """Whether a test, or one of several, has to hold for a condition."""
    return guard.true and any(part is test for part in conjuncts(guard.test))


def _reader(function: Function, load: ast.Name) -> ast.Call | None:
    """`x.item()`, `x.mean().item()`, `float(x)` of a load of x, or of what is made of it and has a name: `y = x.mean()`, `float(y)`."""
    for child, parent in function.flow.upwards(load):
        if isinstance(parent, ast.Call) and parent.func is not child:
            return parent if names.last(parent.func) in _CASTS and isinstance(parent.func, ast.Name) else None
        if isinstance(parent, ast.Call) and isinstance(child, ast.Attribute) and child.attr in _READS:
            return parent
        if isinstance(parent, ast.Assign) and child is parent.value:
            read = only_read(function, parent.value)
            return _reader(function, read) if read is not None else None
        if not isinstance(parent, ast.Attribute | ast.Call):
            return None
    return None
