"""Losses whose callers are not known: they are there for who trains, on each step."""

from __future__ import annotations

import itertools

from ..facts.module import Function
from ..facts.values import Dict, Tuple, Value
from ..query.question import question
from ..system.regex import regex
from ..text.finders import fact_of_files
from ..text.source import Source, Words
from .project import Project
from .texts import MAX_SITES

_LOSS = regex(rb"def (?:(?:compute|get|calc|calculate)_)?((?:[a-z0-9]+_)*)loss(?:es)?\((?=[^()]{1,400},)")
"""The definition of a function of several things that calculates a loss by its name, with what the loss is called."""
_OTHERS = frozenset(
    b"""plot log print save load build make create init register eval evaluate test val valid validate estimate average
    reduce add set update record show draw write parse choose select is has use no train""".split()
)
_LOSSES = Words(b"loss(", b"losses(", pattern=_LOSS)


@fact_of_files("defines a loss")
def defines_loss(source: Source) -> bool:
    """Whether a text defines a function that calculates a loss by its name."""
    return source.holds(_LOSSES)


def is_loss(project: Project, function: Function) -> bool:
    """Whether a function of a module or class calculates a loss of several things, or a model's of a batch, by its name."""
    named = _LOSS.match(f"def {function.name}(a,".encode())
    if named is None or not _OTHERS.isdisjoint(named[1].split(b"_")):
        return False
    is_nested = function.cls is None and function.parent is not function.module.body
    given = len(function.parameters) - function.is_method
    return not is_nested and (
        given > 1 or (given == 1 and function.cls is not None and project.is_module(function.cls))
    )


@question("loss for who trains", False)
def is_for_who_trains(project: Project, function: Function) -> bool:
    """Whether a loss is called by nobody, or by such losses alone, though the project speaks of it."""
    sites = project.call_sites(function, MAX_SITES)
    if sites is None:
        return False
    own = [one.function for one in sites if not project.is_tested(one.function)]
    if not all(is_loss(project, caller) and is_for_who_trains(project, caller) for caller in own):
        return False
    return (bool(own) or _is_spoken_of(project, function)) and _gives_tensor(project, function)


def _is_spoken_of(project: Project, function: Function) -> bool:
    """Whether a decorator takes a function, or the project has its name in another place than a definition.

    Losses of a model that came with a copy of its file have no other.
    """
    name = function.name.encode()
    if function.decorators:
        return True
    others = (path for path in project.holders(rb"\b%s\b" % name) if path != function.module.path)
    if any(name not in project.defined(path) for path in others):
        return True
    found = regex(rb"\b%s\b" % name).finditer(function.module.source.data)
    return len(list(itertools.islice(found, 2))) > 1


def _gives_tensor(project: Project, function: Function) -> bool:
    returned = project.returns(function)
    first = returned.items[0] if isinstance(returned, Tuple) and returned.items else returned
    if isinstance(first, Dict):
        return any(map(_may_be_loss, (first.entries or {}).values()))
    return _may_be_loss(first)


def _may_be_loss(value: Value) -> bool:
    return value.kind == "tensor" and value.device != "cpu"
