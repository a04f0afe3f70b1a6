"""Data of the host that a loop only reads, only adds to, or collects element by element."""

from __future__ import annotations

import ast

from . import syntax
from .bindings import Assigned
from .flow import Loop
from .host_constants import is_written
from .module import Function
from .nodes import bound_names, root_of, steps
from .place import Place
from .uses import assigned

_READERS = frozenset(
    """torch.tensor torch.as_tensor torch.from_numpy torch.LongTensor torch.FloatTensor numpy.array numpy.asarray
    all any enumerate filter isinstance len list map max min print range reversed set sorted str sum tuple zip""".split()
)
"""Functions that leave what they are given as it is."""
_CALLS = 2
"""Through how many calls of functions of the project a list is followed."""
_KEEPS = (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return, ast.Yield, ast.Tuple, ast.List, ast.Set, ast.Dict)
"""What gives a list to another name, or to somebody else."""
_COUNTS = frozenset(("range", "itertools.product"))
"""What a loop goes through that counts."""
_MOST_USES = 40
"""A name that stands in more places holds more than numbers that are gathered and sent."""
_STEPS = 6
"""How many operations and names lead to a number at most."""


def stays_same(place: Place, data: ast.expr) -> bool:
    """Whether the data is a name, or an attribute of one, that the loop around the place only reads."""
    root, loop = root_of(data, ast.Attribute), place.loop()
    if loop is None or root is None or root.id == "self" or root.id in place.flow.globals:
        return False
    if any(_within(loop, store) for store in place.flow.stores.get(root.id, ())):
        return False
    return not any(_may_change(place, load) for load in place.flow.loads.get(root.id, ()) if _within(loop, load))


def _may_change(place: Place, name: ast.Name, calls: int = _CALLS) -> bool:
    """Whether a use of a name may change what it holds: a method of it, a write to a part of it, a call that takes it and does not only read it."""
    node: ast.AST = name
    for parent in place.flow.ancestors(name):
        if isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is node:
            if not isinstance(parent.ctx, ast.Load):
                return True
        elif isinstance(parent, ast.Call):
            return place.resolve(parent.func) not in _READERS and not _is_read_by(place, parent, name, calls)
        elif not isinstance(parent, ast.keyword):
            return isinstance(parent, ast.AugAssign) and parent.target is node
        node = parent
    return False


def _is_read_by(place: Place, call: ast.Call, name: ast.Name, calls: int) -> bool:
    """Whether a call gives a name, as it is, to functions of the project that only read it."""
    functions = place.may_run(call) if calls else []
    given = [(one, one.parameter_given(call, name)) for one in functions]
    return bool(given) and all(
        parameter is not None and is_only_read(place, function, parameter, calls - 1) for function, parameter in given
    )


def is_only_read(place: Place, function: Function, parameter: str, calls: int = _CALLS) -> bool:
    """Whether a function leaves what it is given for a parameter as it is, and keeps it nowhere."""
    return place.once(
        ("only read", function, parameter, calls), lambda: _is_only_read(place, function, parameter, calls)
    )


def _is_only_read(place: Place, function: Function, parameter: str, calls: int) -> bool:
    flow, reach = function.flow, function.bindings.reach
    loads = flow.loads.get(parameter, ())
    if len(loads) > _MOST_USES or is_written(function, parameter):
        return False
    loads = [load for load in loads if not isinstance(reach.get(load), Assigned)]  # another thing by that name
    return not any(
        isinstance(flow.parents.get(load), _KEEPS) or _may_change(place.at(function, load), load, calls)
        for load in loads
    )


def only_grows(place: Place, data: ast.expr) -> bool:
    """Whether the data is a list that the loop around the place only adds to: `rewards.append(r)`, `tokens += [token]`."""
    while isinstance(data, ast.List) and len(data.elts) == 1:
        data = data.elts[0]  # `[tokens]`, a batch of one
    loop = place.loop()
    if loop is None or not isinstance(data, ast.Name) or data.id in place.flow.globals:
        return False
    if any(guard.block is not None for guard in place.flow.guards(place.target, loop)):
        return False  # from time to time
    stores = place.flow.stores.get(data.id, ())
    inside = [store for store in stores if _within(loop, store)]
    if len(inside) == len(stores) or not all(_is_extended(place, store) for store in inside):
        return False
    begins = (syntax.given_to_target(place.flow, store) for store in stores if store not in inside)
    if not all(isinstance(one, ast.List) for one in begins):
        return False
    called = [
        method for load in place.flow.loads.get(data.id, ()) if _within(loop, load) and (method := _method(place, load))
    ]
    return bool(inside or called) and all(method in ("append", "extend") for method in called)


def is_gathered(place: Place, data: ast.expr) -> bool:
    """Whether the data is a list that loops fill with numbers, one by one, for this place: `lengths.append(len(row))`, `rows[i].append(0)`.

    Or, where the loop counts, with a few of them at once: `centers += [i / height, j / width]`, `boxes.append((x, y, 1, 1))`.
    """
    gathered = _gathered(place, data)
    return bool(gathered) and all(_are_numbers(place, *one) for one in gathered)


def _are_numbers(place: Place, name: ast.Name, given: list[ast.expr]) -> bool:
    """Whether what a loop puts behind a list is one number, or a few that it calculates of what it counts."""
    if len(given) == 1 and not isinstance(given[0], ast.List | ast.Tuple):
        return _is_single(place, given[0], _STEPS)
    loop = place.flow.loops(name)[0]
    counts = isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and place.resolve(loop.iter.func) in _COUNTS
    numbers = [number for one in given for number in (_written_out(one) or [one])]
    return counts and all(_is_single(place, number, _STEPS) for number in numbers)


def is_of_rows_read_back(place: Place, data: ast.expr) -> bool:
    """Whether the data is a list that a loop fills for this place, row by row of what was copied to the host for that: `for row in x.cpu().numpy(): found.append(np.unique(row))`."""
    around = place.flow.loops(place.target)
    gathered = _gathered(place, data)
    loops = {place.flow.loops(load)[-len(around) - 1] for load, _ in gathered}
    return bool(loops) and all(isinstance(loop, ast.For) and _is_read_back(place, loop.iter) for loop in loops)


def _is_read_back(place: Place, rows: ast.expr) -> bool:
    """`x.cpu().numpy()`, or a name for that."""
    bound = place.function.bindings.reach.get(rows) if isinstance(rows, ast.Name) else None
    made = bound.node if isinstance(bound, Assigned) else rows
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
        if made.func.attr == "cpu":
            return True
        made = made.func.value
    return False


def _gathered(place: Place, data: ast.expr) -> list[tuple[ast.Name, list[ast.expr]]]:
    """Where loops add to a list that begins empty, for this place, and what; nothing where something else is done with it before."""
    if not isinstance(data, ast.Name) or data.id in place.flow.globals or data.id in place.flow.parameters:
        return []
    flow, around = place.flow, place.flow.loops(place.target)
    if len(flow.loads.get(data.id, ())) + len(flow.stores.get(data.id, ())) > _MOST_USES:
        return []
    # What another branch calls so, and what gets the name now, is another thing.
    stores = [store for store in flow.stores.get(data.id, ()) if not syntax.exclusive(flow, store, data)]
    stores = [store for store in stores if flow.statement(store) is not place.statement]
    begins = [store for store in stores if not _is_extended(place, store)]
    if len(begins) != 1 or flow.loops(begins[0]) != around or not _is_empty(place, begins[0]):
        return []
    names = [load for load in flow.loads.get(data.id, ()) if load.lineno < data.lineno and _is_changed(place, load)]
    gathered = [(name, _added(place, name)) for name in (*names, *stores) if name is not begins[0]]
    adds = all(given and len(flow.loops(name)) > len(around) for name, given in gathered)
    return gathered if adds else []


def _is_empty(place: Place, store: ast.Name) -> bool:
    """`rows = []`, `rows = [[] for _ in range(n)]`"""
    made = syntax.given_to_target(place.flow, store)
    made = made.elt if isinstance(made, ast.ListComp) else made
    return isinstance(made, ast.List) and not made.elts


def _is_changed(place: Place, load: ast.Name) -> bool:
    """Whether a method is called of a list, or of one of its rows."""
    return _changed_by(place, load) is not None


def _changed_by(place: Place, load: ast.Name) -> ast.Call | None:
    """The method that is called of a list, or of one of its rows: `rows.append(row)`, `rows[i].append(1)`."""
    owner: ast.AST = load
    use = place.flow.parents[owner]
    if isinstance(use, ast.Subscript) and use.value is owner:
        owner, use = use, place.flow.parents[use]
    call = place.flow.parents[use] if isinstance(use, ast.Attribute) else None
    return call if isinstance(call, ast.Call) and call.func is use else None


def _added(place: Place, name: ast.Name) -> list[ast.expr]:
    """What is put behind a list where it stands, as far as that is written out: `rows.append(row)`, `rows.extend((0, 1))`, `rows += [0, 1]`."""
    statement = place.flow.parents[name]
    if isinstance(statement, ast.AugAssign):
        return _written_out(statement.value) if isinstance(statement.op, ast.Add) else []
    call = _changed_by(place, name)
    if call is None or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return []
    if call.func.attr == "extend":
        return _written_out(call.args[0])
    return call.args if call.func.attr == "append" else []


def _written_out(node: ast.expr) -> list[ast.expr]:
    """The parts of a list or tuple that stands there; none of something else."""
    return node.elts if isinstance(node, ast.List | ast.Tuple) else []


def _is_single(place: Place, node: ast.expr, steps: int) -> bool:
    """Whether an expression is one number, or calculated of such and of elements of arrays."""
    if not steps:
        return False
    if isinstance(node, ast.UnaryOp):
        return _is_single(place, node.operand, steps - 1)
    if isinstance(node, ast.BinOp):
        return _is_single(place, node.left, steps - 1) and _is_single(place, node.right, steps - 1)
    value = place.value(node)
    if value.kind == "number":
        return not value.other_kinds
    if isinstance(node, ast.Subscript):
        return place.value(node.value).kind == "ndarray" and not isinstance(node.slice, ast.Slice)
    if isinstance(node, ast.Name):
        made = assigned(place.function, node)
        return made is not None and made is not node and _is_single(place, made, steps - 1)
    return False


def _is_extended(place: Place, store: ast.Name) -> bool:
    """`tokens += [token]`"""
    statement = place.flow.parents[store]
    return isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.List)


def _method(place: Place, load: ast.Name) -> str:
    """`append` of `tokens.append(token)`, `del` of `del tokens[0]`; "" of what only reads."""
    use = place.flow.parents[load]
    if isinstance(use, ast.Subscript) and not isinstance(use.ctx, ast.Load):
        return "del"
    return use.attr if isinstance(use, ast.Attribute) else ""


def _within(loop: Loop, name: ast.Name) -> bool:
    return loop.lineno <= name.lineno <= (loop.end_lineno or loop.lineno)


def collected_in(place: Place, made: ast.expr) -> str | None:
    """The tensor of the device that gets one element on each iteration, and that the loop does not read."""
    statement, loop = place.statement, place.loop((ast.For,))
    if not isinstance(statement, ast.Assign) or not isinstance(loop, ast.For) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not (
        isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and made in steps(statement.value)
    ):
        return None
    counters = bound_names(loop.target)
    index = target.slice.elts[0] if isinstance(target.slice, ast.Tuple) and target.slice.elts else target.slice
    if not (isinstance(index, ast.Name) and index.id in counters) or place.value(target.value).device != "accelerator":
        return None
    read = [load for load in place.flow.loads.get(target.value.id, ()) if _within(loop, load)]
    return target.value.id if read == [target.value] else None
