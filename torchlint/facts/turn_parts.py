"""The parts of tensors that the turns of a loop take, or fill, each by what it is: `x[b, :lengths[b]]` of `for b in range(n)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ..system.regex import regex
from .flow import contains
from .loop_rows import goes_by, is_device_tensor, is_turn
from .names import last
from .nodes import bound_names, indices, names_in, number
from .place import Place
from .runs import counts_few
from .turns import bound_in, left_for_next

FEW = regex(
    r"(?i)dim|shot|ways?\b|level|lvl|scale|stage|layer|head|channel|block|stack|group|order|axis|axes|epoch|fold|trial|round|stream|view|kernel|sp(?:ea)?k|source"
)
"""Of what there are a handful: dimensions, levels of a pyramid, layers of a model."""
_LEVEL = regex(r"(?i)(?:^|_)(?:lvl|level)(?:_|$)")
_SIZED = frozenset(("view", "reshape", "expand", "repeat", "narrow", "split", "range", "int"))
"""What takes sizes, which are read on the host and launch nothing."""
_ROWS = frozenset(("tensor", "number", "list", "tuple", "ndarray"))
"""What a list holds that was made for each row."""
STEPS = frozenset(("backward", "grad", "step", "no_sync"))
"""What a loop calls whose turns are steps, of a model or of a simulation, or backward passes."""


def goes_through_levels(loop: ast.For) -> bool:
    """Whether a loop goes through the levels of a pyramid, by what it calls them: `for lvl, (h, w) in enumerate(shapes):`."""
    return any(_LEVEL.search(name) for name in bound_names(loop.target))


def takes_parts(place: Place, loop: ast.For) -> bool:
    """Whether each turn of a loop launches kernels for its own part of a tensor of the device, however long that is.

    The turns are numbers, or what a list holds for each row. Not where a turn needs what the one before has left, where
    each has a layer of its own, where parts are batches (`x[i * n : (i + 1) * n]`), and where there are a handful.
    """
    if counts_few(place.function, loop) or left_for_next(loop):
        return False
    steps = (call for name in STEPS for call in place.flow.calls_named(name))
    return (
        not any(contains(loop, call) for call in steps)
        and _are_of_turns(place, loop.target, loop.iter, loop.body)
        and not is_kept_for_next(loop)
    )


def made_of_parts(place: Place, made: ast.ListComp | ast.GeneratorExp) -> bool:
    """The same of a list: `[x[b, : lengths[b]] for b in range(n)]`."""
    by = made.generators[0]
    return _are_of_turns(place, by.target, by.iter, [made.elt])


def _are_of_turns(place: Place, target: ast.expr, given: ast.expr, body: Iterable[ast.AST]) -> bool:
    """Whether tensors of the device have parts in the body that the turns choose, and there may be many turns."""
    if not _goes_through_many(place, given) or FEW.search(ast.unparse(target)):
        return False
    turn = bound_names(target)
    every = (node for one in body for node in ast.walk(one) if isinstance(node, ast.Subscript))
    parts = [one for one in every if not turn.isdisjoint(names_in(one.slice))]
    if any(_is_batch(one, turn) or place.value(one.value).kind == "module" for one in parts):
        return False
    return any(_is_told(place, one, turn) and is_device_tensor(place, one.value) for one in parts)


def _is_told(place: Place, part: ast.Subscript, turn: set[str]) -> bool:
    """Whether a part is computed with, or set to what the turn tells, or to a number.

    What a model gives each time may be drawn at random, and sizes are read on the host: `y.view(n, shapes[i][0])`.
    """
    around = place.flow.parents.get(part)
    while isinstance(around, ast.Subscript) and around.value is part:
        part, around = around, place.flow.parents.get(around)
    if isinstance(part.ctx, ast.Load):
        return not (isinstance(around, ast.Call) and part in around.args and last(around.func) in _SIZED)
    if not isinstance(around, ast.Assign):
        return True
    made_anew = any(isinstance(node, ast.Call) for node in ast.walk(around.value))
    return not made_anew or not turn.isdisjoint(names_in(around.value))


def _goes_through_many(place: Place, given: ast.expr) -> bool:
    """Whether a loop counts one by one, or goes through a list of what is no part of a model."""
    called = goes_by(place, given)
    if not isinstance(given, ast.Call) or not given.args or called not in ("range", "enumerate"):
        return False  # `enumerate()`, which Python refuses to run
    if any(FEW.search(ast.unparse(one)) for one in given.args):
        return False
    if called == "range":
        by = given.args[2] if len(given.args) == 3 else None
        return by is None or number(by) in (1, -1)
    if isinstance(given.args[0], ast.List | ast.Tuple):
        return False  # a list that is written out is a short one
    value = place.value(given.args[0])
    element = value.element if value.kind == "list" else None
    every = (element, *(element.items or ())) if element is not None else ()
    return bool(every) and all(one.kind in _ROWS for one in every)


def is_kept_for_next(loop: ast.For) -> bool:
    """Whether a turn reads what another one has put into an object, a list or a tensor: `hidden[layer] = cell(x[t], hidden[layer])`."""
    turn = bound_names(loop.target)
    nodes = [node for one in loop.body for node in ast.walk(one)]
    added = {node.target for node in nodes if isinstance(node, ast.AugAssign)}
    own = turn | (bound_in(loop.body) - left_for_next(loop))
    # `x` of `x[i]` and of `x.shape` is not read whole.
    within = {node.value for node in nodes if isinstance(node, ast.Subscript | ast.Attribute)}
    read: dict[str, set[str]] = {}
    written: list[ast.Attribute | ast.Subscript] = []
    for node in nodes:
        if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            continue
        if isinstance(node.ctx, ast.Load) and (isinstance(node, ast.Subscript) or node not in within):
            read.setdefault(_holder(node), set()).add(ast.unparse(node))
        elif isinstance(node.ctx, ast.Store) and not isinstance(node, ast.Name) and node not in added:
            written.append(node)
    for one in written:
        if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name) and one.value.id in own:
            continue  # the turn has made it
        is_own = isinstance(one, ast.Subscript) and not turn.isdisjoint(names_in(one.slice))
        if read.get(_holder(one), set()) - ({ast.unparse(one)} if is_own else set()):
            return True
    return False


def _holder(node: ast.Name | ast.Attribute | ast.Subscript) -> str:
    """What holds a part, `x` of `x[i]`; a name or an attribute itself."""
    return ast.unparse(node.value if isinstance(node, ast.Subscript) else node)


def _is_batch(part: ast.Subscript, turn: set[str]) -> bool:
    """`x[i * n : (i + 1) * n]`, `x[i : i + n]`: as many rows as somebody chose; `x[i : i + 1]` is one."""
    return any(
        isinstance(one, ast.Slice)
        and not any(is_turn(one, name) for name in turn)
        and all(bound is not None and not turn.isdisjoint(names_in(bound)) for bound in (one.lower, one.upper))
        for one in indices(part.slice)
    )
