"""Loops over the elements of a tensor whose turns need theirs as a number: `for i in order: total += scores[i]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import flat, runs
from .consumers import parts_given
from .host_reads import is_on_device
from .names import last
from .nodes import indices, names_in
from .place import Place
from .turn_parts import FEW
from .values import Value

_ON_HOST = frozenset(("list", "tuple", "str", "ndarray"))
_OF_ONE = frozenset(("item", "int", "float", "bool", "tolist", "cpu", "numpy"))
"""What reads an element where it says so, which is told there."""


def read_by_turns(place: Place, loop: ast.For) -> ast.expr | None:
    """The tensor of the device whose elements the turns of a loop need as numbers, one by one; None where there is none.

    An element is a bound of a slice (`x[start : start + n]`), counted to (`range(n)`), asked (`if n > 0:`, and `if x[i] > 0:` of
    `for i in range(n)`), or picks out of a list, an array or a tensor (`names[i]`). What its turn reads by `item()` or `int()` is told there.
    """
    if not isinstance(loop.target, ast.Name | ast.Tuple) or runs.of_one_kept(place.function, loop):
        return None
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    if last(getattr(loop.iter, "func", loop.iter)) == "range":
        return _asked_by_number(place, loop, nodes)
    for name, whole in parts_given(loop.target, loop.iter):
        if whole is None or isinstance(whole, ast.Call) or len(place.flow.stores_within(name, loop)) > 1:
            continue
        if any(_says_so(node, name) for node in nodes):
            continue
        if any(_is_number(place, whole, node, name) for node in nodes):
            value = place.value(whole)
            if value.is_tensor and not (value.other_kinds or value.from_loader) and is_on_device(place, whole):
                return whole
    return None


def _asked_by_number(place: Place, loop: ast.For, nodes: list[ast.AST]) -> ast.expr | None:
    """The `x` of `for i in range(n): if x[i] > 0:`, where there may be many turns, and each asks for its element."""
    if not isinstance(loop.target, ast.Name) or runs.counts_few(place.function, loop):
        return None
    name, bound = loop.target.id, ast.unparse(loop.iter)
    if FEW.search(f"{name} {bound}") or len(place.flow.stores_within(name, loop)) > 1:
        return None
    tests = (node.test for node in nodes if isinstance(node, ast.If | ast.IfExp | ast.While))
    for element in (one for test in tests if place.flow.loops(test)[:1] == [loop] for one in _asked(test)):
        match element:
            case ast.Subscript(value=ast.Name(id=held), slice=ast.Name(id=turn)) if turn == name:
                whole, value = place.value(element.value), place.value(element)
            case _:
                continue
        stays = whole.kind == "tensor" and not place.flow.stores_within(held, loop)
        if stays and value.is_tensor and not (value.other_kinds or value.from_loader) and is_on_device(place, element):
            return element.value
    return None


def _is_number(place: Place, whole: ast.expr, node: ast.AST, name: str) -> bool:
    """Whether a node of the loop needs the number of the element that has a name."""
    if isinstance(node, ast.Call):
        return last(node.func) == "range" and any(_is_made_of(one, name) for one in node.args)
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        return _asks(node.test, name)
    if not isinstance(node, ast.Subscript):
        return False
    places = indices(node.slice)
    if any(_is_made_of(bound, name) for one in places for bound in _bounds(one)):
        return True
    if not any(isinstance(one, ast.Name) and one.id == name for one in places):
        return False
    held = place.value(node.value)
    return _picks_on_host(held) or (held.is_tensor and not held.other_kinds and flat.is_flat(place, whole))


def _asks(test: ast.expr, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in _asked(test))


def _asked(test: ast.expr) -> Iterator[ast.expr]:
    """What a test asks for its truth, or compares: `flag` and `n` of `if not flag or n > 3:`."""
    if isinstance(test, ast.BoolOp):
        for one in test.values:
            yield from _asked(one)
    elif isinstance(test, ast.UnaryOp):
        yield from _asked(test.operand) if isinstance(test.op, ast.Not) else ()
    elif isinstance(test, ast.Compare):
        if all(isinstance(op, ast.Eq | ast.NotEq | ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in test.ops):
            yield from (test.left, *test.comparators)
    else:
        yield test


def _picks_on_host(held: Value) -> bool:
    """Whether an element of something is found by its number alone: of a list, of an array, of layers in a list."""
    of_layers = held.kind == "module" and held.class_name in ("torch.nn.ModuleList", "torch.nn.Sequential")
    return not held.other_kinds and (of_layers or (held.kind in _ON_HOST and held.proven))


def _bounds(part: ast.expr) -> Iterator[ast.expr]:
    if isinstance(part, ast.Slice):
        yield from (bound for bound in (part.lower, part.upper, part.step) if bound is not None)


def _is_made_of(node: ast.expr, name: str) -> bool:
    """Whether an expression is an element, or a sum with it: `start + n`."""
    return isinstance(node, ast.Name | ast.BinOp) and name in names_in(node)


def _says_so(node: ast.AST, name: str) -> bool:
    """`n.item()`, `int(n)`"""
    if not isinstance(node, ast.Call) or last(node.func) not in _OF_ONE:
        return False
    read = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0] if node.args else None
    return isinstance(read, ast.Name) and read.id == name
