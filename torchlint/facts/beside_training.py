"""What a model gives behind `model.eval()` in a function that trains as well, where nothing trains on it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from . import graph_liveness, syntax, training
from .common_names import MODEL_NAME
from .flow import contains
from .module import Function
from .names import chain, last
from .nodes import elements
from .place import Place
from .uses import readers

_PASSES_ON = ast.BinOp | ast.UnaryOp | ast.Tuple | ast.List | ast.Dict | ast.Subscript | ast.Attribute | ast.keyword
_PASSES_ON |= ast.Starred | ast.FormattedValue | ast.JoinedStr | ast.IfExp | ast.Slice
"""What holds or is made of what stands in it, and keeps it nowhere."""
_CALLERS = 3
"""How many functions give a result back on at most."""


def evaluated(place: Place, switch: ast.Call, model: list[str]) -> Sequence[ast.stmt]:
    """The statements behind `model.eval()` up to the end of its block, or to what switches the model again; none where they ask for gradients."""
    return place.once(("evaluated", switch), lambda: _evaluated(place, switch, model))


def _evaluated(place: Place, switch: ast.Call, model: list[str]) -> Sequence[ast.stmt]:
    switches = [*model, "train"], [*model, "eval"]
    block = syntax.block(place.flow, place.flow.statement(switch))
    found: list[ast.stmt] = []
    for statement in block[block.index(place.flow.statement(switch)) + 1 :]:
        if any(chain(call.func) in switches for call in place.flow.calls_within(statement)):
            break
        if training.asks(place.function, statement):
            return ()
        found.append(statement)
    return found


def is_unused(place: Place, value: ast.expr, within: Collection[ast.stmt]) -> bool:
    """Whether what becomes of a value in some statements keeps its graph for nobody: no read behind them, no attribute, no list.

    What they return has to have callers that are known, of which none trains on it.
    """
    return _is_unused(place, value, within, set())


def _is_unused(place: Place, value: ast.expr, within: Collection[ast.stmt], seen: set[ast.expr]) -> bool:
    if value in seen or graph_liveness.is_dead(place, value):
        return True
    seen.add(value)
    if not any(contains(statement, value) for statement in within):
        return False
    for child, parent in place.flow.upwards(value):
        if isinstance(parent, ast.Attribute) and graph_liveness.drops_graph(parent.attr):
            return True
        if isinstance(parent, ast.Call) and child is not parent.func and not _only_reads(place, parent):
            return False
        if isinstance(parent, ast.Assign):
            names = [name for target in parent.targets for name in elements(target)]
            return all(_is_unread(place, name, parent.value, within, seen) for name in names)
        if isinstance(parent, ast.AugAssign) and child is parent.value:
            return _is_unread(place, parent.target, parent.value, within, seen)
        if isinstance(parent, ast.Return):
            return _is_called_here_alone(place) and not training.is_trained_on(place, place.function)
        if isinstance(parent, ast.stmt):
            return isinstance(parent, ast.Expr)
        if not isinstance(parent, ast.Call | _PASSES_ON):
            return False
    return False


def _is_called_here_alone(place: Place, depth: int = _CALLERS) -> bool:
    """Whether calls of the place's function are known, and of those that give back what it gives; it is no method that a framework calls as well.

    A decorator may train on what it gives.
    """
    function = place.function
    if function.is_replaced:
        return False
    bases = [chain(base) for base in function.cls.bases] if function.cls is not None else []
    if not all(base == ["object"] for base in bases) or _is_given_away(function):
        return False
    sites = place.project.call_sites(function) or ()
    back = [place.at(one.function, one.call) for one in sites if training.gives_back(one.function, [one.call])]
    return bool(sites) and all(depth > 0 and _is_called_here_alone(one, depth - 1) for one in back)


def _is_given_away(function: Function) -> bool:
    """Whether what makes a function within it hands that on, so that others call it by names of their own: `return model_fn`."""
    if function.parent is None or function.parent is function.module.body or function.cls is not None:
        return False
    flow = function.parent.flow
    return not all(syntax.called(flow, load) for load in flow.loads.get(function.name, ()))


def _is_unread(
    place: Place, target: ast.expr, value: ast.expr, within: Collection[ast.stmt], seen: set[ast.expr]
) -> bool:
    """Whether all reads of a name that may find a value keep its graph for nobody, either."""
    if not isinstance(target, ast.Name) or target.id in place.flow.globals:
        return False
    if target.id in graph_liveness.read_within(place, place.function):
        return False
    reads = readers(place.function, target.id, value)
    return all(_is_unused(place, read, within, seen) for read in reads)


def _only_reads(place: Place, call: ast.Call) -> bool:
    """Whether a call keeps what it is given nowhere and does not train on it: what is not known may, where it is a method."""
    func = call.func
    targets = training.run_by(place, place.function, call)
    if targets:
        return not any(training.leads_to_training(place, one) for one in targets)
    if isinstance(func, ast.Name) or place.resolve(func) is not None or MODEL_NAME.search(last(func)):
        return True
    return place.value(func).kind == "module" or (
        isinstance(func, ast.Attribute) and place.value(func.value).kind in ("tensor", "module")
    )
