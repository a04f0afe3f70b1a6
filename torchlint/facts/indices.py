"""What is read or written by an index that was made on the host, which is copied to the device for that."""

from __future__ import annotations

import ast

from . import frequency, syntax
from . import host_reads as reads
from .nodes import root_of
from .place import Place
from .sending import move_of
from .torch_table import TOLD, TOLD_BY_CALL
from .uses import readers
from .values import LIKELY

_USES = 20
"""A name that stands in more places is more than an index."""
_NAMES = 2
"""Through how many names a tensor is followed."""
_STEPS = 12
"""How many operations between the tensor and the brackets are looked through."""


def indexed(place: Place, made: ast.expr) -> list[ast.Subscript]:
    """The places whose index is calculated of a tensor of the host alone; none where it is used for something else, too."""
    return _indexed(place, made, _NAMES) or []


def _indexed(place: Place, node: ast.expr, names: int) -> list[ast.Subscript] | None:
    """The same, through so many names; None where it is used for something else."""
    parents = place.flow.parents
    for _ in range(_STEPS):
        parent = parents.get(node)
        if isinstance(parent, ast.Tuple):
            node, parent = parent, parents.get(parent)
        if isinstance(parent, ast.Subscript) and parent.slice is node:
            return [parent]
        if isinstance(parent, ast.Assign):
            target = parent.targets[0] if len(parent.targets) == 1 and names else None
            alone = (
                0 if isinstance(node, ast.Tuple) else names - 1
            )  # `rows = torch.arange(n), best` in front of `x[rows]`
            return _of_name(place, target.id, parent, alone) if isinstance(target, ast.Name) else None
        if isinstance(node, ast.Tuple):
            return None
        if isinstance(parent, ast.Subscript) and place.value(parent.slice).kind == "number":
            return []  # an element is read by the host
        if isinstance(parent, ast.Attribute):
            if parent.attr in TOLD:
                return []
            around = parents.get(parent)
            if isinstance(around, ast.Call) and around.func is parent:
                if parent.attr in TOLD_BY_CALL:
                    return []
                parent = around
        elif isinstance(parent, ast.Call) and place.resolve(parent.func) == "len":
            return []
        elif isinstance(parent, ast.List) and isinstance(around := parents.get(parent), ast.Call):
            parent = around  # `torch.cat([rows, others])`
        if not isinstance(parent, ast.expr):
            return None
        value = place.value(parent)
        if value.kind != "tensor" or not value.on_cpu:
            return None
        node = parent
    return None


def _of_name(place: Place, name: str, made: ast.Assign, names: int) -> list[ast.Subscript] | None:
    """What a name is an index of, behind the statement that gives it."""
    if len(place.flow.loads.get(name, ())) > _USES or name in place.flow.globals:
        return None
    loads = list(readers(place.function, name, made.value))
    if not names and not any(_in_brackets(place, load) for load in loads):
        return None  # what it is takes longer to tell than where it stands
    found: list[ast.Subscript] = []
    for load in loads:
        if gets_number(place, load):
            continue
        uses = _indexed(place, load, names)
        if uses is None:
            return None
        found += uses
    return found


def is_of_device(place: Place, use: ast.Subscript) -> bool:
    """Whether what is indexed is on the device: known to be there, or what a forward has, and does not send there afterwards."""
    value = place.value(use.value)
    if not value and isinstance(use.value, ast.Name):
        return _is_given_to_layer(place, use.value) or _is_multiplied(place, use, use.value)
    if value.kind != "tensor" or value.from_loader:
        return False
    if value.device == "accelerator":
        return not reads.is_sent_below(place, use.value)
    if any(move_of(place, one) is not None for one in (use, *_reads_of(place, use))):
        return False  # what is sent afterwards is on the host
    if place.in_forward or value.grad or (value.proven and frequency.in_forward(place)):
        return True
    # In a step what has a name there, and is not known to be on the host, is where the model is; what an object keeps may be a memory.
    named = isinstance(use.value, ast.Name) and place.hot is not None
    return named and reads.device_tensor(place, use.value, LIKELY) is not None


def _is_given_to_layer(place: Place, name: ast.Name) -> bool:
    """Whether a parameter is a tensor that lies where a module is, since a layer of that takes it as it is: `self.linear(hidden)`."""
    klass, flow = place.function.cls, place.flow
    if klass is None or name.id not in place.function.positions or flow.stores.get(name.id):
        return False
    if not place.project.is_module(klass) or not (place.hot is not None or frequency.in_forward(place)):
        return False
    calls = (flow.parents.get(load) for load in flow.loads[name.id])
    return any(
        isinstance(call, ast.Call)
        and syntax.own_attribute(place.function, call.func) is not None
        and place.value(call.func).kind == "module"
        for call in calls
    )


def _is_multiplied(place: Place, use: ast.Subscript, name: ast.Name) -> bool:
    """Whether the rows of what a method of a module is given are multiplied by what that holds, which lies where it does: `x[rows] @ self.projection`."""
    klass, product = place.function.cls, place.flow.parents.get(use)
    if klass is None or not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.MatMult):
        return False
    weight = product.right if product.left is use else product.left
    held = root_of(weight, ast.Attribute)
    given = name.id in place.function.positions and place.function.bindings.reach.get(name) is None
    if not given or held is None or held is weight or held.id != place.function.own_name:
        return False
    return place.project.is_module(klass) and (place.hot is not None or frequency.in_forward(place))


def _reads_of(place: Place, use: ast.Subscript) -> list[ast.Name]:
    """The reads of the name that `batch = x[rows]` gives, or `batch, y = x[rows], y[rows]`."""
    statement = place.flow.statement(use)
    targets = statement.targets[:1] if isinstance(statement, ast.Assign) else []
    if targets and isinstance(targets[0], ast.Tuple):
        targets = targets[0].elts
    bound = (one for one in targets if syntax.given_to_target(place.flow, one) is use)
    return [read for one in bound if isinstance(one, ast.Name) for read in place.flow.loads.get(one.id, ())]


def _in_brackets(place: Place, load: ast.Name) -> bool:
    """Whether a name stands in the brackets of something: `x[rows.long()]`."""
    return any(
        isinstance(around, ast.Subscript) and around.slice is child for child, around in place.flow.upwards(load)
    )


def gets_number(place: Place, load: ast.Name) -> bool:
    """Whether numbers are written to what is made: `x[0] = 1`, `mask[rows] = False`."""
    part = place.flow.parents[load]
    return isinstance(part, ast.Subscript) and part.value is load and is_number_put(place, part)


def written(place: Place, load: ast.Name) -> ast.expr | None:
    """What alone is written to a part of what is made: `y` of `x[0] = y`."""
    part = place.flow.parents[load]
    statement = place.flow.parents[part] if isinstance(part, ast.Subscript) and part.value is load else None
    return statement.value if isinstance(statement, ast.Assign) and statement.targets == [part] else None


def tells_shape(place: Place, load: ast.Name) -> bool:
    """Whether no element of what is made is read: `x.shape`."""
    part = place.flow.parents[load]
    return isinstance(part, ast.Attribute) and part.attr in TOLD


def is_number_put(place: Place, part: ast.expr) -> bool:
    """Whether a number is assigned to an expression alone: `x[i][0] = 1`."""
    statement = place.flow.parents[part]
    return (
        isinstance(statement, ast.Assign)
        and statement.targets == [part]
        and place.value(statement.value).kind == "number"
    )
