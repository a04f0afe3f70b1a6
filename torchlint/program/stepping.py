"""Questions about files and functions, of which the index of step loops is made: who steps, who calls it, what is called on steps."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..facts import alternatives, guards, input_gradients, names, runs, short_functions
from ..facts.aliases import gone_through
from ..facts.alternatives import Said
from ..facts.first_time import keeps_results, writes_checkpoint
from ..facts.flow import Flow, Loop, contains, stacks_of
from ..facts.frequency import is_aside
from ..facts.module import Class, Function, Module
from ..facts.nodes import advanced, bound_names, keyword_of, names_in, receiver_of, without_not
from ..facts.roles import role_of
from ..facts.torch_table import EVALUATION_STEPS, OTHER_EVALUATION_STEPS
from ..facts.uses import assigned
from ..query.question import question
from ..system.regex import regex
from . import dispatch, families, given_by_many, handed, hooks, made_with
from .calling import CallSite, calls_named
from .conditions import in_training, is_thinned_beside, property_of, running
from .frameworks import added_for_iterations, runs_on_steps
from .loops import brings_batches, is_last_in, is_once_in, makes_what_it_runs, only_iterates, over_runs
from .places import (
    CallPlace,
    LoopPlace,
    Place,
    Subject,
    call_place,
    function_at,
    loop_at,
    loop_place,
    place_of,
    told_place,
)
from .project import Project
from .step_calls import BACKWARDS, Step, named_like_steps, parts_of_step, updates
from .step_text import lines_of_steps
from .texts import MAX_SITES

_EVALUATES = EVALUATION_STEPS | OTHER_EVALUATION_STEPS
_OPTIMIZER = regex(rb"(?i)optim")
_UPDATES = regex(rb"(?i)optim|no_grad|\.add_\(|\.sub_\(|\.data\b[^\n]{0,499}=")
"""What a file holds that has an optimizer, or may update parameters itself."""
Stepping = tuple[ast.Call, tuple[Step, ...], Sequence[Loop]]
"""A part of a step, with the loops around it, innermost first."""


class ByCall(NamedTuple):
    """A part of a step that a function takes which a loop calls."""

    call: ast.Call
    step: ast.Call
    parts: tuple[Step, ...]
    loops: Sequence[Loop]
    """Those around the call, innermost first."""


class Stepper(NamedTuple):
    """A function that steps, or leads to one, where calls give what is asked of its parameters: `update(batch, training=True)`."""

    function: Place
    asked: tuple[Said, ...] = ()
    asked_of_makers: tuple[Said, ...] = ()
    """The same of the function around it, whose calls give it: `step = make(training=True)`."""


class Own(NamedTuple):
    """What the functions of a file do by themselves."""

    loops: list[tuple[LoopPlace, Place, str]]
    """Step loops, the functions they stand in, and the names of these."""
    steppers: list[Stepper]
    """Functions that step outside of their own loops."""
    framework: list[Place]
    """Functions that run on each step, whoever calls them."""
    giving: list[Place]
    """Generators that give something on each of their steps."""


class Callers(NamedTuple):
    """Who calls a function, and steps so, the loops around the calls (None where there is none), names; and the calls that it is given to."""

    sites: list[tuple[Stepper, LoopPlace | None, str]]
    given_to: list[CallPlace]
    on_batches: bool = False
    """Whether a comprehension over a loader calls it: `[step(batch) for batch in loader]`."""


class Calling(NamedTuple):
    """A question: what does a function call, between `loop` (None: its start) and the call unthrottled?"""

    function: Place
    loop: LoopPlace | None
    inside: bool
    """Only the calls in the loop count."""
    closures: tuple[tuple[CallPlace, tuple[Place, ...]], ...]
    """The nested functions that calls in its file are given."""
    given: tuple[Said, ...]
    """What all calls of the function on steps say of its parameters."""


class Called(NamedTuple):
    """What is called on each step: whether only on some micro-steps, and what the call says of its parameters."""

    function: Place
    weak: bool
    given: tuple[Said, ...] = ()


class Iterating(NamedTuple):
    """A question: what generators does a loop go through?"""

    function: Place
    loop: LoopPlace


def own_steps(subject: Subject, path: str) -> Own:
    """What the functions of a file do by themselves."""
    project = subject.project
    loops: dict[LoopPlace, Function] = {}
    own = Own([], [], [], [])
    module = project.module(path)
    for function in _mentions(module) if module is not None else ():
        _look_at(project, function, loops, own)
    seldom = _seldom(project, list(dict.fromkeys(one.function for one in own.steppers)))
    framework = (function_at(project, one) for one in own.framework if one not in seldom)
    around = (one for function in framework for one in running(project, function))
    measures = module is not None and bool(own.steppers) and _only_measures(project, module)
    own = own._replace(
        steppers=[
            one
            for one in own.steppers
            if not measures
            and one.function not in seldom
            and not _is_of_dummies(function_at(project, one.function).name)
        ],
        framework=list(dict.fromkeys(map(place_of, around))),
    )
    for klass in module.classes if module is not None and own.framework else ():
        own.framework.extend(map(place_of, updates(project, klass)))
    own.loops.extend((loop, place_of(function), function.name) for loop, function in loops.items())
    own.giving.extend(place_of(one) for one in dict.fromkeys(loops.values()) if _gives_steps(project, one, loops))
    return own


def _only_measures(project: Project, module: Module) -> bool:
    """Whether a file of benchmarks runs backward passes and has no optimizer: who calls it measures, and trains nothing."""
    return not module.source.holds(_OPTIMIZER) and role_of(module, project.home(module.path)) == "benchmark"


def callers_of(subject: Subject, stepper: Stepper) -> Callers:
    """Who calls a function so that it steps."""
    project = subject.project
    function = function_at(project, stepper.function)
    if _is_test(project, function):
        return Callers([], [])
    passed_on = list(_passed_on(project, function))
    if passed_on:
        followed = {site.call for site in handed.calls_handing(project, function)}
        passed_on = [site for site in passed_on if site.call not in followed]
    found = Callers([], [call_place(site.function, site.call) for site in passed_on])
    on_batches = False
    others = itertools.islice(dispatch.calls_by_others(project, function), MAX_SITES)
    sites = [*families.callers(project, function), *passed_on, *others]
    for site in {one.call: one for one in sites}.values():
        if alternatives.gives_other(function, site.given or site.call, stepper.asked):
            continue
        if _is_of_dummies(site.function.name) or _is_made_other(project, function, site, stepper.asked_of_makers):
            continue
        if _is_on_batches(project, site):
            on_batches = on_batches or not project.in_test(site.function.module.path, site.function.name)
            continue
        place = told_place(project, site.function)
        flow = site.function.flow
        if any(_fits_on_host(project, site.function, loop) for loop in flow.loops(site.call)[:1]):
            continue
        around = None
        for loop in flow.loops(site.call):
            once = (
                runs.is_made_in(loop, flow, site.call)
                or guards.is_of_first(flow, site.call, loop)
                or is_last_in(loop, site.function, site.call)
            )
            if not once and not over_runs(project, site.function, loop):
                around = loop_place(site.function, loop)
                break
        asked = _asked_through(function, stepper.asked, site) if around is None else ()
        makers = alternatives.asked_of_makers(site.function, site.call) if around is None else ()
        found.sites.append((Stepper(place, asked, makers), around, site.function.name))
    return found._replace(on_batches=on_batches)


def _is_on_batches(project: Project, site: CallSite) -> bool:
    """Whether a comprehension makes a call for each batch of a loader: `[step(batch) for batch in loader]`."""
    around = site.function.flow.comprehension(site.call)
    if around is None:
        return False
    loader = around.generators[0].iter
    return brings_batches(project, site.function, loader) and not names.last(gone_through(loader)).endswith("loaders")


def _is_test(project: Project, function: Function) -> bool:
    """Whether nobody but what runs tests calls a function."""
    return function.name.startswith("test_") and project.is_tested(function)


def _is_made_other(project: Project, function: Function, site: CallSite, asked: tuple[Said, ...]) -> bool:
    """`step = make(train=False)`, then `step(batch)`: whether the call that gave what is called excludes what is asked of it."""
    maker, called = function.parent, site.call.func
    made = assigned(site.function, called) if asked and isinstance(called, ast.Name) else None
    return (
        maker is not None
        and isinstance(made, ast.Call)
        and maker in project.targets(site.function, made)
        and alternatives.gives_other(maker, made, asked)
    )


def _asked_through(function: Function, asked: tuple[Said, ...], site: CallSite) -> tuple[Said, ...]:
    """What the function around a call has to be given for the call to run, and to give another one what is asked of it."""
    found = dict.fromkeys(alternatives.asked_of_callers(site.function, site.call))
    flow, positions = site.function.flow, site.function.positions
    for one in asked:
        node = function.argument(site.given or site.call, one.name)
        if node is not None and isinstance(one.value, bool):
            node, as_it_is = without_not(node, True)
            one = one._replace(value=one.value is as_it_is)
        if isinstance(node, ast.Name) and node.id in positions and not flow.stores.get(node.id):
            found[one._replace(name=node.id)] = None
    return tuple(found)


def called_by(subject: Subject, asked: Calling) -> list[Called]:
    """What a function calls on each step."""
    project = subject.project
    function = function_at(project, asked.function)
    loop = loop_at(function, asked.loop) if asked.loop is not None else None
    closures = dict(asked.closures)
    found: list[Called] = []
    for call in function.flow.calls_in(loop) if asked.inside and loop is not None else function.flow.calls:
        targets = (
            families.may_run(project, function, call)
            or hooks.by_call(project, function, call)
            or given_by_many.run_by(project, function, call)
            or _applied(project, function, call)
        )
        fired = (*families.fired(project, call, targets), *_dispatched(project, call, targets))
        targets = [
            one for one in (*targets, *fired) if not (writes_checkpoint(one) or is_aside(one) or one.name in _EVALUATES)
        ]
        targets = [one for target in targets for one in running(project, target)]
        handed_on = closures.get(call_place(function, call), ()) if closures else ()
        weight = in_training(project, function, call, loop) if targets or handed_on else "cold"
        if weight in guards.RARE or _is_of_dummies(names.last(call.func)):
            continue
        if is_beside_steps(project, function, call, loop, asked.given):
            continue
        called = [
            Called(told_place(project, target), weight == "weak", _given(project, function, target, call, asked.given))
            for target in targets
        ]
        called += [Called(target, weight == "weak") for target in handed_on]
        found += [one for one in called if one.function != asked.function]
    unnamed = (*_properties(project, function), *_properties_of_others(project, function), *_entered(project, function))
    for node, method in unnamed:
        if loop is None or not asked.inside or loop in function.flow.loops(node):
            weight = in_training(project, function, node, loop)
            if weight not in guards.RARE:
                found.append(Called(told_place(project, method), weight == "weak"))
    found += [Called(told_place(project, hook), False) for hook in hooks.run_with(project, function, loop)]
    return found


def _applied(project: Project, function: Function, call: ast.Call) -> list[Function]:
    """What `map(f, rows)` runs."""
    is_map = isinstance(call.func, ast.Name) and call.func.id == "map" and len(call.args) > 1
    return project.runs(project.value(function, call.args[0])) if is_map else []


def _dispatched(project: Project, call: ast.Call, targets: Iterable[Function]) -> Iterator[Function]:
    """What a call runs by the words that it gives: `bus.fire("step", loss)`."""
    for one in (one for target in targets for one in dispatch.by_words(project, target, call)):
        if in_training(project, one.function, one.call, None) not in guards.RARE:
            yield from one.run


def is_beside_steps(
    project: Project, function: Function, node: ast.AST, loop: Loop | None, given: tuple[Said, ...] = ()
) -> bool:
    """Whether the steps do not come to a place, or seldom, by what else the function says: training leaves it out, or another branch throttles it."""
    return is_left_out(project, function, node, loop, given) or is_thinned_beside(project, function, node, loop)


def is_left_out(
    project: Project, function: Function, node: ast.AST, loop: Loop | None, given: tuple[Said, ...] = ()
) -> bool:
    """Whether training leaves a place out: its conditions exclude those of the steps, or what calls on steps give."""
    behind = list(alternatives.behind(function.flow, node, loop))
    known = _behind_all_steps(project, function, loop) if behind else frozenset[Said]()
    if loop is None:
        known |= frozenset(given)
        if any("." in one.name for one in given):
            behind += made_with.behind(function, node, None)
    return bool(known) and alternatives.excluded(behind, known)


@question("behind steps", frozenset())
def _behind_all_steps(project: Project, function: Function, loop: Loop | None) -> frozenset[Said]:
    """What is said in front of all backward passes and steps of optimizers in a loop, or a function, of what it does not change."""
    if loop is None:
        steps = named_like_steps(function)
    else:
        calls = function.flow.calls_in(loop)
        steps = [call for call in calls if names.last(call.func) in (*BACKWARDS, "step")] or [
            call for call in calls if any(_steps(project, target) for target in project.targets(function, call))
        ]
    behind = [frozenset(alternatives.behind(function.flow, call, loop)) for call in steps]
    stores = function.flow.stores
    return frozenset(
        one
        for one in (frozenset.intersection(*behind) if behind else ())
        if not any(loop is None or contains(loop, store) for store in stores.get(one.name, ()))
    )


@question("steps itself", False)
def _steps(project: Project, function: Function) -> bool:
    """Whether a function runs a backward pass or a step of an optimizer."""
    return any(parts_of_step(project, function, call) for call in named_like_steps(function))


def _given(
    project: Project, caller: Function, function: Function, call: ast.Call, known: tuple[Said, ...]
) -> tuple[Said, ...]:
    """What a call says of the parameters, and of the object, that decide what a function does, where the calls of the caller say what is `known`."""
    of_object = made_with.said(project, caller, call, function, known)
    return (*alternatives.given(function, call, _decisive(project, function), known), *of_object)


@question("decisive", frozenset())
def _decisive(project: Project, function: Function) -> frozenset[str]:
    return alternatives.decisive(function)


def loops_giving(subject: Subject, asked: Iterating) -> list[tuple[LoopPlace, Place]]:
    """The loops of the generators that a loop goes through, with their functions."""
    project = subject.project
    function = function_at(project, asked.function)
    loop = loop_at(function, asked.loop)
    through = [] if isinstance(loop, ast.While) else [loop.iter]
    taken = map(advanced, function.flow.calls_in(loop))
    through += [iterator for iterator in taken if iterator is not None]
    return [
        (loop_place(one, inner), told_place(project, one))
        for iterable in through
        for one in handed.generators(project, function, iterable)
        for inner in one.giving_loops
    ]


def loops_taking(subject: Subject, place: Place) -> list[tuple[LoopPlace, Place, str]]:
    """The loops that go through what a generator gives, with their functions, and the names of these."""
    project = subject.project
    return [
        (loop_place(function, loop), told_place(project, function), function.name)
        for function, loop in handed.loops_over(project, function_at(project, place))
    ]


def _gives_steps(project: Project, function: Function, loops: Collection[LoopPlace]) -> bool:
    """Whether a function is a generator that gives something on each iteration of a step loop: `for x in loader: ...; yield loss`."""
    giving = [loop for loop in function.giving_loops if loop_place(function, loop) in loops]
    return any(
        isinstance(node, ast.Yield)
        and loop in function.flow.loops(node)[:1]
        and in_training(project, function, node, loop) not in guards.RARE
        for loop in giving
        for node in function.flow.nodes
    )


def _look_at(project: Project, function: Function, found: dict[LoopPlace, Function], own: Own) -> None:
    outside: set[str] = set()
    asked: dict[tuple[tuple[Said, ...], tuple[Said, ...]], None] = {}
    stepping = [(call, parts, _step_loops(project, function, call)) for call, parts in _stepping(project, function)]
    inner = list(_by_calls(project, function)) if any("step" in parts and not on for _, parts, on in stepping) else []
    left_over = _left_over(stepping, inner) | _once_for_all(project, function, stepping, inner)
    stepping += [*_around_trained(project, function, stepping), *_on_each_batch(project, function, stepping)]
    for call, parts, loops in stepping:
        if call in left_over:
            continue
        if loops:
            if not _fits_on_host(project, function, loops[0]):
                found.setdefault(loop_place(function, loops[0]), function)
        elif not _begins_anew(project, function, call):
            outside.update(parts)
            asked[alternatives.asked_of_callers(function, call), alternatives.asked_of_makers(function, call)] = None
    anyhow = (), ()
    own.steppers.extend(Stepper(place_of(function), *one) for one in ([anyhow] if anyhow in asked else asked))
    if project.is_tested(function):
        return
    own.framework.extend(told_place(project, one) for one in added_for_iterations(project, function))
    # A method that takes a whole step is called for nothing else.
    whole = len(outside) == 2 and (
        function.cls is not None or _is_given_optimizer(project, function) or _is_only_handed_on(function)
    )
    if whole or runs_on_steps(project, function):
        own.framework.append(place_of(function))


def _stepping(project: Project, function: Function) -> Iterator[tuple[ast.Call, tuple[Step, ...]]]:
    for call in function.flow.calls:
        parts = parts_of_step(project, function, call)
        if parts == ("backward",) and (input_gradients.looked_at(function, call) or _is_for_another(project, function)):
            continue
        if parts and not (parts == ("step",) and _goes_through_all(project, function, call)):
            yield call, parts


@question("gradients for another", False)
def _is_for_another(project: Project, function: Function) -> bool:
    """`loss.backward(); pruner.step()`: the gradients are for an object of the project that is no optimizer and has none, in a file without any."""
    if function.module.source.holds(_OPTIMIZER):
        return False
    stepped = [receiver_of(call) for call in function.flow.calls_named("step") if isinstance(call.func, ast.Attribute)]
    values = [project.value(function, one) for one in stepped]
    classes = [value.class_ if value.kind == "instance" else None for value in values]
    return bool(classes) and all(
        klass is not None and not any(one.module.source.holds(_UPDATES) for one in project.ancestry(klass))
        for klass in classes
    )


def _goes_through_all(project: Project, function: Function, call: ast.Call) -> bool:
    """`optimizer.step(closure)` of a nested function with a loop of its own over a loader: one step for all batches."""
    closure = call.args[0] if len(call.args) == 1 else None
    nested = function.nested.get(closure.id) if isinstance(closure, ast.Name) else None
    if nested is None:
        return False
    backward = [one for name in BACKWARDS for one in nested.flow.calls_named(name)]
    return bool(backward) and all(_is_for_each_batch(project, nested, one) for one in backward)


def _is_for_each_batch(project: Project, function: Function, call: ast.Call) -> bool:
    loop = next(iter(function.flow.loops(call)), None)
    return isinstance(loop, ast.For) and brings_batches(project, function, loop.iter)


def _step_loops(project: Project, function: Function, call: ast.Call) -> Sequence[Loop]:
    """The loops around a part of a step, without those over optimizers or runs."""
    return _without_runs(project, function, call, function.flow.loops(call))


def _without_runs(project: Project, function: Function, call: ast.Call, loops: Sequence[Loop]) -> Sequence[Loop]:
    while loops and (
        only_iterates(loops[0], call)
        or over_runs(project, function, loops[0])
        or is_once_in(loops[0], function, call)
        or is_last_in(loops[0], function, call)
    ):
        loops = loops[1:]
    return loops


def _around_trained(project: Project, function: Function, stepping: Sequence[Stepping]) -> list[Stepping]:
    """The steps in a loop over what is trained, `for agent in agents: ...; agent.optimizer.step()`, each as one of the loop around that."""
    over = {
        loops[0]
        for call, parts, loops in stepping
        if loops and "step" in parts and _steps_element(project, function, loops[0], call)
    }
    return [
        (call, parts, _without_runs(project, function, call, loops[1:]))
        for call, parts, loops in stepping
        if loops and loops[0] in over
    ]


def _on_each_batch(project: Project, function: Function, stepping: Sequence[Stepping]) -> list[Stepping]:
    """The steps that are taken several times on a batch, `for x, y in loader: for _ in range(replays): ...`, each as one of the loop over batches."""
    # Where nothing steps, gradients of a batch may be asked for.
    stepped = {loops[0] for _, parts, loops in stepping if loops and "step" in parts}
    return [
        (call, parts, loops[1:])
        for call, parts, loops in stepping
        if len(loops) > 1
        and loops[0] in stepped
        and _counts_up(loops[0])
        and isinstance(loops[1], ast.For)
        and brings_batches(project, function, loops[1].iter)
    ]


def _counts_up(loop: Loop) -> bool:
    """`for _ in range(n)`"""
    match loop:
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[_])):
            return True
    return False


def _steps_element(project: Project, function: Function, loop: Loop, call: ast.Call) -> bool:
    """Whether a step is one of what the loop goes through: `agent.optimizer.step()`, `optimizers[i].step()`, `optimizer = self.nets[name].optimizer`."""
    stepped = receiver_of(call)
    if not isinstance(loop, ast.For) or stepped is None:
        return False
    made = function.flow.assignment(stepped.id) if isinstance(stepped, ast.Name) else None
    if made is not None and loop in function.flow.loops(made):
        stepped = made.value
    # What is gone through takes longest to tell.
    return _is_of(stepped, bound_names(loop.target)) and not brings_batches(project, function, loop.iter)


def _is_of(stepped: ast.expr, elements: Collection[str]) -> bool:
    while isinstance(stepped, ast.Attribute | ast.Subscript):
        if isinstance(stepped, ast.Subscript) and _says_which(stepped.slice, elements):
            return True
        stepped = stepped.value
    return isinstance(stepped, ast.Name) and stepped.id in elements


def _says_which(key: ast.expr, elements: Collection[str]) -> bool:
    """`i`, `f"optimizer_{i}"`, `"optimizer_{}".format(i)`: not `i % 2`, which comes again."""
    formats = isinstance(key, ast.Call) and isinstance(key.func, ast.Attribute) and key.func.attr == "format"
    return (formats or isinstance(key, ast.Name | ast.JoinedStr)) and not names_in(key).isdisjoint(elements)


@question("fits on host", False)
def _fits_on_host(project: Project, function: Function, loop: Loop) -> bool:
    """`shift = torch.zeros(3); optimizer = LBFGS([shift])`: a loop that steps what its function made on the host."""
    found = (call for call in function.flow.calls_in(loop) if names.last(call.func) == "step")
    return any(
        parts_of_step(project, function, call) == ("step",) and _is_of_host(project, function, call) for call in found
    )


def _is_of_host(project: Project, function: Function, call: ast.Call) -> bool:
    stepped = receiver_of(call)
    made = function.flow.assignment(stepped.id) if isinstance(stepped, ast.Name) else None
    given = made.value if made is not None and isinstance(made.value, ast.Call) else None
    named = keyword_of(given, "params") if given is not None else None
    first = named or (given.args[0] if given is not None and given.args else None)
    if not isinstance(first, ast.List | ast.Tuple) or not all(isinstance(one, ast.Name) for one in first.elts):
        return False
    values = [project.value(function, one) for one in first.elts]
    known = [value for value in values if value.kind == "tensor" and value.proven and value.device]
    return bool(known) and all(value.device == "cpu" for value in known)


def _begins_anew(project: Project, function: Function, call: ast.Call) -> bool:
    """Whether a loop around a step makes its optimizer: the function runs several, and a caller's loop is none over steps."""
    return any(makes_what_it_runs(project, function, loop) for loop in function.flow.loops(call))


def _is_given_optimizer(project: Project, function: Function) -> bool:
    """`def iteration(model, optimizer, image):`, which steps what it is given."""
    if function.parent is not function.module.body:
        return False
    given = function.positions.keys()
    return any(
        isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in given
        and parts_of_step(project, function, call)
        for call in function.flow.calls_named("step")
    ) or any(
        isinstance(inner.func, ast.Attribute)
        and isinstance(stepped := short.argument(call, names.last(inner.func.value)), ast.Name)
        and stepped.id in given
        and parts_of_step(project, function, call)
        for call, short, inner in short_functions.calls_named(function, "step")
    )


def _passed_on(project: Project, function: Function) -> Iterator[CallSite]:
    """A nested function given to a call: `optimizer.step(closure)`, `minimize(fun=closure)`."""
    parent = function.parent
    if parent is None or function.cls is not None:
        return
    at_top = parent is parent.module.body
    for name in parent.flow.loads.get(function.name, ()):
        call = parent.flow.argument_of(name)
        if not isinstance(call, ast.Call) or call.func is name:
            continue
        # A function of the module may be given to many things that call it once.
        if not at_top or (isinstance(call.func, ast.Attribute) and call.func.attr == "step"):
            yield CallSite(parent, call)


def _by_calls(project: Project, function: Function) -> Iterator[ByCall]:
    """The parts of steps that functions of the project take which loops of a function call: `for x in loader: train_on(x)`."""
    for call in function.flow.calls:
        loops = function.flow.loops(call)
        for target in project.targets(function, call) if loops else ():
            if _steps(project, target):
                found = ((step, parts) for step, parts in _stepping(project, target) if not target.flow.loops(step))
                yield from (ByCall(call, step, parts, loops) for step, parts in found)


def _left_over(stepping: Sequence[Stepping], inner: Sequence[ByCall]) -> set[ast.Call]:
    """The calls that take the gradients which the last turns of a loop in front of them gathered, as the loop itself does."""
    backward = {tuple(loops[:1]) for _, parts, loops in stepping if "backward" in parts}
    steps = [(call, ast.dump(call), tuple(loops)) for call, parts, loops in stepping if parts == ("step",)]
    first: dict[tuple[str, tuple[Loop, ...]], int] = {}
    in_front = [(call.lineno, written, loops) for call, written, loops in steps]
    in_front += [(one.call.lineno, ast.dump(one.step), tuple(one.loops)) for one in inner if one.parts == ("step",)]
    for line, written, loops in in_front:
        for depth in range(1, len(loops) + 1):
            inside = written, loops[depth:]
            first[inside] = min(first.get(inside, line), line)
    return {
        call
        for call, written, loops in steps
        if loops[:1] not in backward and first.get((written, loops), call.lineno) < call.lineno
    }


def _once_for_all(
    project: Project, function: Function, stepping: Sequence[Stepping], inner: Sequence[ByCall]
) -> set[ast.Call]:
    """The steps with the gradients of all that a loop in front went through, beside a loop that steps for each batch: once an epoch."""
    near = [*stepping, *((one.call, one.parts, one.loops) for one in inner)]
    gathering = {loops[0]: call.lineno for call, parts, loops in near if loops and "backward" in parts}
    once = [call for call, parts, loops in stepping if parts == ("step",) and not loops]
    outside = any("backward" in parts and not loops for _, parts, loops in stepping)
    if not once or not gathering or outside:
        return set()
    whole = {loops[0] for _, parts, loops in near if loops and "step" in parts} & gathering.keys()
    if not any(_is_over_batches(project, function, loop) for loop in whole):
        return set()
    return {call for call in once if any(line < call.lineno for line in gathering.values())}


def _is_over_batches(project: Project, function: Function, loop: Loop) -> bool:
    """`for x, y in loader`, `for start in range(0, len(data), size)`"""
    match loop:
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[_, _, _])):
            return True
    return isinstance(loop, ast.For) and brings_batches(project, function, loop.iter)


def _is_of_dummies(name: str) -> bool:
    """Whether a function is called so that it runs with dummies, which stand in for data that is missing, or is to come."""
    return "dummy" in name.lower()


def _seldom(project: Project, steppers: Sequence[Place]) -> set[Place]:
    """The functions of a file that seldom take the place of another one that steps: `if now > due: net.step_and_sum_up(batch)`, else `net.step(batch)`."""
    if len(steppers) < 2:
        return set()
    functions = {function_at(project, place): place for place in steppers}
    return {place for one, place in functions.items() if _stands_in(project, one, functions.keys() - {one})}


def _stands_in(project: Project, function: Function, others: Collection[Function]) -> bool:
    """Whether all calls of a function stand in a rare branch of a condition whose other branch calls one of the others."""
    sites = [] if _is_test(project, function) else list(families.callers(project, function))
    return bool(sites) and all(_is_rare(project, site) and _is_beside(project, site, others) for site in sites)


def _is_rare(project: Project, site: CallSite) -> bool:
    loop = next(iter(site.function.flow.loops(site.call)), None)
    return in_training(project, site.function, site.call, loop) in guards.RARE


def _is_beside(project: Project, site: CallSite, others: Collection[Function]) -> bool:
    flow = site.function.flow
    branches = (guard.otherwise for guard in flow.guards(site.call) if guard.block is not None)
    calls = (call for branch in branches for call in flow.calls if any(contains(one, call) for one in branch))
    return any(target in others for call in calls for target in project.targets(site.function, call))


def _is_only_handed_on(function: Function) -> bool:
    """`Engine(update)`, `return update` of a nested function that nobody calls here; a process or thread runs its target once."""
    parent = function.parent
    if parent is None or parent is parent.module.body or isinstance(parent.node, ast.ClassDef):
        return False
    loads = parent.flow.loads.get(function.name, ())
    return bool(loads) and all(_is_handed_on(parent.flow, name) for name in loads)


def _is_handed_on(flow: Flow, name: ast.AST) -> bool:
    named, taker = flow.parents.get(name), flow.argument_of(name)
    if isinstance(named, ast.keyword) and named.arg == "target":
        return False
    if isinstance(taker, ast.Call):
        return taker.func is not name and names.last(taker.func) not in _RUNS_ONCE
    return isinstance(taker, ast.Return)


_RUNS_ONCE = frozenset(("spawn", "start_processes", "submit", "Process", "Thread", "run"))


def _properties(project: Project, function: Function) -> Iterator[tuple[ast.Attribute, Function]]:
    """The properties of its own object that a method reads, each with the function that runs then."""
    klass = function.cls
    own = function.own_name
    if klass is None or not own:
        return  # `def step(): ...` in a class is not called on an object
    getters = klass.getters
    if klass.cached_getters and _is_made_for_batches(project, klass):
        getters = {**getters, **klass.cached_getters}
    if not getters:
        return
    for node in function.flow.nodes:
        if isinstance(node, ast.Attribute) and node.attr in getters and isinstance(node.ctx, ast.Load):
            getter = getters[node.attr]
            if isinstance(node.value, ast.Name) and node.value.id == own and getter is not function:
                yield node, getter


@question("made for batches", False)
def _is_made_for_batches(project: Project, klass: Class) -> bool:
    """Whether each place that makes an object of a class is one of a loop over batches, `batch = Batch(*fields)`: what it computes once it computes for each."""
    paths = [klass.module.path, *project.named_by(klass.module, klass.name)]
    modules = filter(None, (project.module_for_calls(path, klass.name) for path in paths))
    made = [
        (function, call)
        for module in modules
        for function, call in calls_named(module, klass.name)
        if project.value(function, call).class_ is klass
    ]
    return bool(made) and all(_is_for_each_batch(project, function, call) for function, call in made)


@question("properties of others", [])
def _properties_of_others(project: Project, function: Function) -> list[tuple[ast.Attribute, Function]]:
    """The properties of other objects that a function reads, each with the function that runs then: `model.penalty`.

    What a property keeps for its object it mostly makes once: `if self._net is None: self._net = build()`.
    """
    found: list[tuple[ast.Attribute, Function]] = []
    for node in function.flow.nodes:
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        around = function.flow.parents.get(node)
        is_called = isinstance(around, ast.Call) and around.func is node
        if not is_called and names.chain(node.value) != [function.own_name] and project.definers(node.attr):
            getters = property_of(project, function, node)
            found += ((node, getter) for getter in getters if not _keeps_something(getter))
    return found


@question("entered", [])
def _entered(project: Project, function: Function) -> list[tuple[ast.expr, Function]]:
    """The objects of the project that a function enters and leaves, `with StopWatch():`, each with a method that runs then."""
    if not project.definers("__exit__"):
        return []
    blocks = (node for node in function.flow.nodes if isinstance(node, ast.With))
    entered = [item.context_expr for block in blocks for item in block.items]
    entered += _entered_by_stacks(function)
    classes = ((node, project.value(function, node).class_) for node in entered)
    return [
        (node, method)
        for node, klass in classes
        if klass is not None
        for name in ("__enter__", "__exit__")
        if (method := project.method(klass, name)) is not None
    ]


def _entered_by_stacks(function: Function) -> Iterator[ast.expr]:
    """What stacks enter that are left as often: `with ExitStack() as stack: stack.enter_context(watch)`."""
    flow = function.flow
    for call in flow.calls_named("enter_context"):
        for around in flow.ancestors(call) if len(call.args) == 1 else ():
            if isinstance(around, ast.With) and names.last(receiver_of(call)) in stacks_of(around):
                if flow.loops(around) == flow.loops(call):
                    yield call.args[0]
                break


def _keeps_something(getter: Function) -> bool:
    """Whether a property stores something in its object."""
    own = f"{getter.own_name}."
    return keeps_results(getter) or any(name.startswith(own) for name in (*getter.flow.targets, *getter.flow.stored_in))


def _mentions(module: Module) -> Iterable[Function]:
    """The functions whose lines hold a word of a step."""
    return module.functions_at(module.source.told_lines("lines of steps", lines_of_steps))
