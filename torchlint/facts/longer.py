"""Functions and methods that make longer what they are given or keep."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import frequency, kept_by_objects, syntax
from .flow import contains
from .module import Function
from .names import chain
from .nodes import indices
from .place import Place


def is_kept_by_forwards(place: Place, grown: ast.expr) -> bool:
    """Whether forwards call the method, on an object that is there before and after them: `cache.append(k, v)`."""
    attribute = syntax.own_attribute(place.function, grown)
    klass = place.function.cls
    if attribute is None or klass is None or place.function.name == "__init__" or not frequency.in_forward(place):
        return False
    kin = [*place.project.ancestry(klass), *place.project.subclasses(klass)]
    begun = (one for each in kin for one in kept_by_objects.beginnings(each, attribute))
    again = (place.at(*one) for one in begun if one[0].name != "__init__" and one[0] is not place.function)
    if any(frequency.in_forward(one) for one in again):
        return False
    made = [place.at(*one) for each in kin for one in kept_by_objects.constructions(place, each)]
    return not made or not all(frequency.in_forward(one) for one in made)


def position_of(returned: ast.expr | None, name: str) -> int | None:
    """Where a name stands in what is returned: -1 by itself, or its place in a tuple; None where it stands nowhere."""
    if isinstance(returned, ast.Tuple):
        return next((i for i, part in enumerate(returned.elts) if chain(part) == [name]), None)
    return -1 if returned is not None and chain(returned) == [name] else None


def given_back_at(function: Function, name: str) -> int | None:
    """Where all returns of a function give a name back, as `position_of` tells it; None where one does not, or elsewhere."""
    positions = {position_of(node.value, name) for node in function.flow.returns}
    return positions.pop() if len(positions) == 1 else None


def grows_there(longer: Function, caller: Function, call: ast.Call, name: str, position: int | None) -> bool:
    """Whether a loop gives a call what the call gave before, and sets it nowhere else."""
    given = longer.argument(call, name)
    loops = caller.flow.loops(call)
    statement = caller.flow.parents.get(call)
    if not isinstance(given, ast.Name) or not loops or position is None or not isinstance(statement, ast.Assign):
        return False
    target: ast.expr = statement.targets[0]
    if position >= 0:
        target = (
            target.elts[position] if isinstance(target, ast.Tuple) and position < len(target.elts) else statement.value
        )
    stores = [store for store in caller.flow.stores.get(given.id, ()) if contains(loops[0], store)]
    return isinstance(target, ast.Name) and target.id == given.id and stores == [target]


def is_kept(place: Place, grown: ast.expr) -> bool:
    """Whether something is an attribute of the method's own object, or an entry of one: `self.store["key"]`.

    An entry of what the function around a hook has made outlives the hook's calls, too.
    """
    if isinstance(grown, ast.Subscript):
        if not isinstance(grown.slice, ast.Constant | ast.Name):
            return False
        grown = grown.value
        if isinstance(grown, ast.Name):
            return _is_outer(place, grown.id)
    name = chain(grown)
    return name is not None and len(name) > 1 and name[0] == place.function.own_name


def is_cut_elsewhere(place: Place, grown: ast.expr, dim: float | None) -> bool:
    """Whether another method of the class keeps a part of an attribute along a dimension, so that it does not grow without end: `self.rows = self.rows[~old]`."""
    name = syntax.own_attribute(place.function, grown)
    klass = place.function.cls
    for method, read in klass.uses.get(name, ()) if klass is not None and name is not None else ():
        part = method.flow.parents[read]
        kept = method.flow.parents[part]
        if isinstance(part, ast.Subscript) and part.value is read and isinstance(kept, ast.Assign):
            is_kept_there = any(syntax.own_attribute(method, target) == name for target in kept.targets)
            if is_kept_there and _cut_along(part) == dim:
                return True
    return False


def _cut_along(part: ast.Subscript) -> int | None:
    """The first dimension that an index takes less than all of: 1 of `x[:, kept]`."""
    for at, index in enumerate(indices(part.slice)):
        if not isinstance(index, ast.Slice) or index.lower or index.upper:
            return at
    return None


def is_hook(place: Place) -> bool:
    """Whether the function runs behind each forward of a module: `layer.register_forward_hook(save)`."""
    if not place.function.module.source.holds(b"register_forward_"):
        return False
    return any(
        isinstance(given, ast.Name) and given.id == place.function.name
        for function in place.function.module.functions
        for name in ("register_forward_hook", "register_forward_pre_hook")
        for call in function.flow.calls_named(name)
        for given in call.args
    )


def targets(place: Place) -> Iterator[ast.expr]:
    """What the function assigns to."""
    for node in place.flow.nodes:
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node


def _is_outer(place: Place, name: str) -> bool:
    """Whether a name is one of the function around."""
    around = place.function.parent
    own = name in place.flow.parameters or name in place.flow.stores
    return around is not None and around is not place.function.module.body and not own and name in around.flow.stores
