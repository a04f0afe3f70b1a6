"""The rows of tensors that a loop goes through, and what its body calls them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .names import last
from .nodes import argument_of, elements, indices, measured, names_in, number, sized
from .place import Place
from .sending import OF_ELEMENTS
from .syntax import same
from .uses import assigned
from .values import PROVEN, UNKNOWN, Value, replace

_APART = {"unbind": "input", "split": "tensor", "chunk": "input"}
"""What takes a tensor apart, with what its function calls the tensor."""
_LISTS = frozenset(("list", "tuple", "dict", "set"))
_MANY = 8
"""Fewer numbers than these are soon made one by one."""


def rows(place: Place, loop: ast.For) -> list[str]:
    """What the body calls the rows of the tensors that the loop goes through: names, or `x[i]`."""
    target, given = loop.target, loop.iter
    called = goes_by(place, given)
    arguments = given.args if isinstance(given, ast.Call) and not given.keywords else []
    if called == "range":
        first = arguments[0] if len(arguments) == 2 else None
        if not isinstance(target, ast.Name) or not (
            len(arguments) == 1 or (isinstance(first, ast.Constant) and not first.value)
        ):
            return []
        return _by_index(place, loop, arguments[-1])
    if called == "enumerate" and len(arguments) == 1 and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target, given = target.elts[1], arguments[0]
    if called == "zip" and isinstance(target, ast.Tuple):
        names = [one.id for one in target.elts if isinstance(one, ast.Name)]
        tensors = _zipped(place, arguments, len(target.elts))
        return names if len(names) == len(target.elts) == len(tensors) > 1 and all(map(on_device, tensors)) else []
    if isinstance(given, ast.Call) and len(given.args) == 1 and place.resolve(given.func) == "reversed":
        given = given.args[0]
    return _bound(target) if on_device(gone_through(place, given)) else []


def fills_by_number(place: Place, loop: ast.For) -> bool:
    """Whether all that each turn does is to fill a part of a tensor, by its number and a tensor that is the same each time.

    `for i in range(n): out[:, i] = torch.sin(x * (i + 1) / rate)`: one product with `torch.arange(1, n + 1)` does that for all.
    """
    match loop:
        case ast.For(
            target=ast.Name(id=index),
            iter=ast.Call(func=ast.Name(id="range"), args=[_], keywords=[]),
            body=[ast.Assign(targets=[ast.Subscript(value=ast.Name(id=filled) as out, slice=where)], value=made)],
        ):
            parts = indices(where)
        case _:
            return False
    told = [one for one in parts if is_turn(one, index)]
    if len(told) != 1 or any(names_in(one) for one in parts if one not in told):
        return False
    if index not in names_in(made) or filled in names_in(made):
        return False
    leaves = _leaves(place, made)
    tensors = [one for one in leaves or () if place.value(one).kind != "number"]
    if len(tensors) != 1 or index in names_in(tensors[0]):
        return False
    return is_device_tensor(place, out) and is_device_tensor(place, tensors[0])


def fills_by_places(place: Place, loop: ast.For) -> bool:
    """Whether all that each turn does is to fill one place of a tensor by places of others: `for i, k in enumerate(modes): out[..., i] = f(x[..., k])`.

    A turn may be left out by a test of the places. An index that is a list does that for all.
    """
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[_], keywords=[]),
            body=[*tests, ast.Assign(targets=[ast.Subscript(value=ast.Name(id=filled) as out) as written], value=made)],
        ):
            turns = {first, second}
        case _:
            return False
    if not all(_leaves_out(one) for one in tests) or filled in names_in(made) or not _at_place(written, turns):
        return False
    parts = [node for node in ast.walk(made) if isinstance(node, ast.Subscript)]
    used = [one for one in parts if not turns.isdisjoint(names_in(one.slice))]
    inside = {name.id for one in used for name in ast.walk(one.slice) if isinstance(name, ast.Name)}
    loose = sum(isinstance(node, ast.Name) and node.id in turns for node in ast.walk(made)) != len(used)
    if not used or loose or not inside <= turns or not all(_at_place(one, turns) for one in used):
        return False
    calculated = made in used or (isinstance(made, ast.Call) and all(one in used for one in made.args))
    return calculated and is_device_tensor(place, out) and any(is_device_tensor(place, one.value) for one in used)


def makes_by_number(place: Place, made: ast.ListComp | ast.GeneratorExp) -> bool:
    """Whether a list is made of a tensor that is the same each time and of the number of each turn: `[start + i * step for i in range(n)]`."""
    turn = made.generators[0]
    match turn.iter:
        case ast.Call(func=ast.Name(id="range"), args=[ast.expr() as count], keywords=[]):
            few = number(count)
        case _:
            return False
    leaves = _leaves(place, made.elt) if isinstance(made.elt, ast.BinOp) else None
    if leaves is None or not isinstance(turn.target, ast.Name) or (few is not None and few < _MANY):
        return False
    tensors = [one for one in leaves if place.value(one).kind != "number"]
    by_turn = any(isinstance(one, ast.Name) and one.id == turn.target.id for one in leaves)
    return by_turn and bool(tensors) and all(is_device_tensor(place, one) for one in tensors)


def fills_by_lengths(place: Place, loop: ast.For) -> bool:
    """Whether all that each turn does is to put a number into its row of a tensor, up to a length of its own or from there: `for i, n in enumerate(lengths): mask[i, :n] = 1`.

    One comparison of the lengths with `torch.arange(...)` does that for all rows.
    """
    counted = place.resolve(loop.iter.func) if isinstance(loop.iter, ast.Call) and len(loop.iter.args) == 1 else None
    match loop.target:
        case ast.Name(id=index) if counted == "range":
            turns = {index}
        case ast.Tuple(elts=[ast.Name(id=index), ast.Name(id=length)]) if counted == "enumerate":
            turns = {index, length}
        case _:
            return False
    filled = [_filled_by_length(statement, index, turns) for statement in loop.body]
    return all(one is not None and is_device_tensor(place, one) for one in filled)


def changed_by_element(place: Place, loop: ast.For) -> ast.expr | None:
    """The tensor of which all that each turn does is to change one place: `for token in set(tokens): logits[0, token] /= penalty`.

    It may ask that place first: `if logits[0, token] < 0:`. An index of all places changes them at once. What counts, and
    the rows of a tensor, are others: `for label in labels.unique()` goes round a few times.
    """
    match loop:
        case ast.For(iter=ast.Call(func=ast.Name(id="range"))):
            return None
        case ast.For(target=ast.Name(id=turn), iter=given, orelse=[]) if place.value(given).kind != "tensor":
            pass
        case _:
            return None
    todo, told = list(loop.body), list[ast.expr]()
    while todo:
        match todo.pop():
            case ast.If(test=test, body=body, orelse=others):
                todo += [*body, *others]
                told.append(test)
            case (
                ast.AugAssign(target=ast.Subscript(), value=value) | ast.Assign(targets=[ast.Subscript()], value=value)
            ):
                told.append(value)
            case _:
                return None
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    places = [node for node in nodes if isinstance(node, ast.Subscript)]
    first = places[0]
    alike = all(same(one.value, first.value) and same(one.slice, first.slice) for one in places)
    turns = sum(isinstance(node, ast.Name) and node.id == turn for node in nodes)
    if not alike or turns != len(places) or not _at_place_beside(first, turn) or not all(map(_is_plain, told)):
        return None
    return first.value if isinstance(first.value, ast.Name) and is_device_tensor(place, first.value) else None


def _at_place_beside(part: ast.Subscript, turn: str) -> bool:
    """`x[0, i]`, `x[b, :, i]`: one place along a dimension, beside others that the turn does not choose."""
    chosen = [one for one in indices(part.slice) if turn in names_in(one)]
    others = [one for one in indices(part.slice) if one not in chosen]
    return (
        len(chosen) == 1
        and isinstance(chosen[0], ast.Name)
        and all(isinstance(one, ast.Name | ast.Constant | ast.Slice | ast.UnaryOp) for one in others)
    )


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression calculates with places, names and numbers alone; `float("-inf")` is one of these."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    return all(isinstance(one.func, ast.Name) and one.func.id == "float" for one in calls)


def _filled_by_length(statement: ast.stmt, index: str, turns: set[str]) -> ast.expr | None:
    """The `mask` of `mask[i, :n] = 1`, `mask[i][lengths[i] :] = 0`; None of others."""
    match statement:
        case ast.Assign(targets=[ast.Subscript() as out], value=ast.Constant() | ast.UnaryOp(operand=ast.Constant())):
            pass
        case _:
            return None
    parts: list[ast.expr] = []
    holder: ast.expr = out
    while isinstance(holder, ast.Subscript):
        parts[:0] = indices(holder.slice)
        holder = holder.value
    told = [one for one in parts if names_in(one)]
    if not isinstance(holder, ast.Name) or len(told) != 2 or not is_turn(told[0], index) or holder.id in turns:
        return None
    span = told[1]
    if not isinstance(span, ast.Slice) or span.step is not None or (span.lower is None) is (span.upper is None):
        return None
    found = names_in(span)
    return holder if holder.id not in found and not turns.isdisjoint(found) else None


def _leaves_out(statement: ast.stmt) -> bool:
    """`if k >= n: continue`"""
    return isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[0], ast.Continue)


def _at_place(part: ast.Subscript, turns: set[str]) -> bool:
    """`x[:, :, i]`: one place along one dimension, and all of the others."""
    places = [one for one in indices(part.slice) if names_in(one)]
    return len(places) == 1 and isinstance(places[0], ast.Name) and places[0].id in turns


def _leaves(place: Place, node: ast.expr) -> list[ast.expr] | None:
    """The names and numbers that an expression calculates with, element by element; None where it does more."""
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        parts = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.Call) and place.resolve(node.func) in OF_ELEMENTS and not node.keywords:
        parts = node.args
    else:
        return [node] if isinstance(node, ast.Name | ast.Attribute | ast.Constant) else None
    found = [_leaves(place, part) for part in parts]
    return [leaf for one in found for leaf in one or ()] if None not in found else None


def is_device_tensor(place: Place, node: ast.expr) -> bool:
    return on_device(place.value(node))


def goes_by(place: Place, given: ast.expr) -> str | None:
    """What a loop calls for what it goes through: `range`, `enumerate`, `zip`; `np.arange(n)` counts like `range(n)`."""
    if not isinstance(given, ast.Call) or given.keywords:
        return None
    name = place.resolve(given.func)
    return "range" if name == "numpy.arange" else name


def _zipped(place: Place, arguments: list[ast.expr], names: int) -> Sequence[Value]:
    """What `zip(a, b)`, `zip(*x.topk(5))` and `zip(*torch.broadcast_tensors(a, b))` go through at once, for so many names."""
    if len(arguments) == 1 and isinstance(arguments[0], ast.Starred):
        whole = place.value(arguments[0].value)
        if whole.kind == "list" and whole.element is not None and not whole.other_kinds:
            return [whole.element] * names
        return whole.items or () if whole.kind == "tuple" else ()
    return [gone_through(place, one) for one in arguments]


def gone_through(place: Place, given: ast.expr) -> Value:
    """What a loop goes through: the tensor itself where it is taken apart along its first dimension, as nothing but a tensor can be."""
    method = last(given.func) if isinstance(given, ast.Call) else ""
    if not isinstance(given, ast.Call) or method not in _APART:
        return place.value(given)
    is_function = place.resolve(given.func) == f"torch.{method}"
    whole = argument_of(given, _APART[method], 0) if is_function else getattr(given.func, "value", None)
    parts = 0 if method == "unbind" else 1
    if whole is None or (parts and not _is_each(given, whole, int(is_function))):
        return place.value(given)
    dim = argument_of(given, "dim", parts + int(is_function))
    value = place.value(whole) if dim is None or number(dim) == 0 else UNKNOWN
    return replace(value, certainty=PROVEN) if value.kind == "tensor" else UNKNOWN


def _is_each(call: ast.Call, whole: ast.expr, at: int) -> bool:
    """Whether each part is one row: `x.split(1)`, `x.chunk(len(x))`, `torch.chunk(x, x.shape[0])`."""
    if last(call.func) == "split":
        return number(argument_of(call, "split_size_or_sections" if at else "split_size", at)) == 1
    count = argument_of(call, "chunks", at)
    return same(measured(count) or sized(count), whole)


def _bound(target: ast.expr) -> list[str]:
    """The names that a loop binds to a row, or to its elements: `*box, score`."""
    parts = elements(target)
    parts = [part.value if isinstance(part, ast.Starred) else part for part in parts]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _by_index(place: Place, loop: ast.For, bound: ast.expr) -> list[str]:
    """The rows of `for i in range(n)`, where n is how long a tensor is."""
    assert isinstance(loop.target, ast.Name)
    counted = bound.args[0] if isinstance(bound, ast.Call) and len(bound.args) == 1 else bound
    of_length = counted is not bound and isinstance(bound, ast.Call) and place.resolve(bound.func) == "len"
    count = place.value(bound)
    is_extent = count.kind == "number" and count.extent
    # How many rows there are may be told by what is only likely a tensor, as a forward is given: the rows are of others.
    if not is_extent and not (of_length and _may_be_on_device(place.value(counted))):
        return []
    index = loop.target.id
    parts = [node for statement in loop.body for node in ast.walk(statement) if isinstance(node, ast.Subscript)]
    others = _other_places(loop, index)
    if any(is_beside(node.slice, index) or _is_named(node.slice, others) for node in parts):
        return []  # `x[i - 1]`: a turn needs the one before
    found = {ast.unparse(node): node.value for node in parts if is_at(node.slice, index)}
    if any(place.value(holder).kind == "module" for holder in found.values()):
        return []  # `self.heads[i](x[i])`: each row has a layer of its own
    rows = [
        written for written, tensor in found.items() if is_device_tensor(place, tensor) or is_taken_apart(place, tensor)
    ]
    return [*rows, *_called(loop, rows)]


def is_taken_apart(place: Place, parts: ast.expr) -> bool:
    """Whether a name holds the rows of a tensor along some dimension: `parts = maps.split(1, 1)`, `parts = maps.unbind(1)`."""
    made = assigned(place.function, parts) if isinstance(parts, ast.Name) else None
    method = last(made.func) if isinstance(made, ast.Call) else ""
    if not isinstance(made, ast.Call) or method not in ("split", "unbind"):
        return False
    is_function = place.resolve(made.func) == f"torch.{method}"
    whole = argument_of(made, _APART[method], 0) if is_function else getattr(made.func, "value", None)
    if whole is None or (method == "split" and not _is_each(made, whole, int(is_function))):
        return False
    return _may_be_on_device(place.value(whole))


def is_at(part: ast.expr, index: str) -> bool:
    """`x[i]`, `x[i, :, 0]`, `x[i : i + 1]`"""
    return is_turn(_first(part), index)


def is_turn(part: ast.expr, index: str) -> bool:
    """`i`, `i : i + 1`"""
    return (isinstance(part, ast.Name) and part.id == index) or _is_one(part, index)


def _first(part: ast.expr) -> ast.expr:
    return part.elts[0] if isinstance(part, ast.Tuple) and part.elts else part


def _is_one(part: ast.expr, index: str) -> bool:
    """`i : i + 1`"""
    return (
        isinstance(part, ast.Slice)
        and part.step is None
        and isinstance(part.lower, ast.Name)
        and part.lower.id == index
        and isinstance(part.upper, ast.BinOp)
        and ast.unparse(part.upper) == f"{index} + 1"
    )


def is_beside(part: ast.expr, index: str) -> bool:
    """`x[i + 1]`, `x[i:]`, `x[: i + 1]`"""
    first = _first(part)
    return (
        isinstance(first, ast.BinOp | ast.Slice)
        and not _is_one(first, index)
        and any(isinstance(node, ast.Name) and node.id == index for node in ast.walk(first))
    )


def _other_places(loop: ast.For, index: str) -> set[str]:
    """The names of what is calculated of a turn's number: `j = n - i - 1`."""
    made = (node for node in loop.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp))
    named = ((node.targets[0], node.value) for node in made)
    return {target.id for target, value in named if isinstance(target, ast.Name) and index in names_in(value)}


def _is_named(part: ast.expr, names: set[str]) -> bool:
    first = _first(part)
    return isinstance(first, ast.Name) and first.id in names


def _called(loop: ast.For, rows: list[str]) -> list[str]:
    """The names that the body gives to rows: `boxes = x[i]`."""
    assigned = (node for statement in loop.body for node in ast.walk(statement) if isinstance(node, ast.Assign))
    return [
        node.targets[0].id
        for node in assigned
        if isinstance(node.targets[0], ast.Name) and ast.unparse(node.value) in rows
    ]


def on_device(value: Value) -> bool:
    """Whether a value is a tensor of the device, and on no way a list of such: what a list has a loop takes one by one."""
    return value.is_tensor and _may_be_on_device(value) and value.other_kinds.isdisjoint(_LISTS)


def _may_be_on_device(value: Value) -> bool:
    return value.kind == "tensor" and not value.on_cpu and not value.parameter and not value.from_loader
