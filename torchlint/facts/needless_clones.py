"""Clones of tensors that are only read: all that reads one makes something new of it, and nothing writes to what was cloned meanwhile.

`center = boxes[:, :3].clone()` in front of `points + center`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..system.cached import kept
from ..system.regex import regex
from ..torch_api.operators import Operator, operator
from . import names
from .bindings import Assigned
from .flow import Flow, contains
from .module import Function
from .nodes import number
from .operator_calls import carries_no_graph
from .place import Place
from .uses import is_shared, readers, values_of

_TOLD = frozenset(("shape", "dtype", "device", "ndim", "is_cuda", "layout", "requires_grad"))
"""What a tensor tells of itself."""
_VIEWS = frozenset(("T", "mT", "H", "mH", "data"))
_READERS = frozenset("len range print float int bool str type isinstance hasattr torch.is_tensor".split())
"""Functions of Python that keep nothing of a tensor."""
_KEEPERS = frozenset(
    "register_hook retain_grad backward data_ptr storage untyped_storage numpy batch_norm instance_norm embedding embedding_bag".split()
)
"""What depends on which tensor it is given, keeps it, or may write to it."""
_ADDS = frozenset(("add_", "sub_", "copy_"))
_GIVES = frozenset("tensor int64 int64s bool int number float str size extent list tuple dtype device".split())
_WANTS_COPY = frozenset("view view_as view_as_complex view_as_real item".split())
_MAY_GIVE_BACK = frozenset(("einsum", "broadcast_tensors", "meshgrid"))
"""Operators that may give a view, whatever the table says of them."""
_JOINS = frozenset("cat concat concatenate stack hstack vstack dstack".split())
_TAKES_NOTHING = _JOINS | frozenset("add sub clone flip roll where masked_fill sum mean zeros_like ones_like".split())
"""Operators whose backward pass needs none of the tensors that are looked at here."""
_LAYERS = regex(r"^torch\.nn\.(?:(?:Lazy)?Conv(?:Transpose)?\dd|Linear|\w*Norm(?:\dd)?|\w*Pool\dd|Embedding|\w*Loss)$")
"""Layers that write into nothing, and give something new."""
_REPLAYED = regex(
    rb"\b(?:CUDAGraph|make_graphed_callables|cudagraph|cuda\.stream|record_stream|Lock|get_lock|share_memory_?)\b"
)
"""What writes to a tensor while nobody says so: a graph that is run again, another stream, another process."""
_MAY_BE_IN_PLACE = frozenset(
    "relu relu6 leaky_relu elu selu celu silu mish hardtanh hardswish hardsigmoid threshold rrelu dropout alpha_dropout".split()
)
"""Functions that take `inplace` at a place behind numbers."""
_DEPTH = 2
"""Through how many functions of the project a tensor is followed."""
_MOST_READS = 8
_STEPS = 3
"""How often names are looked for that may stand for the same tensor."""


@dataclass(slots=True)
class _Trail:
    """What is found out of the reads of one tensor."""

    depth: int = _DEPTH
    seen: set[ast.AST] = field(default_factory=set)
    reads: list[ast.Name] = field(default_factory=list)
    """The names that are read."""
    saves: bool = False
    """Whether autograd may keep it for the backward pass."""
    may_stay: bool = False
    """Whether it may be given to others, and kept: only who writes to it is looked for, or what a function gives back."""
    stays: bool = False
    """Whether it is given back, or kept."""
    wants_copy: bool = False
    """Whether it is read by what wants it to lie in order, as a clone does and its source may not, or is a single number, whose copy is little."""


class _Fate(NamedTuple):
    """What becomes of a tensor in a function that only reads it, as in a `_Trail`."""

    saves: bool
    gives_back: bool
    wants_copy: bool


def is_only_read(place: Place, clone: ast.Call) -> bool:
    """Whether a `.clone()` could be what it is made of: nothing writes to either as long as the clone is read.

    Not what autograd keeps of it, where that is written to afterwards.
    """
    function = place.function
    if function is function.module.body or function.module.source.holds(_REPLAYED) or function.yields:
        return False
    func = clone.func
    if not isinstance(func, ast.Attribute):
        return False
    source = _base(func.value)
    if source is None:
        return False
    trail = _Trail()
    if not _reads_only(place, clone, trail) or trail.wants_copy or len(trail.reads) > _MOST_READS:
        return False
    saves = trail.saves and not place.at(function, clone).grad_off  # type: ignore[attr-defined]
    if isinstance(source, ast.Attribute) and saves:
        return False  # whoever else knows the object may write to it
    return _is_left_alone(place, clone, source, _span(function, clone, trail, saves))


def _base(node: ast.expr) -> ast.Name | ast.Attribute | None:
    """What a tensor is a view of, by how it is written: `x` of `x[1:].detach()`; None where that has no name."""
    while True:
        match node:
            case ast.Subscript(value=inner) | ast.Attribute(value=inner, attr="data" | "T" | "mT"):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if _is_view(f"torch.Tensor.{method}"):
                node = inner
            case ast.Name():
                return node
            case ast.Attribute():
                return node if names.chain(node) is not None else None
            case _:
                return None


def _is_view(name: str) -> bool:
    row = operator(name)
    return row is not None and row.alias in ("view", "maybe", "itself")


def _reads_only(place: Place, node: ast.AST, trail: _Trail) -> bool:
    """Whether all that is made of a tensor is new, so that it is read and neither written to nor kept."""
    if node in trail.seen:
        return True
    trail.seen.add(node)
    flow = place.flow
    for child, parent in flow.upwards(node):
        match parent:
            case ast.keyword() | ast.Starred():
                continue
            case ast.Attribute(attr=attr):
                if attr in _TOLD:
                    return isinstance(parent.ctx, ast.Load)
                method = flow.parents.get(parent)
                is_called = isinstance(method, ast.Call) and method.func is parent
                if not (is_called or attr in _VIEWS) or attr in _KEEPERS:
                    return False
            case ast.Subscript() if child is parent.value:
                if not isinstance(parent.ctx, ast.Load):
                    return False
            case ast.Subscript():
                trail.saves = True
                return True
            case ast.Tuple() if _is_index(flow, parent):
                pass
            case ast.List() | ast.Tuple():
                call = flow.parents.get(parent)
                joins = isinstance(call, ast.Call) and _row_name(place, call) in _JOINS
                return (joins and call.args[:1] == [parent]) or _stays(trail)  # type: ignore[union-attr]
            case ast.BinOp(op=op):
                trail.saves = trail.saves or not isinstance(op, ast.Add | ast.Sub)
                return True
            case ast.UnaryOp() | ast.Compare() | ast.FormattedValue() | ast.Assert():
                return True
            case ast.IfExp() if child is not parent.test:
                pass
            case ast.If() | ast.While() | ast.IfExp():
                return True
            case ast.Call():
                new = _is_new(place, parent, child, trail)
                if new is None:
                    return False
                if new:
                    return True
            case ast.Assign(targets=[target]):
                return _named(place, target, parent.value, trail)
            case ast.AugAssign():
                trail.saves = trail.saves or not isinstance(parent.op, ast.Add | ast.Sub)
                return place.value(parent.target).kind != "list"
            case ast.Expr():
                return True
            case _:
                return _stays(trail)
    return False


def _stays(trail: _Trail) -> bool:
    trail.stays = True
    return trail.may_stay


def _is_index(flow: Flow, node: ast.AST) -> bool:
    around = flow.parents.get(node)
    return isinstance(around, ast.Subscript) and around.slice is node


def _named(place: Place, target: ast.expr, value: ast.expr, trail: _Trail) -> bool:
    """Whether all reads of what an assignment names are only reads."""
    function = place.function
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    if not all(isinstance(part, ast.Name) for part in parts):
        return _stays(trail)
    if trail.may_stay:
        return _stays(trail)  # another name, which is looked at by itself
    for part in parts:
        assert isinstance(part, ast.Name)
        if is_shared(function, part.id) or any(_adds_in_place(function.flow, part.id)):
            return False
        found = list(readers(function, part.id, value))
        if not found and part is target:
            return False  # nobody reads it, or nobody yet
        trail.reads += found
        if len(trail.reads) > _MOST_READS or not all(_reads_only(place, one, trail) for one in found):
            return False
    return True


def _is_new(place: Place, call: ast.Call, child: ast.AST, trail: _Trail) -> bool | None:
    """Whether a call only reads what it is given, and gives something new (True) or perhaps that itself (False); None where nobody knows."""
    if any(not isinstance(one.value, ast.Constant) or one.value.value for one in _named_as(call, "inplace")):
        return None
    name = place.resolve(call.func)
    home, _, short = (name or "").rpartition(".")
    in_place = home == "torch.nn.functional" and short in _MAY_BE_IN_PLACE
    if in_place and any(number(one) is None for one in call.args[1:]):
        return None
    if name in _READERS:
        return True
    if child is call.func:
        return _of_operator(operator(f"torch.Tensor.{names.last(call.func)}"), trail) if name is None else None
    row = operator(name) if name is not None else None
    if row is not None:
        if any(one is child or one.value is child for one in _named_as(call, "out")):
            return None
        return _of_operator(row, trail)
    func = call.func
    if name is None and isinstance(func, ast.Attribute) and place.value(func.value).is_tensor:
        row = operator(f"torch.Tensor.{func.attr}")
        if row is not None:
            _of_operator(row, trail)
            trail.saves = trail.saves or (_writes(row) and func.attr not in _ADDS)
            return True  # `y.add_(x)`, `y.view_as(x)`
    if _is_layer(place, call):
        trail.saves = True
        return True
    if name is None and isinstance(func, ast.Attribute) and func.attr == "append" and trail.may_stay:
        return _stays(trail)
    return _of_project(place, call, child, trail)


def _named_as(call: ast.Call, name: str) -> Iterator[ast.keyword]:
    return (one for one in call.keywords if one.arg == name)


def _row_name(place: Place, call: ast.Call) -> str:
    """The last part of the name of the operator that a call calls; "" for others."""
    name = place.resolve(call.func) or ""
    return name.rpartition(".")[2] if operator(name) is not None else ""


def _writes(row: Operator) -> bool:
    """Whether an operator writes in place: `add_`, `torch.nn.init.zeros_`, `share_memory_`."""
    return row.alias == "self" or row.name.endswith("_")


def _of_operator(row: Operator | None, trail: _Trail) -> bool | None:
    if row is None or _writes(row):
        return None
    short = row.name.rpartition(".")[2]
    trail.wants_copy = trail.wants_copy or short in _WANTS_COPY
    if row.alias or short in _MAY_GIVE_BACK:
        return False
    if short in _KEEPERS or row.returns.kind not in _GIVES:
        return None
    trail.saves = trail.saves or not (short in _TAKES_NOTHING or carries_no_graph(row.name))
    return True


def _of_project(place: Place, call: ast.Call, child: ast.AST, trail: _Trail) -> bool | None:
    """The same of functions of the project, by what they do with their parameters."""
    functions = place.may_run(call) if trail.depth else []
    given = child.value if isinstance(child, ast.keyword) else child
    if not functions or any(one.decorators and not one.is_method for one in functions):
        return None
    gives_back = False
    for one in functions:
        parameter = one.parameter_given(call, given)
        found = _fate(place, one, parameter, trail.depth - 1) if parameter is not None else None
        if found is None:
            return None
        trail.saves = trail.saves or found.saves
        trail.wants_copy = trail.wants_copy or found.wants_copy
        gives_back = gives_back or found.gives_back
    return not gives_back


def _fate(place: Place, function: Function, parameter: str, depth: int) -> _Fate | None:
    """What a function does with what it is given; None where it may write to it, or keep it."""
    return place.once(
        ("fate of a clone", function, parameter, depth), lambda: _fate_of(place, function, parameter, depth)
    )


def _fate_of(place: Place, function: Function, parameter: str, depth: int) -> _Fate | None:
    flow, reach = function.flow, function.bindings.reach
    loads = [one for one in flow.loads.get(parameter, ()) if not isinstance(reach.get(one), Assigned)]
    written = is_shared(function, parameter) or any(_adds_in_place(flow, parameter))
    if len(loads) > _MOST_READS or written or function.yields:
        return None
    there = place.at(function, function.node)
    trail = _Trail(depth)
    gives_back = False
    for load in loads:
        trail.stays = False
        if not _reads_only(there, load, trail):
            if not trail.stays or not isinstance(flow.statement(load), ast.Return):
                return None
            gives_back = True
    return _Fate(trail.saves, gives_back, trail.wants_copy)


def _adds_in_place(flow: Flow, name: str) -> Iterator[ast.AugAssign]:
    """`x += 1`"""
    return (
        node
        for node in flow.nodes
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name
    )


def _span(function: Function, clone: ast.Call, trail: _Trail, saves: bool) -> tuple[int, int]:
    """The lines that may run between a clone and its last read: also those of a loop that reads it anew, or that left it for its next iteration.

    Where autograd keeps it, these are all behind it, and the loops around it.
    """
    flow = function.flow
    statement = flow.statement(clone)
    around = flow.loops(clone)
    starts, ends = [statement.lineno], [statement.end_lineno or 0]
    for read in trail.reads:
        outer = [one for one in flow.loops(read) if one not in around]
        ends.append((outer[-1] if outer else flow.statement(read)).end_lineno or 0)
    if around and (saves or any(read.lineno < statement.lineno for read in trail.reads)):
        starts.append(around[-1].lineno)
        ends.append(around[-1].end_lineno or 0)
    if saves:
        ends.append(function.node.end_lineno or 0)  # type: ignore[union-attr]
    return min(starts), max(ends)


def _is_left_alone(place: Place, clone: ast.Call, source: ast.Name | ast.Attribute, span: tuple[int, int]) -> bool:
    """Whether nothing writes to what was cloned in some lines."""
    flow, own = place.flow, place.function.own_name
    start, end = span
    whole = _thing(source, own)
    if whole is None:
        return False
    same = _same(place, whole)
    of_object = any("." in one for one in same)
    for node in flow.nodes:
        if not start <= getattr(node, "lineno", 0) <= end:
            continue
        match node:
            case ast.AugAssign() if _thing(node.target, own) in same and place.value(node.target).kind != "number":
                return False
            case ast.Delete():
                return False
            case ast.Call() if of_object and not _runs_nothing(place, node):
                return False
            case ast.Name() | ast.Attribute() if _named_thing(node, own) in same and not contains(clone, node):
                other = isinstance(node, ast.Name) and _is_of_other(place, node, source)
                if isinstance(node.ctx, ast.Load) and not (other or _reads_only(place, node, _Trail(may_stay=True))):
                    return False
    return True


def _is_of_other(place: Place, read: ast.Name, source: ast.expr) -> bool:
    """Whether a name is that of something new there, which is not what was cloned: `x` behind `x = kept.clone()`."""
    values = values_of(place.function, read)
    cloned = values_of(place.function, source) if isinstance(source, ast.Name) else []
    if not values or cloned is None:
        return False
    return all(_is_made(place, one) and one not in cloned for one in values)


def _runs_nothing(place: Place, call: ast.Call) -> bool:
    """Whether a call runs no code of the project, which might write to what an object holds."""
    name = place.resolve(call.func)
    if name is not None and (name in _READERS or operator(name) is not None):
        return True
    if isinstance(call.func, ast.Attribute) and place.value(call.func.value).is_tensor:
        return operator(f"torch.Tensor.{call.func.attr}") is not None
    return _is_layer(place, call)


def _is_layer(place: Place, call: ast.Call) -> bool:
    layer = place.value(call.func)
    return layer.kind == "module" and not layer.other_kinds and _LAYERS.search(layer.class_name) is not None


def _thing(node: ast.expr, own: str) -> str | None:
    """What a tensor is told from others by: the name that it starts at, `self.buffer` of `self.buffer[0].data`."""
    while isinstance(node, ast.Attribute | ast.Subscript) and _named_thing(node, own) is None:
        node = node.value
    return _named_thing(node, own)


def _named_thing(node: ast.AST, own: str) -> str | None:
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == own:
            return f"{own}.{attr}"
        case ast.Name(id=name) if name != own:
            return name
    return None


def _same(place: Place, thing: str) -> set[str]:
    """What may be the same tensor in a function, or what it is a part of."""
    pairs: list[tuple[set[str], set[str]]] = kept(place.function, "same tensors", lambda: list(_pairs(place)))
    found = {thing}
    for _ in range(_STEPS):
        for bound, given in pairs:
            if not (bound.isdisjoint(found) and given.isdisjoint(found)):
                found |= bound | given
    return found


def _pairs(place: Place) -> Iterator[tuple[set[str], set[str]]]:
    """What is named by assignments and loops, and what it may be, or be a part of."""
    for node in place.flow.nodes:
        if isinstance(node, ast.Assign) and not _is_made(place, node.value):
            yield {one for target in node.targets for one in _things(place, target)}, set(_things(place, node.value))
        elif isinstance(node, ast.For):
            yield set(_things(place, node.target)), set(_things(place, node.iter))


def _things(place: Place, node: ast.expr) -> Iterator[str]:
    """The tensors that an expression may be of; not what it calls."""
    flow, own = place.flow, place.function.own_name
    for part in ast.walk(node):
        around = flow.parents.get(part)
        found = _named_thing(part, own)
        is_called = isinstance(around, ast.Call) and around.func is part
        if found is not None and not is_called and ("." in found or found in flow.stores or found in flow.parameters):
            yield found


def _is_made(place: Place, node: ast.expr) -> bool:
    """Whether an expression is surely a new thing."""
    if isinstance(node, ast.BinOp | ast.Compare | ast.Constant | ast.UnaryOp):
        return True
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and place.value(node.func.value).is_tensor:
        row = operator(f"torch.Tensor.{node.func.attr}")
    else:
        row = operator(place.resolve(node.func) or "")
    if row is not None:
        return not (row.alias or _writes(row) or row.name.rpartition(".")[2] in _MAY_GIVE_BACK)
    return _is_layer(place, node)
