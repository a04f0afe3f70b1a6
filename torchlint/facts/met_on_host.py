"""What a function calculates together with a tensor that it makes on the host is on the host as well: torch takes no two devices."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from .module import key_of
from .nodes import string
from .place import Place
from .uses import assigned, fellows, readers
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
_MOST = 16
"""How many places are looked at."""


def is_met_on_host(place: Place, node: ast.expr) -> bool:
    """Whether something that no value tells the device of is calculated with what is made on the host: `x + torch.zeros(n)`."""
    if place.value(node).device:
        return False
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _READS:
        node = node.func.value
    todo, seen = [node], {node}
    while todo and len(seen) < _MOST:
        at = todo.pop()
        if at is not node and _is_on_host(place, at, sized=True):
            return True
        if _chooses_on_host(place, at):
            return True
        new = [one for one in islice((*_made_of(place, at), *_made_with(place, at)), _MOST) if one not in seen]
        seen.update(new)
        todo += new
    return False


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
        yield from (node, *([given] if given is not None else []))
        if len(place.flow.loads.get(node.id, ())) < _MOST:
            yield from fellows(place.function, node)
    elif isinstance(node, ast.Attribute):
        key = key_of(node)
        if key is not None and key not in place.flow.targets:
            yield from place.once(("attributes", place.function), lambda: _by_key(place)).get(key, ())
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


def _by_key(place: Place) -> dict[str, list[ast.expr]]:
    """The attributes that a function reads, by the names that stand for them."""
    found: dict[str, list[ast.expr]] = {}
    for one in place.flow.nodes:
        if isinstance(one, ast.Attribute) and (key := key_of(one)) is not None:
            found.setdefault(key, []).append(one)
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
        name = parent.targets[0].id
        if len(place.flow.loads.get(name, ())) < _MOST:
            yield from readers(place.function, name, parent.value)
