"""What a function calculates together with a tensor that it makes on the host is on the host as well: torch takes no two devices."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator

from .module import key_of
from .nodes import string
from .place import Place
from .uses import assigned, readers
from .values import Tensor

_STAYS = frozenset(
    """abs argsort bool byte clone contiguous cos cumsum detach diff double exp expand flatten float half int log long neg
    permute repeat reshape short sin sqrt square t transpose tril triu unsqueeze view""".split()
)
"""Methods that give a tensor of the same device with as many elements: one number may be anywhere."""
_READS = frozenset("all any argmax argmin item max mean min norm numel prod std sum tolist var".split())
"""Methods that make less of a tensor, on its device."""
_OPERATORS = ast.Add | ast.Sub | ast.Mult | ast.Div | ast.FloorDiv | ast.MatMult | ast.BitAnd | ast.BitOr | ast.BitXor
_TOGETHER = frozenset(
    "torch." + name
    for name in "cat concat concatenate stack hstack vstack where maximum minimum matmul mm bmm mul add sub div".split()
)
"""Functions whose tensors are of one device."""


def is_met_on_host(place: Place, node: ast.expr) -> bool:
    """Whether something that no value tells the device of is calculated with what is made on the host: `x + torch.zeros(n)`."""
    if place.value(node).device:
        return False
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _READS:
        node = node.func.value
    known = place.once(("met on host", place.function), dict[Hashable, bool])
    if node not in known:
        _look_around(place, node, known)
    return known[node]


def _look_around(place: Place, node: ast.expr, known: dict[Hashable, bool]) -> None:
    """Note of a node, and of all that it leads to, whether that leads to the host; an answer hangs on no other that was asked before."""
    todo, met = list[Hashable]([node]), list[Hashable]()
    before: dict[Hashable, list[Hashable]] = {node: []}
    while todo:
        at = todo.pop()
        if isinstance(at, ast.expr) and (_is_on_host(place, at, sized=True) or _chooses_on_host(place, at)):
            met.append(at)
        for one in _next_to(place, at):
            if one in known:
                met += [at] if known[one] else []
                continue
            if one not in before:
                before[one] = []
                todo.append(one)
            before[one].append(at)
    known.update(dict.fromkeys(before, False))
    while met:
        if not known[at := met.pop()]:
            known[at] = True
            met += before[at]


def _next_to(place: Place, at: Hashable) -> Iterator[Hashable]:
    """What lies where a node does; a name, or an attribute, lies between all that reads it."""
    reads = place.once(("reads by name", place.function), lambda: _by_name(place))
    if not isinstance(at, ast.expr):
        yield from reads.get(at, ())
        return
    yield from _made_of(place, at)
    yield from _made_with(place, at)
    name = _name_of(place, at)
    if name is not None:
        yield name


def _is_on_host(place: Place, node: ast.expr, *, sized: bool) -> bool:
    """Whether something is a tensor of the host; one number of there goes along with whatever is on the device."""
    value = place.value(node)
    return isinstance(value, Tensor) and value.on_cpu and not value.from_loader and (value.sized or not sized)


def _chooses_on_host(place: Place, node: ast.expr) -> bool:
    """`torch.arange(n)[node]`: a part of what is on the host is chosen by what is there."""
    around = place.flow.parents.get(node)
    return isinstance(around, ast.Subscript) and around.slice is node and _is_on_host(place, around.value, sized=False)


def _made_of(place: Place, node: ast.expr) -> Iterator[ast.expr]:
    """What something is, or is calculated of, where that is a tensor: numbers are anywhere."""
    if isinstance(node, ast.Name):
        given = assigned(place.function, node)
        yield from [given] if given is not None else ()
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _STAYS and place.resolve(node.func) is None:
            yield node.func.value
    elif isinstance(node, ast.BinOp):
        yield from (side for side in (node.left, node.right) if place.value(side).kind == "tensor")
    elif isinstance(node, ast.Compare):
        yield from (side for side in (node.left, *node.comparators) if place.value(side).kind == "tensor")
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Subscript) and _is_of_tensor(place, node):
        yield node.value


def _name_of(place: Place, node: ast.expr) -> Hashable:
    """What binds a name, or an attribute that the function gives nothing: what is read by it is one thing."""
    if isinstance(node, ast.Name):
        return node.id, place.function.bindings.reach.get(node)
    key = key_of(node) if isinstance(node, ast.Attribute) else None
    return key if key not in place.flow.targets else None


def _by_name(place: Place) -> dict[Hashable, list[ast.expr]]:
    """What a function reads, by what it is read by."""
    found: dict[Hashable, list[ast.expr]] = {}
    for one in place.flow.nodes:
        if isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, ast.Load):
            found.setdefault(_name_of(place, one), []).append(one)
    return found


def _is_of_tensor(place: Place, node: ast.Subscript) -> bool:
    """Whether a part is one of a tensor: what a batch holds by names may lie anywhere."""
    return string(node.slice) is None and place.value(node.value).kind == "tensor"


def _made_with(place: Place, node: ast.expr) -> Iterator[ast.expr]:
    """What is calculated of something on its device, and the names that it is given."""
    parent = place.flow.parents.get(node)
    if isinstance(parent, ast.BinOp):
        yield from [parent] if isinstance(parent.op, _OPERATORS) else ()
    elif isinstance(parent, ast.UnaryOp | ast.Compare):
        yield parent
    elif isinstance(parent, ast.Subscript):
        yield from [parent] if parent.value is node and _is_of_tensor(place, parent) else ()
    elif isinstance(parent, ast.Attribute):
        call = place.flow.parents.get(parent)
        if parent.attr in _STAYS and isinstance(call, ast.Call) and call.func is parent:
            yield call
    elif isinstance(parent, ast.List | ast.Tuple | ast.Call):
        call = parent if isinstance(parent, ast.Call) else place.flow.parents.get(parent)
        if isinstance(call, ast.Call) and place.resolve(call.func) in _TOGETHER:
            yield call
    elif isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        yield from readers(place.function, parent.targets[0].id, parent.value)
