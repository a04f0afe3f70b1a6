"""What calls in loops give a function, whatever others give it that run once: a read on each iteration reads what is given on each iteration."""

from __future__ import annotations

import ast
from typing import Any

from . import frequency
from .evaluator import Evaluator
from .flow import Comprehension, Loop
from .place import Place
from .values import Value, join_all


def is_host_by_them(place: Place, node: ast.expr) -> bool:
    """Whether something lies on the host by what calls in loops give the place's function: `check(probs[i])` behind `probs = probs.to("cpu")`."""
    if not place.flow.parameters:
        return False
    values = place.once(("given in loops", place.function), lambda: _evaluator(place))
    return values is not None and values.value(node).on_cpu


def _evaluator(place: Place) -> Evaluator | None:
    """The function's values by such calls; None where all calls are such, where none is, or where these give nothing of the host."""
    function = place.function
    sites = place.project.own_sites(function)
    if len(sites) < 2:
        return None
    given = {site: _given(place, site) for site in sites}
    if not any(value.kind == "tensor" and value.on_cpu for values in given.values() for value in values.values()):
        return None
    often = [site for site in sites if not _is_once_beside(site, sites) and _is_repeated(place, site)]
    if not often or len(often) == len(sites):
        return None
    names = [name for name in given[often[0]] if all(name in given[site] for site in often)]
    together: dict[str, Value] = {name: join_all([given[site][name] for site in often]) for name in names}
    return place.project.evaluator_given(function, together) if any(one.on_cpu for one in together.values()) else None


def _given(place: Place, site: Any) -> dict[str, Value]:
    """What a call gives, by the names of parameters."""
    call = site.given or site.call
    nodes = ((name, place.function.argument(call, name)) for name in place.flow.parameters)
    return {name: place.project.value(site.function, node) for name, node in nodes if node is not None}


def _is_once_beside(site: Any, sites: list[Any]) -> bool:
    """Whether a call runs once where another one of the same function runs on each iteration of a loop."""
    around = _loops(site)
    return any(
        other.function is site.function and len(around) < len(_loops(other)) and set(around) <= set(_loops(other))
        for other in sites
    )


def _loops(site: Any) -> tuple[Loop | Comprehension, ...]:
    """The loops, and the comprehension, that run a call."""
    flow = site.function.flow
    found = flow.comprehension(site.call)
    return (*flow.loops(site.call), *([found] if found is not None else ()))


def _is_repeated(place: Place, site: Any) -> bool:
    """Whether a call runs in a loop of its function, or wherever steps, evaluations and forwards lead to it."""
    return bool(_loops(site)) or frequency.repeated(place.at(site.function, site.call))
