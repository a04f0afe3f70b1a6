"""What a function gives to others of its file that hand it on: `show(image)` of `def show(image): plt.imshow(image)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator

from ..text.declared import functions_in
from . import names
from .flow import Flow
from .module import Function
from .nodes import given_to
from .place import Place

_DEEP = 2
"""So many functions are followed, one after the other."""
Words = Callable[[Place], Collection[str]]
"""What calls are called in the function of a place that something is handed to."""


def handed_on(place: Place, words: Words, depth: int = _DEEP) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls of functions of the same file, each with what it gives that all of these hand to calls of the words for each."""
    function = place.function
    own = function.module.source.fact("functions", functions_in)
    for call in place.flow.calls:
        if names.last(call.func) not in own or not given_to(call):
            continue
        targets = place.project.targets(function, call)
        starts = [place.at(target, target.node) for target in targets]
        for given in given_to(call) if starts else ():
            if all(hands_on(start, call, given, words, depth - 1) for start in starts):
                yield call, given


def hands_on(start: Place, call: ast.Call, given: ast.AST, words: Words, depth: int = 1) -> bool:
    """Whether a function hands what a call gives it to a call of the words for it, or to another such function, `depth` calls further at most."""
    loads = _loads_of_given(start.function, call, given)
    if not loads:
        return False
    taking = words(start)
    if any(start.consumed_by(taking, load) for load in loads):
        return True
    handed = with_keywords(start.flow, (one for _, one in handed_on(start, words, depth))) if depth else ()
    return bool(handed) and any(start.consumed_by((), load, handed) for load in loads)


def with_keywords(flow: Flow, given: Iterable[ast.expr]) -> frozenset[ast.AST]:
    """What calls are given, and the keywords that give it."""
    found = list(given)
    around = (flow.parents.get(one) for one in found)
    return frozenset((*found, *(one for one in around if isinstance(one, ast.keyword))))


def _loads_of_given(function: Function, call: ast.Call, value: ast.AST) -> list[ast.Name]:
    """The reads of the parameter of a function for which a call gives a value."""
    return function.flow.loads.get(function.parameter_given(call, value) or "", [])
