"""Conditions that exclude each other: what is behind one of them never runs where the other holds."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from . import names, syntax
from .flow import Flow, Loop
from .module import Function
from .nodes import given_to, is_constant, none_test, required, spreads, without_not

_EXACT = 2**53
"""Below it a float is any integer."""


class Said(NamedTuple):
    """That a name is one word, number or boolean, or None, or that it is not."""

    name: str
    value: str | float | bool | None
    equal: bool

    def excludes(self, other: Said) -> bool:
        """Whether both can't be true."""
        if self.name != other.name:
            return False
        if type(self.value) is not type(other.value):
            return None in (self.value, other.value) and self.equal and other.equal
        return self.equal != other.equal if self.value == other.value else self.equal and other.equal


def behind(flow: Flow, node: ast.AST, loop: Loop | None = None) -> Iterator[Said]:
    """What the conditions in front of a place say: `if train:`, `if phase == "val":`, `if loss.requires_grad:`; of a flag also what it is made of."""
    for guard in flow.guards(node, loop):
        for one in said(guard.test, guard.true):
            yield one
            if isinstance(one.value, bool):
                yield from _said_by_flag(flow, one)


def _said_by_flag(flow: Flow, flag: Said) -> Iterator[Said]:
    """`phase == "train"` of a parameter, where `train = phase == "train"` alone binds a flag, and nothing binds the parameter anew."""
    made = flow.assignment(flag.name) if len(flow.stores.get(flag.name, ())) == 1 else None
    if made is None or not isinstance(made.value, ast.Compare | ast.UnaryOp | ast.BoolOp | ast.Name):
        return
    parameters, stores = flow.parameters, flow.stores
    for one in said(made.value, flag.value is flag.equal):
        if one.name in parameters and not stores.get(one.name):
            yield one


def said(test: ast.expr, true: bool) -> Iterator[Said]:
    """What a condition says where it is true, or false."""
    for part, holds in required(test, true):
        if isinstance(part, ast.Name):
            yield Said(part.id, True, holds)
        elif isinstance(part, ast.Attribute) and part.attr == "requires_grad" and (name := names.chain(part)):
            yield Said(".".join(name), True, holds)
        elif (none := none_test(part)) is not None:
            if isinstance(none[0], ast.Name):
                yield Said(none[0].id, None, holds is none[1])
        elif isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
            sides = [part.left, *part.comparators]
            for asked, other in itertools.permutations(sides) if len(sides) == 2 else ():
                value = _constant(other) if isinstance(asked, ast.Name) else None
                if isinstance(asked, ast.Name) and value is not None:
                    yield Said(asked.id, value, holds is isinstance(part.ops[0], ast.Eq | ast.Is))


def _constant(node: ast.expr) -> str | float | bool | None:
    """A word, a number as a float, or a boolean; None for other expressions."""
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, int) and not isinstance(value, bool):
            return float(value) if abs(value) < _EXACT else None
        return value if isinstance(value, str | bool | float) else None
    return syntax.infinity(node)


def left_to_callers(function: Function, node: ast.AST, loop: Loop) -> Iterator[Said]:
    """What the conditions in front of a place in a loop say of parameters, which the function itself never makes so."""
    for one in behind(function.flow, node, loop):
        stores = function.flow.stores.get(one.name, ())
        if one.name in function.positions and all(_unmade(function.flow.parents.get(store), one) for store in stores):
            yield one


def asked_of_callers(function: Function, node: ast.AST) -> tuple[Said, ...]:
    """What the conditions in front of a place say of parameters, which stay as they are given."""
    stores = function.flow.stores
    found = behind(function.flow, node) if function.positions else ()
    return tuple(one for one in found if one.name in function.positions and not stores.get(one.name))


def asked_of_makers(function: Function, node: ast.AST) -> tuple[Said, ...]:
    """What the conditions in front of a place say of parameters of the function around its own, which neither binds anew: `def make(train): def step(): if train: ...`."""
    around = function.parent
    if around is None or not around.positions:
        return ()
    own = {*function.positions, *function.flow.stores, *around.flow.stores}
    return tuple(one for one in behind(function.flow, node) if one.name in around.positions and one.name not in own)


def gives_other(function: Function, call: ast.Call, asked: tuple[Said, ...]) -> bool:
    """Whether a call of a function, by its name, gives constants that exclude what is asked of its parameters: `boxes.clip(remove_empty=False)`."""
    if not asked or names.last(call.func) != function.name:
        return False
    return excluded(given(function, call, {one.name for one in asked}), asked)


def _unmade(statement: ast.AST | None, wanted: Said) -> bool:
    """Whether a statement gives a name a constant that excludes what is said of it: `train = False` of `if train:`."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    made = value.value if isinstance(value, ast.Constant) else ...
    return isinstance(made, str | bool | None) and Said(wanted.name, made, True).excludes(wanted)


def decisive(function: Function) -> frozenset[str]:
    """The parameters that conditions of a function ask for, as they were given, and those that it hands on, for others to ask."""
    flow = function.flow
    parameters = function.positions.keys()
    if not parameters:
        return frozenset()
    asked: dict[str, list[ast.Name]] = {}
    for name in itertools.chain(_tested(flow), _handed(flow)):
        if name.id in parameters:
            asked.setdefault(name.id, []).append(name)
    return frozenset(name for name, reads in asked.items() if as_given(flow, name, reads))


def _tested(flow: Flow) -> Iterator[ast.Name]:
    for node in flow.nodes:
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert | ast.BoolOp):
            test = node if isinstance(node, ast.BoolOp) else node.test
            yield from (part for part in ast.walk(test) if isinstance(part, ast.Name))


def _handed(flow: Flow) -> Iterator[ast.Name]:
    handed = (without_not(value, True)[0] for call in flow.calls for value in given_to(call))
    return (value for value in handed if isinstance(value, ast.Name))


def as_given(flow: Flow, name: str, reads: Iterable[ast.expr]) -> bool:
    """Whether some places read a parameter before it is bound anew, if it ever is: `if cache is not None: ...; cache = k, v`."""
    stores = flow.stores.get(name, ())
    first = min((store.lineno for store in stores if not _is_cast(flow.parents.get(store), name)), default=None)
    return first is None or all(read.lineno < first and not flow.loops(read) for read in reads)


def _is_cast(statement: ast.AST | None, name: str) -> bool:
    """`norm_type = float(norm_type)`, which leaves a number what it is."""
    match statement:
        case ast.Assign(value=ast.Call(func=ast.Name("float"), args=[ast.Name(cast)], keywords=[])):
            return cast == name
    return False


def given(
    function: Function, call: ast.Call, parameters: Iterable[str], known: Iterable[Said] = ()
) -> tuple[Said, ...]:
    """What a call says of parameters by their names: `self.run(batch, mode="train")`; `known` is said of the caller's own."""
    spread = spreads(call)
    own = {one.name: one.value for one in known if one.equal}
    found = []
    for name in sorted(parameters):
        node = function.argument(call, name)
        if node is None and not spread:
            node = function.defaults.get(name)
        value = _constant(node) if node is not None else None
        if value is not None or is_constant(node, None):
            found.append(Said(name, value, True))
        elif node is not None:
            flag, as_it_is = without_not(node, True)
            told = own.get(flag.id) if isinstance(flag, ast.Name) else None
            if isinstance(told, bool):
                found.append(Said(name, told is as_it_is, True))
            elif isinstance(node, ast.Name) and node.id in own:
                found.append(Said(name, told, True))
    return tuple(found)


def excluded(some: Iterable[Said], others: Iterable[Said]) -> bool:
    """Whether something is said that excludes one of some others."""
    known = tuple(others)
    return any(one.excludes(other) for one in some for other in known)
