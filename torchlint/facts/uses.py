"""Which reads of a name may see what one assignment gave it, and what a read sees: def-use chains over the bindings of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..system.cached import kept
from . import bindings, syntax
from .nodes import root_of

if TYPE_CHECKING:
    from .module import Function


def readers(function: Function, name: str, value: ast.expr) -> Iterator[ast.Name]:
    """The reads of a name in a function that may find the value of `name = value` or `name += value`; what is not known counts."""
    known: dict[str, tuple[dict[ast.expr, list[int]], list[int]]] = kept(function, "readers", dict)
    if name not in known:
        known[name] = _found_by_reads(function, name)
    by_value, always = known[name]
    reads = function.flow.loads.get(name, ())
    yield from (reads[at] for at in sorted({*by_value.get(value, ()), *always}))


def fellows(function: Function, read: ast.Name) -> list[ast.Name]:
    """The reads of a name that may find what one of them finds, that one among them; all where that is not known."""
    values = values_of(function, read)
    if not values:
        return list(function.flow.loads.get(read.id, ()))
    return list(dict.fromkeys(one for value in values for one in readers(function, read.id, value)))


def only_reader(function: Function, name: str, value: ast.expr) -> ast.Name | None:
    """The one read that finds the value of `name = value`, and no other; None where several do, or it may find something else."""
    if name in function.flow.globals:
        return None
    reads = list(readers(function, name, value))
    found = function.bindings.reach.get(reads[0]) if len(reads) == 1 else None
    return reads[0] if isinstance(found, bindings.Assigned) else None


def only_read(function: Function, node: ast.expr) -> ast.Name | None:
    """The one place that reads what an expression is named, further down: `_1 = f(x)`, `g(_1)`; None where it has no name, or others may read it."""
    named = syntax.target(function.flow, node)
    read = only_reader(function, named.id, node) if isinstance(named, ast.Name) else None
    end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    if read is None or (read.lineno, read.col_offset) < end:
        return None
    return read if not _is_read_inside(function, read.id) else None


def only_read_inside(function: Function, node: ast.expr) -> ast.Name | None:
    """As `only_read`, of a name that is a function's own; those of a module may be read anywhere."""
    return only_read(function, node) if function is not function.module.body else None


def read_beside(function: Function, made: ast.stmt) -> ast.Name | None:
    """The one place that reads what a statement gives a name, where that is in its own block: it runs as often."""
    read = only_read(function, made.value) if isinstance(made, ast.Assign) else None
    flow = function.flow
    return read if read is not None and flow.block(flow.statement(read)) is flow.block(made) else None


def meant(function: Function, node: ast.expr) -> ast.expr:
    """What a name was assigned that nothing else reads; any other expression itself."""
    given = assigned(function, node) if isinstance(node, ast.Name) else None
    return given if given is not None and only_read(function, given) is node else node


def _is_read_inside(function: Function, name: str) -> bool:
    """Whether a function inside of another one, or any of a module for its body, reads a name, whenever it runs."""
    module = function.module
    inner = module.functions if function is module.body else function.nested.values()
    return any(name in one.flow.loads and not one.binds(name) for one in inner if one is not function)


def is_shared(function: Function, name: str) -> bool:
    """Whether others than a function itself may have one of its names: those of its module, by `global x`, or a function inside."""
    return name in function.flow.globals or _is_read_inside(function, name)


def _found_by_reads(function: Function, name: str) -> tuple[dict[ast.expr, list[int]], list[int]]:
    """The reads of a name by the values that they may find, and those that may find anything."""
    by_value: dict[ast.expr, list[int]] = {}
    always: list[int] = []
    for at, read in enumerate(function.flow.loads.get(name, ())):
        found = values_of(function, read, given=True)
        for value in found or ():
            by_value.setdefault(value, []).append(at)
        always += [at] * (found is None)
    return by_value, always


def values_of(function: Function, read: ast.Name, *, given: bool = False) -> list[ast.expr] | None:
    """The values that a read may find, through joined paths and what changes an object in place; None where that is not known.

    If `given`, what a caller gives a parameter is no such value; else nothing is known of a read that may find it.
    """
    values: list[ast.expr] = []
    todo: list[bindings.Binding | None] = [function.bindings.reach.get(read)]
    is_parameter = given and read.id in function.positions
    for binding in bindings.leaves(todo):
        match binding:
            case bindings.Assigned():
                values.append(binding.node)
            case bindings.Augmented():
                values.append(binding.node.value)
                todo.append(binding.before)
            case bindings.Narrowed():
                todo.append(binding.before)
            case bindings.Changed() | bindings.Stored():
                root = root_of(binding.node.func if isinstance(binding, bindings.Changed) else binding.node)
                todo.append(binding.reach.get(root) if root is not None else None)
            case bindings.Handed():
                todo.append(binding.reach.get(binding.given))
            case bindings.Starred():
                todo.append(binding.each)
            case bindings.Iterated() | bindings.Defined() | bindings.Parameter() | bindings.Around() | bindings.Rest():
                pass
            case None | bindings.Before() if is_parameter:
                pass
            case _:
                return None
    return values


def assigned(function: Function, name: ast.Name) -> ast.expr | None:
    """What a name was assigned, whatever was written into parts of it afterwards; None where there is more than one way to it."""
    return _given(function, function.bindings.reach.get(name))


def assigned_on_all_ways(function: Function, name: ast.Name, added: list[ast.expr] | None = None) -> list[ast.expr]:
    """What a name may have been assigned, one for each way to it: `x = a`, `if half: x = x.half()`.

    Nothing where one is not known, or where one way alone writes into a part of it. `added` takes what `x += b` adds to
    it; without that list nothing is known of such a name.
    """
    bound = function.bindings.reach.get(name)
    found: list[ast.expr] = []
    todo, seen = [bound], set[bindings.Binding | None]()
    while todo:
        way = todo.pop()
        if way in seen:
            continue
        seen.add(way)
        given = None if isinstance(way, bindings.Stored) and way is not bound else _given(function, way)
        if isinstance(way, bindings.Joined):
            todo += [way.one, way.other]
        elif isinstance(way, bindings.Augmented) and added is not None:
            added.append(way.node.value)
            todo.append(way.before)
        elif given is None:
            return []
        else:
            found.append(given)
    return list(dict.fromkeys(found))


def _given(function: Function, bound: bindings.Binding | None) -> ast.expr | None:
    """What a binding assigns, whatever was written into parts of it afterwards."""
    while isinstance(bound, bindings.Stored):
        part: ast.expr = bound.node
        while isinstance(part, ast.Subscript):
            part = part.value
        bound = function.bindings.reach.get(part)
    if isinstance(bound, bindings.Part) and isinstance(bound.whole, bindings.Assigned):
        whole = bound.whole.node
        if isinstance(whole, ast.Tuple):  # `a, b = x, y`
            return whole.elts[bound.at] if bound.count == len(whole.elts) else None
        return whole if isinstance(whole, ast.Call) else None  # `a, b = torch.meshgrid(x, y)`
    return bound.node if isinstance(bound, bindings.Assigned) else None
