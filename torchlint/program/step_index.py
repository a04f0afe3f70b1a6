"""What a project does on every step: the loops around backward passes and optimizers, across functions, and what they call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..facts.alternatives import Said
from . import stepping
from .frameworks import may_run_on_steps
from .places import Ask, Asked, CallPlace, LoopPlace, Place, Subject, soundly, whole
from .project import Project
from .step_text import may_step

Closures = dict[CallPlace, list[Place]]


class Why(NamedTuple):
    """Why a function runs on every training step, as plain data; see `Hot`."""

    function: Place
    loop: LoopPlace | None
    weak: bool = False
    depth: int = 0
    given: tuple[Said, ...] = ()
    """What all calls that lead to it on steps say of its parameters."""


class StepIndex(NamedTuple):
    """What a project does on every step: the step loops with the functions they stand in, and what these call."""

    loops: Mapping[LoopPlace, Place]
    training: frozenset[str]
    """The names of the functions with step loops."""
    functions: Mapping[Place, Why]


def step_index(project: Project, asked: Asked[Subject, Any, Any]) -> StepIndex:
    """Find what a project does on every step."""
    ask = soundly(project, asked)
    return whole(project, "Finding step loops", lambda: _step_index(project, ask), StepIndex({}, frozenset(), {}))


def _step_index(project: Project, ask: Ask[Subject, Any, Any]) -> StepIndex:
    loops: dict[LoopPlace, Place] = {}
    closures: Closures = {}
    framework: list[Place] = []
    names_of: dict[Place, str] = {}
    steppers: list[stepping.Stepper] = []
    generators: list[Place] = []
    paths = [
        path for path in project.paths if project.fact(path, "may step", may_step) or may_run_on_steps(project, path)
    ]
    for own in ask(stepping.own_steps, paths, stepping.Own([], [], [], [])):
        for loop, function, name in own.loops:
            loops.setdefault(loop, function)
            names_of[function] = name
        steppers += own.steppers
        framework += own.framework
        generators += own.giving
    for taking in ask(stepping.loops_taking, generators, []):
        for loop, function, name in taking:
            loops.setdefault(loop, function)
            names_of[function] = name
    seen = set(steppers)
    chain = _Chain({}, {}, {})
    while steppers:
        # Step loops around the calls of functions that step; the callers that have none are the next to ask for.
        further: dict[stepping.Stepper, None] = {}
        for one, callers in zip(steppers, ask(stepping.callers_of, steppers, stepping.Callers([], [])), strict=True):
            function = one.function
            for call in callers.given_to:
                closures.setdefault(call, []).append(function)
            if callers.on_batches:
                framework.append(function)
                chain.looped[function] = None
            for stepper, around, name in callers.sites:
                caller = stepper.function
                if around is not None:
                    loops.setdefault(around, caller)
                    names_of[caller] = name
                    chain.looped[function] = None
                else:
                    further[stepper] = None
                    chain.steppers.setdefault(caller, []).append(function)
                    chain.names[caller] = name
        steppers = [one for one in further if seen.isdisjoint((one, stepping.Stepper(one.function)))]
        seen.update(steppers)
    heated = {
        loop: function for loop, function in loops.items() if not project.in_test(function[0], names_of[function])
    }
    given = _giving(heated, ask)
    heated |= given
    throttled = [one for one, name in _on_the_way(chain) if not project.in_test(one[0], name)]
    called = _called_on_steps(heated, framework, throttled, closures, ask)
    return StepIndex({**given, **loops}, frozenset(names_of.values()), called)


class _Chain(NamedTuple):
    """How step loops come to the functions that step."""

    looped: dict[Place, None]
    """The functions that a loop around a call runs."""
    steppers: dict[Place, list[Place]]
    """The functions that step, or lead to those, by who calls them outside of loops."""
    names: dict[Place, str]
    """The names of the callers."""


def _on_the_way(chain: _Chain) -> Iterator[tuple[Place, str]]:
    """The functions between a step loop and the function that steps, with their names: what runs there is part of the step."""
    todo = list(chain.looped)
    reached = set(todo)
    while todo:
        function = todo.pop()
        if function in chain.names:
            yield function, chain.names[function]
        further = [one for one in chain.steppers.get(function, ()) if one not in reached]
        reached.update(further)
        todo += further


def _giving(loops: Mapping[LoopPlace, Place], ask: Ask[Subject, Any, Any]) -> dict[LoopPlace, Place]:
    """The loops of generators that step loops go through, which run as often, with their functions."""
    found: dict[LoopPlace, Place] = {}
    todo = dict(loops)
    while todo:
        keys = [stepping.Iterating(function, loop) for loop, function in todo.items()]
        todo = {
            loop: function
            for given in ask(stepping.loops_giving, keys, [])
            for loop, function in given
            if loop not in found
        }
        found |= todo
    return {loop: function for loop, function in found.items() if loop not in loops}


def _called_on_steps(
    loops: Mapping[LoopPlace, Place],
    framework: Sequence[Place],
    steppers: Sequence[Place],
    closures: Closures,
    ask: Ask[Subject, Any, Any],
) -> dict[Place, Why]:
    """What runs on each step; of the `steppers` those count, too, that conditions make rare: they take a step of their own."""
    by_path: dict[str, list[tuple[CallPlace, tuple[Place, ...]]]] = {}
    for call, given in closures.items():
        by_path.setdefault(call[0], []).append((call, tuple(given)))

    def expanded(callers: Sequence[tuple[Place, Why]], *, inside: bool = False) -> list[tuple[Place, Why]]:
        keys = [
            stepping.Calling(
                caller,
                why.loop if why.function == caller else None,
                inside,
                tuple(by_path.get(caller[0], ())),
                why.given,
            )
            for caller, why in callers
        ]
        unique = list(dict.fromkeys(keys))
        known = dict(zip(unique, ask(stepping.called_by, unique, []), strict=True))
        return [
            (one.function, Why(why.function, why.loop, why.weak or one.weak, why.depth + 1, one.given))
            for key, (_, why) in zip(keys, callers, strict=True)
            for one in known[key]
        ]

    found = {function: Why(function, None) for function in framework}
    todo = expanded([(function, Why(function, loop)) for loop, function in loops.items()], inside=True)
    todo += expanded(list(found.items()))
    _follow(todo, found, expanded)
    rare = [(function, Why(function, None)) for function in steppers if function not in found]
    found.update(rare)
    _follow(expanded(rare), found, expanded)
    return found


def _follow(
    todo: list[tuple[Place, Why]],
    found: dict[Place, Why],
    expanded: Callable[[Sequence[tuple[Place, Why]]], list[tuple[Place, Why]]],
) -> None:
    """Take in what is called, and what that calls."""
    while todo:
        taken: list[tuple[Place, Why]] = []
        for callee, why in todo:
            known = found.get(callee, why)
            best = min(known, why, key=lambda one: (one.weak, one.depth))
            best = best._replace(given=tuple(one for one in known.given if one in why.given))
            if callee not in found or best != known:
                found[callee] = best
                taken.append((callee, best))
        todo = expanded(taken)
