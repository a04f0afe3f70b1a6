"""What holds at a place, or wherever a function is called that does nothing else: `def to_numpy(x): return x.cpu().numpy()`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeVar, cast

from .place import Place
from .short_functions import is_all

P = TypeVar("P", bound=Place)

_MOST_CALLERS = 8
_DEEP = 2
"""So many such functions may call each other."""


def wherever(place: P, holds: Callable[[P], bool]) -> bool:
    """Whether something holds at a place, or, where that is all that its function does, at each call of the function."""
    return holds(place) or _at_calls(place, holds, _DEEP)


def _at_calls(place: P, holds: Callable[[P], bool], depth: int) -> bool:
    function = place.function
    if depth == 0 or not is_all(function, place.statement):
        return False
    sites = list(itertools.islice(place.callers(function), _MOST_CALLERS + 1))
    calls = [cast("P", place.at(one.function, one.call)) for one in sites]
    return 0 < len(calls) <= _MOST_CALLERS and all(holds(one) or _at_calls(one, holds, depth - 1) for one in calls)
