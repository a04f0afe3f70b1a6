"""How much of a loader a program draws: whether it is more than one batch."""

from __future__ import annotations

import ast
import re

from ..system.stamp import as_bytes
from .flow import Flow
from .names import last
from .nodes import Choice, argument_of, bound_names, measured, sized
from .place import Place
from .syntax import own_attribute, same
from .uses import assigned, readers

_SUBSET = "torch.utils.data.Subset"
FEW = 8
"""How many batches workers would still be starting for."""


def is_first_alone(place: Place) -> bool:
    """Whether one batch is all that anybody draws of the loader that the place makes: `next(iter(loader))` alone reads it, once, or now and then for the object that keeps it."""
    made = place.target
    return isinstance(made, ast.Call) and (_is_read_once(place, made) or _is_begun_for_each(place, made))


def is_few(place: Place) -> bool:
    """Whether a few batches are all that anybody draws of the loader that the place makes: one loop alone goes through it, once, and ends soon."""
    loop = _only_loop(place)
    return loop is not None and (_is_cut(place, loop.iter) or _ends_soon(place, loop))


def is_empty(place: Place) -> bool:
    """Whether the loader that the place makes has nothing to give: `DataLoader(Subset(data, []))`."""
    given = argument_of(place.target, "dataset", 0) if isinstance(place.target, ast.Call) else None
    subset = assigned(place.function, given) if isinstance(given, ast.Name) else given
    if not isinstance(subset, ast.Call) or place.resolve(subset.func) != _SUBSET:
        return False
    indices = argument_of(subset, "indices", 1)
    return isinstance(indices, ast.List | ast.Tuple) and not indices.elts


def is_unread(place: Place) -> bool:
    """Whether the batches of the loader that the place makes are looked at by nobody: `for _ in tqdm(loader): pass`, which takes the time."""
    loop = _only_loop(place)
    return loop is not None and not any(
        loop in place.flow.loops(load) for name in bound_names(loop.target) for load in place.flow.loads.get(name, ())
    )


def _only_loop(place: Place) -> ast.For | None:
    """The one loop that goes through the loader that the place makes, itself or what a call makes of it, where nobody else reads it."""
    read: ast.AST | None = _only_read(place, place.target) if isinstance(place.target, ast.Call) else None
    while read is not None:
        around = place.flow.argument_of(read)
        if isinstance(around, ast.For):
            return around if around.iter is read else None
        read = around if isinstance(around, ast.Call) and around.func is not read else None
    return None


def _is_cut(place: Place, iterable: ast.expr) -> bool:
    """`islice(loader, 4)`, `tqdm(islice(enumerate(loader), 4))`, `zip(range(4), loader)`"""
    for call in ast.walk(iterable):
        match call:
            case ast.Call(args=[_, bound]) if last(call.func) == "islice" and _is_small(place, bound):
                return True
            case ast.Call(args=[ast.Call(func=ast.Name(id="range"), args=[bound]), _]) if last(call.func) == "zip":
                return _is_small(place, bound)
    return False


def _ends_soon(place: Place, loop: ast.For) -> bool:
    """Whether a loop counts its batches and leaves after a few: `for i, x in enumerate(loader): if i >= 4: break`."""
    counts = any(isinstance(part, ast.Call) and last(part.func) == "enumerate" for part in ast.walk(loop.iter))
    counter = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
    if not counts or not isinstance(counter, ast.Name):
        return False
    for statement in loop.body:
        match place.flow.choice(statement) if isinstance(statement, ast.If) else None:
            case Choice(
                test=ast.Compare(
                    left=ast.Name(id=name) | ast.BinOp(left=ast.Name(id=name), op=ast.Add()),
                    ops=[ast.Eq() | ast.GtE() | ast.Gt()],
                    comparators=[bound],
                ),
                true=True,
                block=[*_, ast.Break() | ast.Return()],
            ) if name == counter.id and _is_small(place, bound):
                return True
    return False


def _is_small(place: Place, bound: ast.expr) -> bool:
    """Whether a bound is written out, or has a name that is, and low."""
    found = place.function.number(bound)
    return found is not None and 0 <= found <= FEW


def is_whole(call: ast.Call) -> bool:
    """Whether one batch is as large as the dataset, so that there is no other to prepare: `DataLoader(data, batch_size=len(data))`, `DataLoader(x, batch_size=x.shape[0])`"""
    dataset = argument_of(call, "dataset", 0)
    size = argument_of(call, "batch_size", 1)
    return same(measured(size) or sized(size), dataset)


def _is_read_once(place: Place, made: ast.Call) -> bool:
    """Whether the one read of what is made, in no loop that it is not made in, takes the first batch: `next(iter(loader))`, or the same in two steps."""
    read = _only_read(place, made)
    taken = place.flow.parents.get(read) if read is not None else None
    if not isinstance(taken, ast.Call):
        return False
    if last(taken.func) == "next":
        return last(made.func) == "iter"
    outer = place.flow.parents.get(taken)
    if isinstance(outer, ast.Call):
        return last(taken.func) == "iter" and last(outer.func) == "next"
    return last(taken.func) == "iter" != last(made.func) and _is_read_once(place, taken)


def _is_begun_for_each(place: Place, made: ast.Call) -> bool:
    """Whether all that reads a loader that an object keeps begins it for one batch, on no training step: `self.shown = DataLoader(...)`, `next(iter(self.shown))`. Workers would be started for each."""
    function, module, statement = place.function, place.function.module, place.flow.statement(made)
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is made else []
    kept = own_attribute(function, targets[0]) if len(targets) == 1 else None
    if kept is None or function.cls is None or len(function.cls.stores.get(kept, ())) != 1:
        return False
    reads = function.cls.uses.get(kept, [])
    known = {targets[0].end_lineno, *(read.end_lineno for _, read in reads)}
    if not reads or not known.issuperset(module.lines_holding(kept)):
        return False
    if not all(_is_begun_for_one(method.flow, read) for method, read in reads):
        return False
    word = as_bytes(kept)
    if place.project.holders(rb"\b%s\b" % re.escape(word), word=word) - {module.path}:
        return False
    return all(place.at(method, read).hot is None for method, read in reads)


def _is_begun_for_one(flow: Flow, read: ast.expr) -> bool:
    """`loader` of `next(iter(loader))`"""
    begun = flow.parents.get(read)
    taken = flow.parents.get(begun) if begun is not None else None
    calls = [one for one in (begun, taken) if isinstance(one, ast.Call)]
    return [last(call.func) for call in calls] == ["iter", "next"]


def _only_read(place: Place, made: ast.Call) -> ast.Name | None:
    """The one read of the name that a statement gives what is made, in the loops of that statement."""
    function, flow = place.function, place.flow
    statement = flow.statement(made)
    if not isinstance(statement, ast.Assign) or statement.value is not made or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or target.id in flow.globals or _is_known_outside(place, target.id):
        return None
    reads = list(readers(function, target.id, made))
    return reads[0] if len(reads) == 1 and flow.loops(reads[0]) == flow.loops(statement) else None


def _is_known_outside(place: Place, name: str) -> bool:
    """Whether another function, or another file, may read what a name of the function holds."""
    function, module = place.function, place.function.module
    if function is module.body and place.project.importers(module.path):
        return True
    others = (one for one in module.functions_at(module.lines_holding(name)) if one is not function)
    return any(name in one.flow.loads and not one.binds(name) for one in others)
