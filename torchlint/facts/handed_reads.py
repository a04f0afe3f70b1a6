"""Helpers that read what they are given where it is a tensor, and the calls that hand them one of the device again and again."""

from __future__ import annotations

import ast
from itertools import islice
from typing import NamedTuple

from . import frequency, host_reads
from .module import Function
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
