"""Loops of which each turn launches kernels for one row of a tensor, whatever it does with that: `for row in rows`, `[f(a, b) for a, b in zip(x, y)]`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ..system.regex import regex
from ..torch_api.operators import operator
from .flow import contains
from .layers import is_criterion
from .loop_rows import goes_by, gone_through, is_at, is_beside, is_device_tensor, is_taken_apart, on_device
from .names import last
from .nodes import bound_names, names_in, number, sized
from .place import Place
from .runs import counts_few
from .turn_parts import FEW, STEPS, is_kept_for_next
from .turns import bound_in, left_for_next
from .uses import meant

_SHAPE = regex(r"(?i)(?<!\.)shape|height|width|(?:^|\b|_)[hw]s?\b")
"""What the levels of a pyramid are told by, `for h, w in spatial_shapes:`, and pictures of sizes of their own."""
_LEAVES = (ast.Break, ast.Return, ast.While, ast.Yield, ast.Try, ast.With, ast.Lambda, ast.Await)
"""What a turn does that is more than a calculation."""
_SEES = frozenset(("view", "maybe", "itself"))
"""How an operator's result lies in memory where it may launch nothing."""
_UNIQUE = frozenset(("unique", "unique_consecutive"))
_KINDS = _UNIQUE | frozenset(("nonzero", "argwhere", "where"))
"""What gives a few kinds, or the places that were found."""
_RESIZES = frozenset(("interpolate", "upsample", "pad"))
FOUND = frozenset(("unique", "nonzero", "masked_select", "argwhere", "where"))
"""What gives as many elements as a row has of a kind."""
_OF_ONE = frozenset(("item", "int", "float"))
_CHANCE = ("random.", "numpy.random.")
_OF_PYTHON = frozenset(
    "append extend insert print len range isinstance int float bool str min max sum abs list tuple set sorted zip enumerate reversed".split()
)
"""Calls that launch nothing, or that wait for what they are given."""


def loop_launches_by_row(place: Place, loop: ast.For, *, alike: bool) -> bool:
    """Whether each turn of a loop launches kernels for its row of a tensor of the device, and none needs the turn before.

    `alike`: nothing but torch, and functions of the project that give tensors, has to do with the rows.
    """
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    if counts_few(place.function, loop) or not _goes_through_rows(place, loop.target, loop.iter, nodes):
        return False
    steps = (call for name in STEPS for call in place.flow.calls_named(name))
    if any(isinstance(node, _LEAVES) for node in nodes) or any(contains(loop, call) for call in steps):
        return False
    # What a turn leaves for the next one takes longest to tell.
    return _launches(place, _told(loop), nodes, alike) and not (left_for_next(loop) or is_kept_for_next(loop))


def list_launches_by_row(place: Place, made: ast.ListComp, *, alike: bool) -> bool:
    """The same of a list: `[z.repeat(n, 1) for z in rows]`."""
    by, nodes = made.generators[0], list(ast.walk(made.elt))
    if len(made.generators) > 1 or by.ifs or any(isinstance(node, _LEAVES) for node in nodes):
        return False
    told = bound_names(by.target)
    return _goes_through_rows(place, by.target, by.iter, nodes) and _launches(place, told, nodes, alike)


def goes_through_kinds(place: Place, loop: ast.For) -> bool:
    """Whether each turn of a loop asks which elements of a tensor of the device are of its kind: `for kind in labels.unique(): x[labels == kind]`.

    Not where each goes to NumPy.
    """
    target, given = loop.target, loop.iter
    if isinstance(given, ast.Call) and place.resolve(given.func) == "enumerate" and isinstance(target, ast.Tuple):
        if not (target.elts and given.args):
            return False  # which Python refuses to run
        target, given = target.elts[-1], given.args[0]
    made = meant(place.function, given)
    if not isinstance(target, ast.Name) or not isinstance(made, ast.Call) or last(made.func) not in _UNIQUE:
        return False
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    if any(isinstance(node, ast.Call) and last(node.func) == "numpy" for node in nodes):
        return False  # what is done on the host takes longer
    compared = (node for node in nodes if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq))
    sides = ([node.left, node.comparators[0]] for node in compared)
    asked = (one for pair in sides for one, kind in (pair, pair[::-1]) if names_in(kind) == {target.id})
    return any(_may_be_there(place, one) for one in asked) and _may_be_there(place, given)


def _may_be_there(place: Place, node: ast.expr) -> bool:
    value = place.value(node)
    return value.kind == "tensor" and not (value.on_cpu or value.from_loader or value.other_kinds)


def _goes_through_rows(place: Place, target: ast.expr, given: ast.expr, nodes: Sequence[ast.AST]) -> bool:
    """Whether a loop goes through tensors of the device, or counts how many rows one has, and takes those."""
    if any(isinstance(node, ast.Attribute | ast.Subscript) for node in ast.walk(target)):
        return False  # `for self.row in rows`: what a turn is called is no name
    written = f"{ast.unparse(target)} in {ast.unparse(given)}"
    if FEW.search(written) or _SHAPE.search(written):
        return False
    given = meant(place.function, given) if isinstance(given, ast.Name) else given
    called = goes_by(place, given)
    if not isinstance(given, ast.Call) or not given.args or called not in ("enumerate", "reversed", "zip", "range"):
        return _are_rows(place, given)
    if called == "zip":
        return len(given.args) > 1 and _are_alike(place, given.args)
    if called == "range":
        return isinstance(target, ast.Name) and _counts_rows(place, given.args) and _takes_rows(place, target.id, nodes)
    return _goes_through_rows(place, target, given.args[0], nodes)


def _are_alike(place: Place, zipped: Sequence[ast.expr]) -> bool:
    """Whether all that is gone through at once are likely tensors, and one surely is: the maps of levels stand in lists."""
    tensors = all(place.value(one).kind == "tensor" or is_taken_apart(place, one) for one in zipped)
    return tensors and any(_are_rows(place, one) for one in zipped)


def _are_rows(place: Place, given: ast.expr) -> bool:
    made = meant(place.function, given)
    if isinstance(made, ast.Call) and last(made.func) in _KINDS:
        return False
    return on_device(gone_through(place, given)) or is_taken_apart(place, given)


def _counts_rows(place: Place, given: Sequence[ast.expr]) -> bool:
    if len(given) == 3 and number(given[2]) not in (1, -1):
        return False
    return any(_is_extent(place, one) for one in given[:2])


def _is_extent(place: Place, end: ast.expr) -> bool:
    value = place.value(end)
    if value.kind == "number" and value.extent:
        return True
    measured = sized(end)
    return measured is not None and is_device_tensor(place, measured)


def _takes_rows(place: Place, turn: str, nodes: Iterable[ast.AST]) -> bool:
    """Whether rows are taken by their numbers, `x[i]` of a tensor of the device, and none beside them, `x[i - 1]`."""
    parts = [node for node in nodes if isinstance(node, ast.Subscript)]
    if any(is_beside(part.slice, turn) for part in parts):
        return False
    return any(is_at(part.slice, turn) and is_device_tensor(place, part.value) for part in parts)


def _told(loop: ast.For) -> set[str]:
    """The names of a turn, and of what it makes of them."""
    names = bound_names(loop.target)
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and not names.isdisjoint(names_in(node.value)):
                names |= {part.id for one in node.targets for part in ast.walk(one) if isinstance(part, ast.Name)}
    return names & (bound_names(loop.target) | bound_in(loop.body))


def _launches(place: Place, turn: set[str], nodes: Sequence[ast.AST], alike: bool) -> bool:
    """Whether what is calculated with the rows of a turn launches kernels, as no model does that runs for each; loops inside are told by themselves."""
    launched = False
    if alike and any(isinstance(node, ast.Dict) for node in nodes):
        return False
    within = {part for node in nodes if isinstance(node, ast.For) for one in node.body for part in ast.walk(one)}
    for node in nodes:
        if not isinstance(node, ast.BinOp | ast.Compare | ast.Call) or turn.isdisjoint(names_in(node)):
            continue
        value = place.value(node)
        gives = any(one.is_tensor and not one.on_cpu for one in (value, *(value.items or ())))
        if isinstance(node, ast.Call):
            name = last(node.func)
            if name in _OF_PYTHON:
                continue
            called = place.value(node.func)
            if called.kind == "module" and not is_criterion(called):
                return False
            is_method = isinstance(node.func, ast.Attribute) and called.kind != "function"
            row = operator(f"torch.Tensor.{name}") if is_method else None  # `self.expand(row, n)` is the project's
            if (alike and not gives and row is None) or _is_of_own_size(place, node, turn):
                return False
            if row is not None and row.alias in _SEES:
                continue
        launched = launched or (gives and node not in within)
    return launched


def _is_of_own_size(place: Place, call: ast.Call, turn: set[str]) -> bool:
    """Whether what a call makes of a row has a size that rows don't share: `row.nonzero()`, `F.interpolate(x, size=(h, w))` of `h`."""
    name = last(call.func)
    if name in _RESIZES:
        told = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
        return any(not turn.isdisjoint(names_in(one)) for one in told)
    if name == "where" and len(call.args) + len(call.keywords) > 1:
        return False
    return name in FOUND and last(getattr(place.flow.parents.get(call), "func", call)) not in _OF_ONE


def draws_lots(place: Place, loop: ast.For) -> bool:
    """Whether chance decides what is done with a row, as pictures are changed one by one: `if random.random() < 0.5:`."""
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    if not any(isinstance(node, ast.If) for node in nodes):
        return False
    calls = (place.resolve(node.func) or "" for node in nodes if isinstance(node, ast.Call))
    return any(name.startswith(_CHANCE) for name in calls)
