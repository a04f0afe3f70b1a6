"""What the callers of a function send to the device only after it: `x, mask = self.mask_out(x)` in front of `x, mask = to_cuda(x, mask)`."""

from __future__ import annotations

import ast
import itertools
from typing import Any

from .nodes import assigned_in
from .place import Place
from .sending import roots, sent_later
from .uses import assigned

_CALLERS = 8
"""Of so many callers one is looked for that sends what it gives later."""
_DEPTH = 2
"""Through how many calls what a function is given is followed."""
_NAMES = 3
"""Through how many names a tensor is followed to the parameter."""


def is_sent_by_callers(place: Place, node: ast.expr) -> bool:
    """Whether a tensor is made of a parameter that some caller sends to the device after the call, or of which it sends what the call gives."""
    return any(_is_sent(place, name, _DEPTH) for name in _parameters(place, node, _NAMES))


def _parameters(place: Place, node: ast.expr, steps: int) -> set[str]:
    """The parameters that an expression takes parts of, or that it is calculated of."""
    found: set[str] = set()
    for root in roots(node):
        if root.id in place.flow.parameters:
            found.add(root.id)
        elif steps and (made := assigned(place.function, root)) is not None:
            found |= _parameters(place, made, steps - 1)
    return found - {place.function.own_name}


def _is_sent(place: Place, name: str, depth: int) -> bool:
    function = place.function
    key = ("sent by callers", function, name, depth)
    return place.once(
        key,
        lambda: any(
            _sends(place.at(site.function, site.call), site, place, name, depth)
            for site in itertools.islice(place.project.own_sites(function), _CALLERS)
        ),
    )


def _sends(caller: Place, site: Any, place: Place, name: str, depth: int) -> bool:
    given = place.function.argument(site.given or site.call, name)
    if given is None:
        return False
    flow = caller.flow
    statement = flow.statement(site.call)
    names = assigned_in(statement)
    made = [one for one in ast.walk(statement) if isinstance(one, ast.Name) and one.id in names]
    if any(sent_later(flow, one) for one in (given, *made)):
        return True
    return depth > 0 and any(_is_sent(caller, one, depth - 1) for one in _parameters(caller, given, _NAMES))
