"""What a dictionary is written out with that a comprehension then moves, one by one: `{k: v.to(device) for k, v in inputs.items()}`."""

from __future__ import annotations

import ast

from .bindings import Assigned
from .host_filled import Filled, filled
from .place import Place
from .uses import fellows, only_reader


def filled_entries(place: Place, moved: ast.expr) -> list[Filled]:
    """What is filled on the host for a dictionary that is written out, and read for nothing else than the move of a place."""
    whole = _moved_whole(place, moved)
    bound = place.function.bindings.reach.get(whole) if whole is not None else None
    made = bound.node if isinstance(bound, Assigned) else None
    if whole is None or not isinstance(made, ast.Dict) or only_reader(place.function, whole.id, made) is not whole:
        return []
    if place.flow.loops(made) != place.flow.loops(whole):
        return []
    # What else is done with a part that has a name may need it on the host.
    parts = [one for one in made.values if not isinstance(one, ast.Name) or len(fellows(place.function, one)) == 1]
    found = (filled(place.at(place.function, part), part) for part in parts)
    return [one for one in found if one is not None]


def _moved_whole(place: Place, moved: ast.expr) -> ast.Name | None:
    """`inputs` of `{k: v.to(device) for k, v in inputs.items()}`, for `v`."""
    match place.flow.comprehension(place.target), moved:
        case (
            ast.DictComp(
                generators=[
                    ast.comprehension(
                        target=ast.Tuple(elts=[_, ast.Name(id=each)]),
                        iter=ast.Call(func=ast.Attribute(value=ast.Name() as whole, attr="items")),
                    )
                ]
            ),
            ast.Name(id=name),
        ) if name == each:
            return whole
    return None
