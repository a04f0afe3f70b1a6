"""Where the methods of a class hand on what a layer gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from . import names, syntax
from .flow import contains
from .module import Class, Function
from .nodes import names_in
from .uses import readers

_PLAIN = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Assert)
_LOOKS = frozenset("append extend parameters named_parameters apply state_dict train eval to".split())
"""Methods of a list of layers that add to it, or tell what it holds, and run none of them."""
_BETWEEN = 5
"""How many statements that are about other things stand between a layer and its norm at most."""


def taken(function: Function, read: ast.Attribute) -> list[ast.expr] | None:
    """Where a method reads what a list holds: `self.convs[i]`, the name of a loop over it; None where that is not known."""
    flow = function.flow
    parent = flow.parents[read]
    if isinstance(parent, ast.Attribute):
        return [] if parent.attr == "append" else None
    if isinstance(parent, ast.Subscript) and parent.value is read and not isinstance(parent.slice, ast.Slice):
        return [parent]
    if isinstance(parent, ast.Call) and names.last(parent.func) == "len":
        return []
    place, over = 0, parent
    if isinstance(parent, ast.Call) and names.last(parent.func) in ("enumerate", "zip") and not parent.keywords:
        place = 1 if names.last(parent.func) == "enumerate" else parent.args.index(read)
        over = flow.parents[parent]
    if not isinstance(over, ast.For):
        return None
    several = over.target.elts if isinstance(over.target, ast.Tuple) else [over.target] if over is parent else []
    target = several[place] if place < len(several) else None
    if not isinstance(target, ast.Name) or len(flow.stores[target.id]) > 1:
        return None
    return list(flow.loads.get(target.id, ()))


def runs_in_order(klass: Class, name: str) -> bool:
    """Whether methods run what a list of the object holds one after the other, and nothing else runs a part of it.

    `for layer in self.layers: x = layer(x)`, `reduce(lambda x, layer: layer(x), self.layers, x)`.
    """
    uses = [_use(function, read) for function, read in klass.uses.get(name, ())]
    return "runs" in uses and None not in uses


def _use(function: Function, read: ast.Attribute) -> Literal["runs", "looks"] | None:
    """What is done with a list of layers: all of them are run in order, or none is run; None where that is not known."""
    parent = function.flow.parents[read]
    match parent:
        case ast.For() if _is_chain(parent, parent.target):
            return "runs"
        case ast.Call(func=func, args=[ast.Lambda() as step, given, _]) if given is read:
            return "runs" if names.last(func) == "reduce" and _is_step(step) else None
        case ast.Attribute(attr=attr) if attr in _LOOKS:
            return "looks"
        case ast.Call(func=ast.Name(id="len")):
            return "looks"
        case ast.comprehension() if function.name == "__init__":
            return "looks"
        case ast.Call(func=ast.Name(id="enumerate"), args=[_]):
            match function.flow.parents[parent]:
                case ast.For(target=ast.Tuple(elts=[*_, layer])) as loop if _is_chain(loop, layer):
                    return "runs"
    return None


def _is_chain(loop: ast.For, layer: ast.expr) -> bool:
    """`for layer in layers: x = layer(x)`"""
    match loop.body:
        case [ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[ast.Name(id=given)]))]:
            return name == given and not loop.orelse and _is_named(func, layer)
    return False


def _is_named(func: ast.expr, layer: ast.expr) -> bool:
    return isinstance(func, ast.Name) and isinstance(layer, ast.Name) and func.id == layer.id


def _is_step(step: ast.Lambda) -> bool:
    """`lambda x, layer: layer(x)`"""
    match step:
        case ast.Lambda(
            args=ast.arguments(args=[x, layer]), body=ast.Call(func=ast.Name(id=func), args=[ast.Name(id=given)])
        ):
            return [func, given] == [layer.arg, x.arg]
    return False


def is_attribute(function: Function, func: ast.Attribute) -> bool:
    """`self.conv.weight`: no use of the output."""
    return isinstance(function.flow.parents.get(func), ast.Attribute)


def naming(function: Function, statement: ast.stmt, name: str) -> ast.stmt | None:
    """The next statement of a block that has a name, where those in front of it are plain ones."""
    behind = syntax.following(function.flow, statement)
    for _ in range(_BETWEEN):
        if not isinstance(behind, _PLAIN) or name in names_in(behind):
            break
        behind = syntax.following(function.flow, behind)
    return behind


def is_last_read(function: Function, made: ast.Assign, statement: ast.stmt, name: str) -> bool:
    """Whether nothing but one statement, that gives a name to what it makes or gives it back, reads what another one gives a name."""
    named = (
        isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name)
    )
    return (named or isinstance(statement, ast.Return)) and all(
        contains(statement, read) for read in readers(function, name, made.value)
    )


def calls_of(statement: ast.stmt | None, name: str) -> Iterator[ast.Call]:
    """The call `f(name)` in a statement that reads the name only there."""
    if statement is None:
        return
    reads = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and len(reads) == 1 and node.args == reads and not node.keywords:
            yield node


def held_by(function: Function, func: ast.expr) -> str | None:
    """The attribute that is a list with what is called: `self.norms[i]`, `norm` of `norm = self.norms[i]` and `for conv, norm in zip(self.convs, self.norms)`."""
    flow = function.flow
    stores = flow.stores.get(func.id, ()) if isinstance(func, ast.Name) else ()
    if len(stores) == 1:
        target = flow.parents[stores[0]]
        loop = flow.parents[target] if isinstance(target, ast.Tuple) else None
        over = loop.iter if isinstance(loop, ast.For) else None
        if isinstance(target, ast.Assign):
            func = target.value
        elif isinstance(target, ast.Tuple) and isinstance(over, ast.Call) and names.last(over.func) == "zip":
            place = target.elts.index(stores[0])
            return syntax.own_attribute(function, over.args[place]) if place < len(over.args) else None
    return syntax.own_attribute(function, func.value) if isinstance(func, ast.Subscript) else None
