"""Helpers that read what they are given where it is a tensor, and the calls that hand them one of the device again and again."""

from __future__ import annotations

import ast
from itertools import islice
from typing import NamedTuple

from . import frequency, host_reads
from .module import Function
from .nodes import names_in
from .place import Place

_CALLERS = 40


class Handed(NamedTuple):
    function: Function
    given: ast.expr
    """What is handed over, and read."""
    how_often: str


def handed(place: Place, name: str) -> Handed | None:
    """A call that hands the function of a place a tensor of the device as the parameter of a name: `loss.data` of `utils.item(loss.data)`.

    On steps, or in the forward of a module: what other calls hand to the same helper may be anything.
    """
    for one in islice(place.project.calls_of(place.function), _CALLERS):
        given = place.function.argument(one.call, name) if one.given is None else None
        there = place.at(one.function, one.call)
        if given is None or there.role == "test" or there.rare or not there.accelerator:
            continue
        if host_reads.device_tensor(there, given) is None:
            continue
        if there.hot is not None and not there.beside_generation:
            return Handed(one.function, given, "on every training step")
        if there.hot is None and frequency.in_forward(there):
            return Handed(one.function, given, frequency.of_calls(there))
    return None


def is_number_on_steps(place: Place, node: ast.expr) -> bool:
    """Whether an expression is made of a parameter for which all calls on steps give a number: `total / size`, by `self.write(1, loss.item())` there, and `self.write(n, total)` in a validation."""
    function = place.function
    taken = names_in(node) & function.positions.keys() - {function.own_name}
    given = [name for name in taken if name not in function.flow.stores]
    kinds = [_given_on_steps(place, name) for name in sorted(given)] if place.hot is not None else []
    return any("number" in one for one in kinds) and all(one <= {"number", "str"} for one in kinds)


def _given_on_steps(place: Place, name: str) -> set[str]:
    """What kinds of things calls on steps give for a parameter."""
    function, found = place.function, set[str]()
    for one in islice(place.project.calls_of(function), _CALLERS):
        given = function.argument(one.call, name) if one.given is None else None
        there = place.at(one.function, one.call)
        if there.role == "test" or there.hot is None:
            continue
        value = there.value(given) if given is not None else None
        found.update((value.kind, *value.other_kinds) if value is not None else ("unknown",))
    return found
