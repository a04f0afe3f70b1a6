"""Where a program runs step by step: the nearest loops around backward and optimizer steps, and what they call."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from ..facts import aliases, calls, first_time, guards, input_gradients, names, runs
from ..facts.flow import Flow, Guard, Loop, contains
from ..facts.module import Class, Function, Module
from ..facts.syntax import required
from ..facts.values import Value
from ..system.cached import cached_property
from ..system.regex import regex
from ..text.source import Words
from ..torch_api.operators import operator
from . import families, handed, losses, passed, settled
from .calling import CallSite, last_name
from .frameworks import may_run_on_steps, runs_on_batches, runs_on_steps
from .places import (
    Ask,
    Asked,
    CallPlace,
    Place,
    asked_here,
    call_place,
    function_at,
    functions_at,
    loop_at,
    loop_place,
    place_of,
    soundly,
    whole,
)
from .project import Project
from .step_text import STEPPING, lines_of_steps, may_step
from .texts import MAX_SITES

_WARM = Words(b"no_grad", b"inference_mode", b".eval(", b"oader", b"denois")
T = TypeVar("T")
Step = Literal["backward", "step"]
MOST_CALLERS = 20
"""Of more calls than these, nobody can tell which one to a function counts."""
MOST_STORES = 8
"""A name that is assigned more often is not asked why it is set."""
MOST_ABOVE = 200
"""So many functions are looked at for an evaluation loop that calls one, directly or through others."""
_PARTS = regex(r"(?:^|_)(?:extractor|aggregator|encoder|decoder|backbone|head|generate|predict|forward)$")
_MAKES = regex(
    r"(?:get|set|add|load|unload|create|build|make|init|save|prepare|setup|export|delete|remove|free|release|reset)_"
)
_RUNS = regex(r"(?:^|_)(?:model|denoiser?|pred|score|eps|velocity)_fn$")
_PREDICTS = frozenset(("predict", "infer", "inference", "recommend"))
_NOT_ONE = regex(r"batch|s$|^(?:obs|state|observation)")
"""What a loop over batches, or an environment that wants an action, gives."""
_INFERS = regex(r"(?:^|_)(?:infer|inference|inferer|predictor)$")
_LOSS = regex(r"loss|cost|objective|err", re.IGNORECASE)
_BACKWARDS = frozenset(("backward", "manual_backward"))
_OFF = frozenset(("no_grad", "inference_mode"))


@dataclass(frozen=True, slots=True)
class Why:
    """Why a function runs on every training step, as plain data; see `Hot`."""

    function: Place
    loop: Place | None
    weak: bool = False
    depth: int = 0


@dataclass(frozen=True, slots=True)
class StepIndex:
    """What a project does on every step: the step loops with the functions they stand in, and what these call."""

    loops: Mapping[Place, Place]
    training: frozenset[str]
    """The names of the functions with step loops."""
    functions: Mapping[Place, Why]


Caller = tuple[Function, Loop | ast.FunctionDef | ast.AsyncFunctionDef]
"""A loop that calls something on each iteration, in its function; a function that a framework calls so, and its definition."""


class Hot:
    """Why a place runs on every training step: the loop, and the call that leads from it to the function."""

    __slots__ = ("_project", "_why")

    def __init__(self, project: Project, why: Why) -> None:
        self._project = project
        self._why = why

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hot) and self._why == other._why

    def __hash__(self) -> int:
        return hash(self._why)

    @property
    def function(self) -> Function:
        return function_at(self._project, self._why.function)

    @property
    def loop(self) -> Loop | None:
        """None for a function that runs on each step whoever calls it."""
        return loop_at(self.function, self._why.loop) if self._why.loop is not None else None

    @property
    def weak(self) -> bool:
        """Behind a condition that thins out micro-steps only (`accelerator.sync_gradients`)."""
        return self._why.weak

    @property
    def depth(self) -> int:
        """How many calls lie between the loop and the place."""
        return self._why.depth

    @property
    def line(self) -> int:
        return self.function.module.line((self._why.loop or self._why.function)[1])


@dataclass(frozen=True, slots=True)
class _Own:
    """What the functions of a file do by themselves."""

    loops: list[tuple[Place, Place, str]]
    """Step loops, the functions they stand in, and the names of these."""
    steppers: list[Place]
    """Functions that step outside of their own loops."""
    framework: list[Place]
    """Functions that run on each step, whoever calls them."""


@dataclass(frozen=True, slots=True)
class _Callers:
    """Who calls a function, the loops around the calls (None where there is none), names; and the calls that it is given to."""

    sites: list[tuple[Place, Place | None, str]]
    given_to: list[CallPlace]


@dataclass(frozen=True, slots=True)
class _Calling:
    """A question: what does a function call, between `loop` (None: its start) and the call unthrottled?"""

    function: Place
    loop: Place | None
    inside: bool
    """Only the calls in the loop count."""
    closures: tuple[tuple[CallPlace, tuple[Place, ...]], ...]
    """The nested functions that calls in its file are given."""


@dataclass(frozen=True, slots=True)
class _Iterating:
    """A question: what generators does a loop go through?"""

    function: Place
    loop: Place


Closures = dict[CallPlace, list[Place]]


def step_index(project: Project, asked: Asked[Steps, Any, Any]) -> StepIndex:
    """Find what a project does on every step."""
    ask = soundly(project, asked)
    return whole(project, "Finding step loops", lambda: _step_index(project, ask), StepIndex({}, frozenset(), {}))


def _step_index(project: Project, ask: Ask[Steps, Any, Any]) -> StepIndex:
    loops: dict[Place, Place] = {}
    closures: Closures = {}
    framework: list[Place] = []
    names_of: dict[Place, str] = {}
    steppers: list[Place] = []
    paths = [
        path for path in project.paths if project.fact(path, "may step", may_step) or may_run_on_steps(project, path)
    ]
    for own in ask(Steps.own, paths, _Own([], [], [])):
        for loop, function, name in own.loops:
            loops.setdefault(loop, function)
            names_of[function] = name
        steppers += own.steppers
        framework += own.framework
    seen = set(steppers)
    while steppers:
        # Step loops around the calls of functions that step; the callers that have none are the next to ask for.
        further: dict[Place, None] = {}
        for function, callers in zip(steppers, ask(Steps.callers, steppers, _Callers([], [])), strict=True):
            for call in callers.given_to:
                closures.setdefault(call, []).append(function)
            for caller, around, name in callers.sites:
                if around is not None:
                    loops.setdefault(around, caller)
                    names_of[caller] = name
                else:
                    further[caller] = None
        steppers = [caller for caller in further if caller not in seen]
        seen.update(steppers)
    heated = {
        loop: function for loop, function in loops.items() if not project.in_test(function[0], names_of[function])
    }
    given = _giving(heated, ask)
    heated |= given
    return StepIndex(
        {**given, **loops}, frozenset(names_of.values()), _called_on_steps(heated, framework, closures, ask)
    )


def _giving(loops: Mapping[Place, Place], ask: Ask[Steps, Any, Any]) -> dict[Place, Place]:
    """The loops of generators that step loops go through, which run as often, with their functions."""
    found: dict[Place, Place] = {}
    todo = dict(loops)
    while todo:
        keys = [_Iterating(function, loop) for loop, function in todo.items()]
        todo = {
            loop: function for given in ask(Steps.iterated, keys, []) for loop, function in given if loop not in found
        }
        found |= todo
    return {loop: function for loop, function in found.items() if loop not in loops}


def _called_on_steps(
    loops: Mapping[Place, Place], framework: Sequence[Place], closures: Closures, ask: Ask[Steps, Any, Any]
) -> dict[Place, Why]:
    by_path: dict[str, list[tuple[CallPlace, tuple[Place, ...]]]] = {}
    for call, given in closures.items():
        by_path.setdefault(call[0], []).append((call, tuple(given)))

    def expanded(callers: Sequence[tuple[Place, Why]], *, inside: bool = False) -> list[tuple[Place, Why]]:
        keys = [
            _Calling(caller, why.loop if why.function == caller else None, inside, tuple(by_path.get(caller[0], ())))
            for caller, why in callers
        ]
        unique = list(dict.fromkeys(keys))
        known = dict(zip(unique, ask(Steps.called, unique, []), strict=True))
        return [
            (callee, Why(why.function, why.loop, why.weak or weak, why.depth + 1))
            for key, (_, why) in zip(keys, callers, strict=True)
            for callee, weak in known[key]
        ]

    found = {function: Why(function, None) for function in framework}
    todo = expanded([(function, Why(function, loop)) for loop, function in loops.items()], inside=True)
    todo += expanded(list(found.items()))
    while todo:
        taken: list[tuple[Place, Why]] = []
        for callee, why in todo:
            known = found.get(callee)
            if known is None or (known.weak, known.depth) > (why.weak, why.depth):
                found[callee] = why
                taken.append((callee, why))
        todo = expanded(taken)
    return found


class Steps:
    """The step loops of a project, and the functions that run on each step."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._ask = project.ask
        self._statements: dict[ast.AST, tuple[ast.stmt, bool]] = {}

    @cached_property
    def index(self) -> StepIndex:
        """What is known of the whole project."""
        return self.project.indexed("steps", lambda: step_index(self.project, self.project.asking(asked_here(self))))

    def refresh(self) -> None:
        """Forget what holds for one run."""
        for name in ("index", "_by_function"):
            self.__dict__.pop(name, None)
        self._statements.clear()

    def know(self, index: StepIndex) -> None:
        """Take over what another process has found out."""
        self.__dict__["index"] = index

    @cached_property
    def _by_function(self) -> dict[Place, list[Place]]:
        found: dict[Place, list[Place]] = {}
        for loop, function in self.index.loops.items():
            found.setdefault(function, []).append(loop)
        return found

    def loops_of(self, function: Function) -> list[Loop]:
        """The step loops that stand in a function."""
        self.project.note("steps", function.module.path)
        return [loop_at(function, place) for place in self._by_function.get(place_of(function), ())]

    def is_step_loop(self, function: Function, loop: Loop) -> bool:
        """Whether a loop of a function steps an optimizer."""
        self.project.note("steps", function.module.path)
        return loop_place(function, loop) in self.index.loops

    def functions_in(self, paths: Container[str]) -> list[Function]:
        """The functions of some files that hold a step loop or run on each step."""
        places = dict.fromkeys((*self.index.loops.values(), *self.index.functions))
        return functions_at(self.project, (place for place in places if place[0] in paths))

    def losses_in(self, path: str) -> list[Function]:
        """The losses of a file that are there for who trains."""
        module = self.project.module(path) if self.project.fact(path, "defines a loss", losses.defines_loss) else None
        return [function for function in module.functions if self._is_loss(function)] if module is not None else []

    # Questions for the index

    def own(self, path: str) -> _Own:
        """What the functions of a file do by themselves."""
        loops: dict[Place, Function] = {}
        own = _Own([], [], [])
        module = self.project.module(path)
        for function in _mentions(module) if module is not None else ():
            self._own(function, loops, own)
        for klass in module.classes if module is not None and own.framework else ():
            own.framework.extend(map(place_of, self._updates(klass)))
        own.loops.extend((loop, place_of(function), function.name) for loop, function in loops.items())
        return own

    def _updates(self, klass: Class) -> frozenset[Function]:
        """The methods that run several whole steps: `update_critic` and `update_actor`, one after the other.

        They are called for nothing else, once for each batch.
        """
        none: frozenset[Function] = frozenset()
        return self._ask(("updates", klass), lambda: self._find_updates(klass), none)

    def _find_updates(self, klass: Class) -> frozenset[Function]:
        source = klass.module.source
        if not source.holds(STEPPING) or self.project.in_test(klass.module.path, klass.name):
            return frozenset()
        whole = {name for name, method in klass.methods.items() if self._is_whole(method)}
        return frozenset(
            method
            for name, method in klass.methods.items()
            if len(whole) > 1 and name not in whole and len({last_name(c) for c in _own_calls(method, whole)}) > 1
        )

    def _is_whole(self, method: Function) -> bool:
        """Whether a method runs a backward pass and an optimizer, outside of loops of its own."""
        named = [*method.flow.calls_named("step"), *(c for name in _BACKWARDS for c in method.flow.calls_named(name))]
        return self._are_whole(method, [call for call in named if not method.flow.loops(call)])

    def _are_whole(self, function: Function, found: Iterable[ast.Call]) -> bool:
        """Whether there is a backward pass and a step of an optimizer among some calls."""
        return len({part for call in found for part in self._steps(function, call)}) == 2

    def _update_conditions(self, function: Function) -> frozenset[ast.expr]:
        """The conditions that all whole steps of a method are behind which runs several."""
        if function.cls is None or function not in self._updates(function.cls):
            return frozenset()
        steps = _own_calls(function, [name for name, method in function.cls.methods.items() if self._is_whole(method)])
        return self._behind(function, None, steps)

    def _own(self, function: Function, found: dict[Place, Function], own: _Own) -> None:
        outside: set[str] = set()
        stepping = [(call, parts, self._step_loops(function, call)) for call, parts in self._stepping(function)]
        left_over = _left_over(stepping)
        for call, parts, loops in stepping:
            if call in left_over:
                continue
            if loops:
                if not self._fits_on_host(function, loops[0]):
                    found.setdefault(loop_place(function, loops[0]), function)
            elif not self._begins_anew(function, call):
                outside.update(parts)
        if outside:
            own.steppers.append(place_of(function))
        if self.project.in_test(function.module.path, function.name):
            return
        # A method that takes a whole step is called for nothing else.
        whole = len(outside) == 2 and (
            function.cls is not None or self._is_given_optimizer(function) or _is_only_handed_on(function)
        )
        if whole or runs_on_steps(self.project, function):
            own.framework.append(place_of(function))

    def _stepping(self, function: Function) -> Iterator[tuple[ast.Call, tuple[Step, ...]]]:
        for call in function.flow.calls:
            parts = self._steps(function, call)
            if parts == ("backward",) and input_gradients.looked_at(function, call):
                continue
            if parts and not (parts == ("step",) and self._goes_through_all(function, call)):
                yield call, parts

    def _goes_through_all(self, function: Function, call: ast.Call) -> bool:
        """`optimizer.step(closure)` of a nested function with a loop of its own over a loader: one step for all batches."""
        closure = call.args[0] if len(call.args) == 1 else None
        nested = function.nested.get(closure.id) if isinstance(closure, ast.Name) else None
        if nested is None:
            return False
        backward = [one for name in _BACKWARDS for one in nested.flow.calls_named(name)]
        return bool(backward) and all(self._is_for_each_batch(nested, one) for one in backward)

    def _is_for_each_batch(self, function: Function, call: ast.Call) -> bool:
        loop = next(iter(function.flow.loops(call)), None)
        return isinstance(loop, ast.For) and self._brings_batches(function, loop.iter)

    def _step_loops(self, function: Function, call: ast.Call) -> Sequence[Loop]:
        """The loops around a part of a step, without those over optimizers or runs."""
        loops = function.flow.loops(call)
        while loops and (_only_iterates(loops[0], call) or self._over_runs(function, loops[0])):
            loops = loops[1:]
        return loops

    def _fits_on_host(self, function: Function, loop: Loop) -> bool:
        """`shift = torch.zeros(3); optimizer = LBFGS([shift])`: a loop that steps what its function made on the host."""
        key = ("fits on host", function, loop)
        return self.project.ask(key, lambda: self._steps_on_host(function, loop), False)

    def _steps_on_host(self, function: Function, loop: Loop) -> bool:
        flow = function.flow
        calls = flow.calls_between(loop.lineno, loop.end_lineno or loop.lineno) if flow.calls_named("step") else []
        found = (call for call in calls if names.last(call.func) == "step" and loop in flow.loops(call))
        return any(self._steps(function, call) == ("step",) and self._is_of_host(function, call) for call in found)

    def _is_of_host(self, function: Function, call: ast.Call) -> bool:
        stepped = _receiver(call)
        made = function.flow.assignment(stepped.id) if isinstance(stepped, ast.Name) else None
        given = made.value if made is not None and isinstance(made.value, ast.Call) else None
        named = next((k.value for k in given.keywords if k.arg == "params"), None) if given is not None else None
        first = named or (given.args[0] if given is not None and given.args else None)
        if not isinstance(first, ast.List | ast.Tuple) or not all(isinstance(one, ast.Name) for one in first.elts):
            return False
        values = [self.project.value(function, one) for one in first.elts]
        known = [value for value in values if value.kind == "tensor" and value.proven and value.device]
        return bool(known) and all(value.device == "cpu" for value in known)

    def _begins_anew(self, function: Function, call: ast.Call) -> bool:
        """Whether a loop around a step makes its optimizer: the function runs several, and a caller's loop is none over steps."""
        return any(self._makes_what_it_runs(function, loop) for loop in function.flow.loops(call))

    def _is_given_optimizer(self, function: Function) -> bool:
        """`def iteration(model, optimizer, image):`, which steps what it is given."""
        if function.parent is not function.module.body:
            return False
        given = {parameter.arg for parameter in function.parameters}
        return any(
            isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id in given
            and self._steps(function, call)
            for call in function.flow.calls_named("step")
        )

    def _over_runs(self, function: Function, loop: Loop) -> bool:
        return runs.over_runs(function, loop, lambda node: self.project.value(function, node))

    def _makes_what_it_runs(self, function: Function, loop: Loop) -> bool:
        return runs.makes_what_it_runs(function.flow, loop, lambda node: self.project.value(function, node))

    def _steps(self, function: Function, call: ast.Call) -> tuple[Step, ...]:
        """What a call does of a training step: nothing, a backward pass, a step of an optimizer, or both.

        `loss.backward()`, `accelerator.backward(loss)`; `optimizer.step()`, `scaler.step(optimizer)`; a project's own
        `self.optimizer.step(loss)` does both, since no optimizer of torch takes a loss.
        """
        func = call.func
        if not isinstance(func, ast.Attribute):
            return ()
        if func.attr in _BACKWARDS:
            return ("backward",) if self._is_backward(function, call, func) else ()
        if func.attr != "step":
            return ()
        if len(call.args) == 1 and calls.OPTIMIZER_NAME.search(names.last(func.value)):
            given = (names.chain(call.args[0]) or [""])[-1]
            if _LOSS.search(given):
                return ("backward", "step")
        return ("step",) if self._is_optimizer_step(function, call, func) else ()

    def _is_backward(self, function: Function, call: ast.Call, func: ast.Attribute) -> bool:
        name = self.project.resolve(function, func)
        if name is not None and name != "torch.autograd.backward":
            return False
        if call.args and not _is_loss(function, call.args[0]):
            return False
        owner = (names.chain(func.value) or [""])[-1]
        # `self.backward(grad)`, `Function.backward(ctx, g)`: an implementation, not a call of autograd.
        return not (
            owner in ("self", "cls", "super", "ctx") and func.attr == "backward" and self._own_backward(function)
        )

    def _is_optimizer_step(self, function: Function, call: ast.Call, func: ast.Attribute) -> bool:
        receiver = func.value
        if isinstance(receiver, ast.Subscript):
            receiver = receiver.value
        parts = names.chain(receiver)
        last = parts[-1] if parts else ""
        if call.args:
            # scaler.step(optimizer), optimizer.step(closure): never scheduler.step(noise, t, x) or env.step(action)
            argument = (names.chain(call.args[0]) or [""])[-1]
            if len(call.args) > 1 or call.keywords:
                return False
            return bool(calls.OPTIMIZER_NAME.search(argument)) or (
                argument == "closure" and bool(calls.OPTIMIZER_NAME.search(last))
            )
        if calls.OPTIMIZER_NAME.search(last):
            return True
        if "sched" in last.lower() or "env" in last.lower() or last in ("prof", "profiler", "p", "pbar", "self"):
            return False
        return bool(self.project.value(function, func.value).kind == "optimizer")

    def _own_backward(self, function: Function) -> bool:
        return function.cls is not None and "backward" in function.cls.methods and "forward" in function.cls.methods

    def callers(self, place: Place) -> _Callers:
        """Who calls a function."""
        function = function_at(self.project, place)
        passed_on = list(self._passed_on(function))
        found = _Callers([], [call_place(site.function, site.call) for site in passed_on])
        for site in [*families.callers(self.project, function), *passed_on]:
            self.project.note_lines(site.function.module)
            flow = site.function.flow
            if any(self._fits_on_host(site.function, loop) for loop in flow.loops(site.call)[:1]):
                continue
            around = None
            for loop in flow.loops(site.call):
                if not self._over_runs(site.function, loop) and not runs.is_made_in(loop, flow, site.call):
                    around = loop_place(site.function, loop)
                    break
            found.sites.append((place_of(site.function), around, site.function.name))
        return found

    def _passed_on(self, function: Function) -> Iterator[CallSite]:
        """A nested function given to a call: `optimizer.step(closure)`, `minimize(fun=closure)`."""
        parent = function.parent
        if parent is None or function.cls is not None:
            return
        at_top = parent is parent.module.body
        for name in parent.flow.loads.get(function.name, ()):
            call = parent.flow.parents.get(name)
            if isinstance(call, ast.keyword):
                call = parent.flow.parents.get(call)
            if not isinstance(call, ast.Call) or call.func is name:
                continue
            # A function of the module may be given to many things that call it once.
            if not at_top or (isinstance(call.func, ast.Attribute) and call.func.attr == "step"):
                yield CallSite(parent, call)

    def called(self, asked: _Calling) -> list[tuple[Place, bool]]:
        """What a function calls on each step, and whether only on some micro-steps."""
        function = function_at(self.project, asked.function)
        loop = loop_at(function, asked.loop) if asked.loop is not None else None
        closures = dict(asked.closures)
        found: list[tuple[Place, bool]] = []
        for call in self._calls_in(function, loop) if asked.inside and loop is not None else function.flow.calls:
            targets = [place_of(target) for target in families.may_run(self.project, function, call)]
            targets += closures.get(call_place(function, call), ()) if closures else ()
            weight = self._in_training(function, call, loop) if targets else "cold"
            if weight not in ("throttled", "cold") and "dummy" not in last_name(call).lower():
                # A dummy stands in for data that is missing.
                found += [(target, weight == "weak") for target in targets if target != asked.function]
        for node, getter in _properties(function):
            if loop is None or not asked.inside or loop in function.flow.loops(node):
                weight = self._in_training(function, node, loop)
                if weight not in ("throttled", "cold"):
                    found.append((place_of(getter), weight == "weak"))
        return found

    def iterated(self, asked: _Iterating) -> list[tuple[Place, Place]]:
        """The loops of the generators that a loop goes through, with their functions."""
        function = function_at(self.project, asked.function)
        loop = loop_at(function, asked.loop)
        through = [] if isinstance(loop, ast.While) else [loop.iter]
        through += [call.args[0] for call in self._calls_in(function, loop) if _is_next(call)]
        return [
            (loop_place(one, inner), place_of(one))
            for iterable in through
            for one in handed.generators(self.project, function, iterable)
            for inner in one.giving_loops
        ]

    def _calls_in(self, function: Function, loop: Loop) -> list[ast.Call]:
        first, last = loop.lineno, loop.end_lineno or loop.lineno
        return [c for c in function.flow.calls_between(first, last) if loop in function.flow.loops(c)]

    def guarded(
        self, function: Function, node: ast.AST, loop: Loop | None, *, training: bool = False
    ) -> guards.Meaning:
        """What the conditions between a place and its loop (or the start of its function) say, to who trains or to all."""
        flow = function.flow
        if flow.in_handler(node, loop):
            return "cold"
        found: guards.Meaning = ""
        inside = list(itertools.takewhile(lambda inner: inner is not loop, flow.loops(node)))
        for inner in inside:
            if isinstance(inner, ast.While) and self._ends_for_good(function, inner) and not contains(inner.test, node):
                return "cold"
        for guard in flow.guards(node, loop):
            leaves = guard.block is not None and flow.ends_in_exit(guard.block, leaves_function=loop is not None)
            if leaves or first_time.soon_over(guard, flow, loop):
                return "cold"
            if _counts(guard.test, inside, own=loop is not None):
                continue
            meaning = guards.meaning(guard, flow, lambda n: self.project.value(function, n))
            meaning = meaning or self._elsewhere(function, guard)
            meaning = meaning or self._set_behind(function, guard, loop, training)
            if meaning in ("throttled", "cold"):
                if loop is not None and guard.test in self._step_conditions(function, loop):
                    continue
                if loop is None and guard.test in self._update_conditions(function):
                    continue
                if guard.block is not None and self._is_whole_step(function, guard.block):
                    continue
                if guard.test not in self._gathering(function, loop):
                    return meaning
                meaning = "weak"
            elif not meaning and self._never(function, guard):
                return "cold"
            found = meaning or found
        return found

    def _in_training(self, function: Function, node: ast.AST, loop: Loop | None) -> guards.Meaning:
        """What the conditions say to who trains: `if not self.training` runs in evaluation alone."""
        if any(guards.evaluates(guard.test, guard.true) for guard in function.flow.guards(node, loop)):
            return "cold"
        return self.guarded(function, node, loop, training=True)

    def _set_behind(self, function: Function, guard: Guard, loop: Loop | None, training: bool) -> guards.Meaning:
        """What `if picture is not None` says where `picture` is None but behind a condition: what that condition says."""
        found = (self._set_rarely(function, name, loop, training) for name in first_time.there(guard))
        return next(filter(None, found), "")

    def _set_rarely(self, function: Function, name: str, loop: Loop | None, training: bool) -> guards.Meaning:
        nothing: guards.Meaning = ""
        key = ("set behind", function, name, loop, training)
        return self._ask(key, lambda: self._why_set(function, name, loop, training), nothing)

    def _why_set(self, function: Function, name: str, loop: Loop | None, training: bool) -> guards.Meaning:
        """Whether a name is None on most iterations: set behind a rare condition alone, and cleared on all others."""
        flow = function.flow
        stores = flow.stores.get(name, ())
        if name in flow.parameters or name in flow.globals or len(stores) > MOST_STORES:
            return ""
        cleared, found = False, set[guards.Meaning]()
        for store in stores:
            statement = flow.parents.get(store)
            if not isinstance(statement, ast.Assign) or (loop is not None and not contains(loop, statement)):
                return ""
            read = self._in_training if training else self.guarded
            meaning = read(function, statement, loop)
            if isinstance(statement.value, ast.Constant) and (
                statement.value.value is None or statement.value.value is False
            ):
                cleared = cleared or not meaning
            elif meaning in ("throttled", "cold"):
                found.add(meaning)
            else:
                return ""
        return ("throttled" if "throttled" in found else "cold") if cleared and found else ""

    def _elsewhere(self, function: Function, guard: Guard) -> guards.Meaning:
        """What a condition says by a method that it asks, or by a flag that callers give."""
        parts = list(required(guard.test, guard.true))
        said = itertools.chain(
            (self._told(function, *part) for part in parts), (self._given(function, *part) for part in parts)
        )
        return next(filter(None, said), "")

    def _told(self, function: Function, test: ast.expr, true: bool) -> guards.Meaning:
        """What a condition says that asks a method which is one expression of its object: `if self.is_time(step):`."""
        if not isinstance(test, ast.Call):
            return ""
        return self._ask(("told", function, test, true), lambda: self._asked_of(function, test, true), "")

    def _asked_of(self, function: Function, call: ast.Call, true: bool) -> guards.Meaning:
        targets = self.project.targets(function, call)
        asked = targets[0] if len(targets) == 1 else None
        node = asked.node if asked is not None else None
        if asked is None or not isinstance(node, ast.FunctionDef):
            return ""
        given = _only_test(node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body)
        if given is None or ((call.args or call.keywords) and not _by_own_period(given)):
            return ""
        return guards.meaning(Guard(given, true, None, node), asked.flow, lambda n: self.project.value(asked, n))

    def _given(self, function: Function, test: ast.expr, true: bool) -> guards.Meaning:
        """What a condition says that asks for a flag which the callers give."""
        if not isinstance(test, ast.Name) or test.id not in function.flow.parameters:
            return ""
        return self._ask(("given", function, test.id, true), lambda: self._passed(function, test.id, true), "")

    def _passed(self, function: Function, name: str, true: bool) -> guards.Meaning:
        return passed.meaning(self.project, function, name, true, self._is_rare_call)

    def _is_rare_call(self, site: CallSite) -> bool:
        """Whether its function seldom comes to a call, or all calls of that function that the program makes are rare."""
        return self._is_seldom(site) or self._is_called_seldom(site.function)

    def _is_seldom(self, site: CallSite) -> bool:
        around = site.function.flow.loops(site.call)[-1:]
        return any(self.guarded(site.function, site.call, one) in ("throttled", "cold") for one in (None, *around))

    def _is_called_seldom(self, function: Function) -> bool:
        sites = self.project.call_sites(function, MAX_SITES) or ()
        own = [one for one in sites if not self.project.in_test(one.function.module.path, one.function.name)]
        return bool(own) and all(map(self._is_seldom, own))

    def _ends_for_good(self, function: Function, loop: ast.While) -> bool:
        """`while self.at < len(self.plan): ...; self.at += 1`, where no other method sets `at` back: few iterations in all."""
        klass = function.cls
        if klass is None:
            return False
        methods = [method for method in klass.methods.values() if method.name != "__init__"]
        return any(
            all(contains(loop, store) for method in methods for store in method.flow.targets.get(name, ()))
            for name in first_time.advanced(loop, function.flow)
        )

    def _never(self, function: Function, guard: Guard) -> bool:
        """Whether what is behind a condition runs once, or never: see `settled`, and `first_time.fillers`."""
        key = ("never", function, guard.test, guard.true, guard.block is None)
        rare = (self._is_settled, self._is_filled, self._is_done, self._is_kept_by_callers)
        return self._ask(key, lambda: any(one(function, guard) for one in rare), False)

    def _is_settled(self, function: Function, guard: Guard) -> bool:
        """Whether no call of the program gives the options that a condition asks for."""
        return settled.truth(self.project, function, guard.test) is (not guard.true)

    def _is_filled(self, function: Function, guard: Guard) -> bool:
        """`if x.index is None: x.find_index(step)`, where the method is one that assigns `self.index`, or `self._index`."""
        return any(
            f"{method.parameters[0].arg}.{name}" in method.flow.targets
            for call, attribute in first_time.fillers(guard, function.flow)
            for method in self.project.targets(function, call)
            if method.is_method and method.parameters
            for name in (attribute, f"_{attribute}")
        )

    def _is_kept_by_callers(self, function: Function, guard: Guard) -> bool:
        """`if len(state) == 0: state["mean"] = ...`, where all callers give something of theirs that stays: `self.state[p]`."""
        for name in first_time.given(guard, function.flow):
            sites = self.project.call_sites(function, MAX_SITES) or ()
            kept = [(function.argument(site.call, name), site.function.flow) for site in sites]
            if kept and all(node is not None and first_time.outlives(node, flow, None) for node, flow in kept):
                return True
        return False

    def _is_done(self, function: Function, guard: Guard) -> bool:
        """`if self.fresh and self.training: self.prepare(x)`, where the method sets `self.fresh` to False."""
        flags = [
            (test, true)
            for test, true in required(guard.test, guard.true)
            if isinstance(test, ast.Attribute) and names.chain(test) == ["self", test.attr]
        ]
        calls = [
            one.value for one in guard.block or () if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)
        ]
        return any(
            first_time.taken_back(test, true, method.flow)
            for call in (calls if flags else ())
            if (names.chain(call.func) or [""])[:-1] == ["self"]
            for method in self.project.targets(function, call)
            for test, true in flags
        )

    def _step_conditions(self, function: Function, loop: Loop) -> frozenset[ast.expr]:
        """The conditions that all steps of a loop are behind: what stands there too is no rarer than the steps."""
        return self._conditions(function, loop)[0]

    def _gathering(self, function: Function, loop: Loop | None) -> frozenset[ast.expr]:
        """The conditions that all optimizers of a loop, or a function, are behind: they wait for the gradients of a few batches."""
        if loop is not None:
            return self._conditions(function, loop)[1]
        none: frozenset[ast.expr] = frozenset()
        return self._ask(("gathering", function), lambda: self._find_gathering(function), none)

    def _find_gathering(self, function: Function) -> frozenset[ast.expr]:
        named = [call for call in function.flow.calls_named("step") if not function.flow.loops(call)]
        return self._behind(function, None, [call for call in named if self._steps(function, call)])

    def _conditions(self, function: Function, loop: Loop) -> tuple[frozenset[ast.expr], frozenset[ast.expr]]:
        none: frozenset[ast.expr] = frozenset()
        return self._ask(("conditions", function, loop), lambda: self._find_conditions(function, loop), (none, none))

    def _find_conditions(self, function: Function, loop: Loop) -> tuple[frozenset[ast.expr], frozenset[ast.expr]]:
        steps = [call for call in self._calls_in(function, loop) if self._steps(function, call)]
        updates = [call for call in steps if last_name(call) == "step"]
        gathered = self._behind(function, loop, updates) if len(updates) < len(steps) else frozenset[ast.expr]()
        return self._behind(function, loop, steps), gathered

    def _behind(self, function: Function, loop: Loop | None, calls: Sequence[ast.Call]) -> frozenset[ast.expr]:
        behind = [frozenset(guard.test for guard in function.flow.guards(call, loop)) for call in calls]
        return frozenset.intersection(*behind) if behind else frozenset()

    def _is_whole_step(self, function: Function, block: tuple[ast.stmt, ...]) -> bool:
        """Whether a block runs a backward pass and an optimizer of its own: what stands there is part of that step."""
        return self._ask(("whole step", function, block[0]), lambda: self._holds_whole_step(function, block), False)

    def _holds_whole_step(self, function: Function, block: tuple[ast.stmt, ...]) -> bool:
        calls = function.flow.calls_between(block[0].lineno, block[-1].end_lineno or block[-1].lineno)
        return self._are_whole(function, calls)

    # Questions of rules

    def hot(self, function: Function, node: ast.AST) -> Hot | None:
        """Why the place runs on every training step, or None."""
        own = place_of(function)
        if own not in self._by_function and own not in self.index.functions:
            self.project.note("steps", own[0])
            if not self._is_loss(function):
                return None
        return self._of_statement("hot", self._hot, function, node)

    def _is_loss(self, function: Function) -> bool:
        """Whether a function is a loss without a known caller; asked for each by itself, since many files define losses."""
        if not losses.is_loss(function) or self.project.in_test(function.module.path, function.name):
            return False
        return losses.is_for_who_trains(self.project, function)

    def _of_statement(self, kind: str, find: Callable[[Function, ast.AST], T], function: Function, node: ast.AST) -> T:
        """What is found for a place: once a statement, for all of it that runs whenever the statement does."""
        around = self._statements.get(node)
        if around is None:
            around = self._statements[node] = _statement(function.flow, node)
        statement, plain = around
        if not plain:
            return find(function, node)
        nothing: T = None  # type: ignore[assignment]
        return self._ask((kind, function, statement), lambda: find(function, statement), nothing)

    def _hot(self, function: Function, node: ast.AST) -> Hot | None:
        own = place_of(function)
        for loop in function.flow.loops(node) if own in self._by_function else ():
            if self.is_step_loop(function, loop):
                weight = self._in_training(function, node, loop)
                if weight in ("throttled", "cold"):
                    return None
                return Hot(self.project, Why(own, loop_place(function, loop), weight == "weak"))
        self.project.note("steps", own[0])
        why = self.index.functions.get(own) or (Why(own, None) if self._is_loss(function) else None)
        if why is None:
            return None
        weight = self._in_training(function, node, None)
        if weight in ("throttled", "cold"):
            return None
        return Hot(self.project, replace(why, weak=why.weak or weight == "weak"))

    def warm(self, function: Function, node: ast.AST) -> Loop | None:
        """The evaluation or generation loop that runs the place on each of its iterations, or None."""
        if not function.has_loops:
            return None
        return self._of_statement("warm statement", self._loop_of, function, node)

    def _loop_of(self, function: Function, node: ast.AST) -> Loop | None:
        for loop in function.flow.loops(node):
            if self.is_warm(function, loop):
                return None if self.guarded(function, node, loop) in ("throttled", "cold") else loop
        return None

    def holds_warm_loop(self, function: Function) -> bool:
        """Whether an evaluation or generation loop stands in a function."""
        return any(self.is_warm(function, loop) for loop in function.own_loops)

    def warm_in(self, path: str) -> Collection[Function]:
        """The functions of a file with an evaluation or generation loop, and those of the file that these loops run."""
        source = self.project.source(path)
        module = self.project.module(path) if source is not None and source.holds(_WARM) else None
        none: Collection[Function] = ()
        return self._ask(("warm in", module), lambda: self._find_in(module), none) if module is not None else ()

    def _find_in(self, module: Module) -> Collection[Function]:
        loops = frozenset(function for function in module.functions if self.holds_warm_loop(function))
        found = {function: None for function in module.functions if function in loops}
        own = {function.name for function in module.functions}
        todo = list(found)
        while todo:
            caller = todo.pop()
            for call in caller.flow.calls:
                if last_name(call) not in own or (caller in loops and not self.warm(caller, call)):
                    continue
                new = [one for one in families.may_run(self.project, caller, call) if one.module is module]
                todo += [one for one in new if one not in found]
                found.update(dict.fromkeys(new))
        return found

    def warm_caller(self, function: Function, node: ast.AST) -> Caller | None:
        """The evaluation or generation loop, in another function, that calls the place's function on each iteration; or None.

        What a function does once beside a loop of its own that runs a model is little next to that; another loop is not.
        """
        nobody: Caller | None = None
        loops = function.flow.loops(node)
        beside = (
            bool(loops) and self.holds_warm_loop(function) and not any(self.is_warm(function, one) for one in loops)
        )
        found = self._ask(("warm caller", function, beside), lambda: self._find_caller(function, beside), nobody)
        return None if found is None or self.guarded(function, node, None) in ("throttled", "cold") else found

    def _find_caller(self, function: Function, beside: bool) -> Caller | None:
        """The nearest one; where too many functions have to be looked at for it, that is not known."""
        seen = {function}
        level = [function]
        while level and len(seen) <= MOST_ABOVE:
            above = [self._find_above(one) if one is function and beside else self._above(one) for one in level]
            found = next((loop for loop, _ in above if loop is not None), None)
            if found is not None:
                return found
            level = [
                one for one in dict.fromkeys(caller for _, callers in above for caller in callers) if one not in seen
            ]
            seen.update(level)
        return None

    def _above(self, function: Function) -> tuple[Caller | None, Sequence[Function]]:
        """The evaluation or generation loop that calls a function, and the functions that call it on each of their calls."""
        none: tuple[Caller | None, Sequence[Function]] = (None, ())
        if self.holds_warm_loop(function):
            return none
        return self._ask(("above", function), lambda: self._find_above(function), none)

    def _find_above(self, function: Function) -> tuple[Caller | None, Sequence[Function]]:
        if isinstance(function.node, ast.Module) or function.name == "forward":
            return None, ()
        if runs_on_batches(self.project, function):
            return (function, function.node), ()
        further: dict[Function, None] = {}
        sites = list(itertools.islice(families.calls_of(self.project, function), MOST_CALLERS + 1))
        if len(sites) > MOST_CALLERS:
            return None, ()
        named = list(itertools.islice(families.calls_by_name(self.project, function), MOST_CALLERS + 1))
        sites += named if len(sites) + len(named) <= MOST_CALLERS else ()
        sites += itertools.islice(handed.calls_by_others(self.project, function), MOST_CALLERS)
        for site in sites:
            if self.project.in_test(site.function.module.path, site.function.name):
                continue
            for loop in site.function.flow.loops(site.call) if site.function.has_loops else ():
                if self.is_warm(site.function, loop):
                    if self.guarded(site.function, site.call, loop) not in ("throttled", "cold"):
                        return (site.function, loop), ()
                    break
            else:
                if self.guarded(site.function, site.call, None) not in ("throttled", "cold"):
                    further[site.function] = None
        return None, list(further)

    def is_warm(self, function: Function, loop: Loop) -> bool:
        """Whether a loop calls a model on each iteration without training it."""
        return self._ask(("warm", function, loop), lambda: self._is_warm(function, loop), False)

    def _is_warm(self, function: Function, loop: Loop) -> bool:
        return (
            not self.is_step_loop(function, loop)
            and not runs.tries_again(loop)
            and not runs.captures(function.flow, loop)
            and not runs.asks_user(function.flow, loop)
            and not self._makes_what_it_runs(function, loop)
            and not self._trains(function, loop)
            and (
                self._is_forward(function)
                or self._calls_model(function, loop)
                or self._feeds(function, loop)
                or self._scores(function, loop)
            )
        )

    def _scores(self, function: Function, loop: Loop) -> bool:
        """Whether a loop computes with tensors behind one that ran a model, for each of many things: the trials of an evaluation."""
        if not isinstance(loop, ast.For) or isinstance(loop.iter, ast.Call) or runs.over_settings(function, loop):
            return False
        if not any(
            function.flow.loops(call)[0] is loop and self._is_computed(function, call)
            for call in self._calls_in(function, loop)
        ):
            return False  # asked first: few loops compute, and each would look at all before it
        before = [one for one in function.own_loops if (one.end_lineno or one.lineno) < loop.lineno]
        return any(self.is_warm(function, one) for one in before)

    def _is_computed(self, function: Function, call: ast.Call) -> bool:
        """`torch.matmul(a, b)` of tensors that are not known to be on the host."""
        row = operator(self.project.resolve(function, call.func) or "")
        if row is None or row.device or row.alias:
            return False
        value = self.project.value(function, call)
        return value.is_tensor and value.device != "cpu"

    def _feeds(self, function: Function, loop: Loop) -> bool:
        """Whether a loop is one of a generator that an evaluation loop goes through."""
        return loop in function.giving_loops and any(
            self.is_warm(place, one)
            for place, one in handed.loops_over(self.project, function)
            if not self.project.in_test(place.module.path, place.name)
        )

    def _brings_batches(self, function: Function, iterable: ast.expr) -> bool:
        """`loader`, `enumerate(loader)`, `tqdm(loader)`."""
        if isinstance(iterable, ast.Call) and iterable.args and last_name(iterable) in aliases.WRAPPERS:
            return self._brings_batches(function, iterable.args[0])
        return self.project.value(function, iterable).kind == "loader"

    def _is_forward(self, function: Function) -> bool:
        """Whether a function is the `forward` of a module: its loops are part of the model, whatever they call."""
        return function.name == "forward" and function.cls is not None and self.project.is_module(function.cls)

    def _trains(self, function: Function, loop: Loop) -> bool:
        """Whether a step loop runs inside the loop, here or in a function that it calls: then it is one of epochs or rollouts."""
        if any(inner is not loop and loop in function.flow.loops(inner) for inner in self.loops_of(function)):
            return True
        self.project.note("training")
        return any(
            self._holds_step_loop(target)
            for call in self._calls_in(function, loop)
            if last_name(call) in self.index.training
            for target in self.project.targets(function, call)
        )

    def _holds_step_loop(self, function: Function) -> bool:
        self.project.note("steps", function.module.path)
        return place_of(function) in self._by_function

    def _calls_model(self, function: Function, loop: Loop) -> bool:
        """Whether a loop calls a model; one over a loader may do so in a loop of its own, for each of several models."""
        over_batches: bool | None = None
        for call in self._calls_in(function, loop):
            part = _is_part_of_model(call)
            if not (part or self.project.may_be_own(function, call)):
                continue
            if function.flow.loops(call)[0] is not loop:
                if over_batches is None:
                    over_batches = isinstance(loop, ast.For) and self._brings_batches(function, loop.iter)
                if not over_batches:
                    continue
            value = self.project.value(function, call.func)
            if _counts_up(loop) and value.kind == "module" and _is_criterion(value):
                continue
            if value.kind == "module" or self._is_method_of_module(function, call, value):
                return True
            last = (names.chain(call.func) or [""])[-1]
            if last == "forward" and self.project.value(function, _receiver(call)).kind == "module":
                return True
            named = (
                calls.MODEL_NAME.search(last) and not last.endswith(("encoder", "decoder")) and not _MAKES.match(last)
            )
            if _RUNS.search(last) and not _MAKES.match(last) and value.kind in ("unknown", "function"):
                return True
            if value.kind == "unknown" and (named or part):
                return True
            if self._hands_on_model(function, call) or self._infers(function, call):
                return True
            if self._is_given(function, call, value) or self._predicts(function, call):
                return True
            if not (call.args or call.keywords) and isinstance(call.func, ast.Attribute):
                # `model.validate()`, of an object that was given the batch before.
                if over_batches is None:
                    over_batches = isinstance(loop, ast.For) and self._brings_batches(function, loop.iter)
                if over_batches and self._runs_module_once(function, call):
                    return True
        return False

    def _runs_module_once(self, function: Function, call: ast.Call) -> bool:
        """Whether all that a call may run are methods that run a module outside of loops of their own."""
        targets = families.may_run(self.project, function, call)
        return bool(targets) and all(
            one.cls is not None and self.runs_module(one) and self._runs_once(one) for one in targets
        )

    def _is_method_of_module(self, function: Function, call: ast.Call, callee: Value) -> bool:
        """`model.decode(tokens)`: a method that the project gives to a model, takes tensors, and runs a module."""
        if not isinstance(call.func, ast.Attribute) or not (call.args or call.keywords):
            return False
        kind = self.project.value(function, call.func.value).kind
        if callee.kind == "unknown" and kind == "module":
            return any(map(self.runs_module, families.may_run(self.project, function, call)))
        if callee.kind != "function" or callee.function is None:
            return False
        if callee.function.cls is None or kind not in ("module", "instance"):
            return False
        # `engine.logits(tokens)` of another object: once, not in a loop of its own.
        methods = self._made_real(callee.function)
        return any(self.runs_module(one) and (kind == "module" or self._runs_once(one)) for one in methods)

    def _made_real(self, method: Function) -> list[Function]:
        """The method, or what stands in place of an abstract one."""
        return list(families.overrides(self.project, method)) if method.is_abstract else [method]

    def _runs_once(self, method: Function) -> bool:
        """Whether a method that runs a module does so outside of its own loops."""
        return any(self._runs_module(method, call) and not method.flow.loops(call) for call in method.flow.calls)

    def runs_module(self, method: Function) -> bool:
        """Whether a method of a model calls a module, by itself or in another method: `get_weight` does not."""
        calls = method.flow.calls
        return self._ask(("runs module", method), lambda: any(self._runs_module(method, one) for one in calls), False)

    def _runs_module(self, method: Function, call: ast.Call) -> bool:
        last = (names.chain(call.func) or [""])[-1]
        if last == "forward":
            return True
        callee = self.project.value(method, call.func)
        if callee.kind == "function" and callee.function is not None and callee.function.cls is not None:
            return self.runs_module(callee.function)
        return callee.kind == "module" or (callee.kind == "unknown" and bool(calls.MODEL_NAME.search(last)))

    def _infers(self, function: Function, call: ast.Call) -> bool:
        """`sliding_window_inference(images, size, 1, model)`: a function of a library that runs the model it is given."""
        if not _INFERS.search(last_name(call)) or self.project.targets(function, call):
            return False
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return len(given) > 1 and any(
            calls.MODEL_NAME.search(names.last(one)) and self.project.value(function, one).kind in ("module", "unknown")
            for one in given
        )

    def _is_given(self, function: Function, call: ast.Call, callee: Value) -> bool:
        """`query(points)`: a function that callers give, which runs a model; or an unknown one, called with a tensor without gradients."""
        if not isinstance(call.func, ast.Name) or not call.args or not function.binds(call.func.id):
            return False
        targets = self.project.targets(function, call)
        name = call.func.id
        return any(map(self._runs_alone, targets)) or (
            not targets
            and callee.kind in ("unknown", "function")
            and name in function.flow.parameters
            and name not in function.flow.stores
            and self._keeps_no_gradients(function, call)
            and self.project.value(function, call.args[0]).is_tensor
        )

    def _runs_alone(self, one: Function) -> bool:
        return one.name != "__call__" and self.runs_module(one) and self._runs_once(one)

    def _keeps_no_gradients(self, function: Function, call: ast.Call) -> bool:
        """Whether a function turns gradients off around a call, or altogether."""
        around = (*function.flow.contexts(call), *function.decorators)
        return any(names.last(one.func if isinstance(one, ast.Call) else one) in _OFF for one in around)

    def _predicts(self, function: Function, call: ast.Call) -> bool:
        """`self.predict(user)`: a method by the name of one that infers, which computes tensors without modules, for one thing at a time."""
        if not isinstance(call.func, ast.Attribute) or not call.args or call.func.attr not in _PREDICTS:
            return False
        if any(_NOT_ONE.search(names.word(one)) for one in call.args):
            return False
        return any(
            one.cls is not None and self._computes(one) for one in families.may_run(self.project, function, call)
        )

    def _computes(self, method: Function) -> bool:
        """Whether a method computes tensors with torch, outside of loops of its own."""
        return self._ask(("computes", method), lambda: self._finds_tensor(method), False)

    def _finds_tensor(self, method: Function) -> bool:
        return any(
            (self.project.resolve(method, call.func) or "").startswith("torch.")
            and not method.flow.loops(call)
            and self.project.value(method, call).is_tensor
            for call in method.flow.calls
        )

    def _hands_on_model(self, function: Function, call: ast.Call) -> bool:
        """`next_token(model, tokens)`: a function of the project that is given a model, and calls it once."""
        given = [one for one in (*call.args, *(k.value for k in call.keywords)) if not isinstance(one, ast.Constant)]
        # The values of what is given take longest to tell: most calls are of nothing that calls one of its names.
        called = [
            (target, c.func)
            for target in (self.project.targets(function, call) if given else ())
            for c in target.flow.calls
            if isinstance(c.func, ast.Name) and not target.flow.loops(c) and self.project.may_be_own(target, c)
        ]
        return (
            bool(called)
            and any(self.project.value(function, argument).kind == "module" for argument in given)
            and any(self.project.value(target, name).kind == "module" for target, name in called)
        )


def _left_over(stepping: Sequence[tuple[ast.Call, tuple[Step, ...], Sequence[Loop]]]) -> set[ast.Call]:
    """The calls that take the gradients which the last turns of a loop in front of them gathered, as the loop itself does."""
    backward = {tuple(loops[:1]) for _, parts, loops in stepping if "backward" in parts}
    steps = [(call, ast.dump(call), tuple(loops)) for call, parts, loops in stepping if parts == ("step",)]
    first: dict[tuple[str, tuple[Loop, ...]], int] = {}
    for call, written, loops in steps:
        for depth in range(1, len(loops) + 1):
            inside = written, loops[depth:]
            first[inside] = min(first.get(inside, call.lineno), call.lineno)
    return {
        call
        for call, written, loops in steps
        if loops[:1] not in backward and first.get((written, loops), call.lineno) < call.lineno
    }


def _receiver(call: ast.Call) -> ast.expr:
    """`x` of `x.f(...)`; of other calls, what is called."""
    return call.func.value if isinstance(call.func, ast.Attribute) else call.func


def _is_only_handed_on(function: Function) -> bool:
    """`Engine(update)`, `return update` of a nested function that nobody calls here; a process or thread runs its target once."""
    parent = function.parent
    if parent is None or parent is parent.module.body or isinstance(parent.node, ast.ClassDef):
        return False
    loads = parent.flow.loads.get(function.name, ())
    return bool(loads) and all(_is_handed_on(parent.flow, name) for name in loads)


def _is_handed_on(flow: Flow, name: ast.AST) -> bool:
    taker = flow.parents.get(name)
    if isinstance(taker, ast.keyword):
        if taker.arg == "target":
            return False
        taker = flow.parents.get(taker)
    if isinstance(taker, ast.Call):
        return taker.func is not name and last_name(taker) not in _RUNS_ONCE
    return isinstance(taker, ast.Return)


_RUNS_ONCE = frozenset(("spawn", "start_processes", "submit", "Process", "Thread", "run"))


def _is_next(call: ast.Call) -> bool:
    """`next(batches)`"""
    return isinstance(call.func, ast.Name) and call.func.id == "next" and bool(call.args)


def _own_calls(method: Function, called: Collection[str]) -> list[ast.Call]:
    """The calls of other methods of the same object, by their names, outside of loops."""
    own = method.parameters[0].arg if method.is_method and method.parameters else ""
    calls_ = (call for name in called for call in method.flow.calls_named(name))
    return [call for call in calls_ if names.chain(call.func) == [own, last_name(call)] and not method.flow.loops(call)]


def _properties(function: Function) -> Iterator[tuple[ast.Attribute, Function]]:
    """The properties of its own object that a method reads, each with the function that runs then."""
    klass = function.cls
    if klass is None or not function.is_method or not function.parameters:
        return  # `def step(): ...` in a class is not called on an object
    getters = klass.getters
    if not getters:
        return
    first = function.parameters[0].arg
    for node in function.flow.nodes:
        if isinstance(node, ast.Attribute) and node.attr in getters and isinstance(node.ctx, ast.Load):
            getter = getters[node.attr]
            if isinstance(node.value, ast.Name) and node.value.id == first and getter is not function:
                yield node, getter


def _is_criterion(value: Value) -> bool:
    return value.class_name.startswith("torch.nn.") and value.class_name.endswith("Loss")


def _counts_up(loop: Loop) -> bool:
    """`for i in range(n)`, which brings no batches."""
    return isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and names.chain(loop.iter.func) == ["range"]


def _counts(test: ast.expr, loops: Sequence[Loop], *, own: bool) -> bool:
    """`i == 0` in a loop `for i in range(n)` inside of the step: it holds once in each.

    What is enumerated may be the batches, unless it is in the `own` function of the step's loop.
    """
    steps = (["range"], ["enumerate"]) if own else (["range"],)
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if not isinstance(test, ast.Compare) or len(test.ops) > 1 or not isinstance(test.left, ast.Name):
        return False
    return any(
        isinstance(loop, ast.For)
        and isinstance(loop.iter, ast.Call)
        and names.chain(loop.iter.func) in steps
        and test.left.id == _first_target(loop)
        for loop in loops
    )


def _first_target(loop: ast.For) -> str:
    """`i` of `for i in range(n)`, `for i, x in enumerate(xs)`."""
    target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
    return target.id if isinstance(target, ast.Name) else ""


def _by_own_period(test: ast.expr) -> bool:
    """`step % self.period`, of whatever step is given; `size % 8` says nothing of how often."""
    remainders = (part for part in ast.walk(test) if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod))
    return any(isinstance(one.right, ast.Attribute) for one in remainders)


def _only_test(body: list[ast.stmt]) -> ast.expr | None:
    """The test of `return test`, and of `if test: return True` with `return False` behind it."""
    last = body[-1] if body else None
    if len(body) == 1 and isinstance(last, ast.Return):
        return last.value
    first = body[0] if len(body) == 2 else None
    if not isinstance(first, ast.If) or first.orelse or not _returns(last, False):
        return None
    return first.test if len(first.body) == 1 and _returns(first.body[0], True) else None


def _returns(statement: ast.stmt | None, value: bool) -> bool:
    given = statement.value if isinstance(statement, ast.Return) else None
    return isinstance(given, ast.Constant) and given.value is value


def _is_part_of_model(call: ast.Call) -> bool:
    """`self.model.feature_extractor(x)`: a part of a model by its name, which is given something."""
    parts = names.chain(call.func) or []
    return (
        len(parts) > 1
        and bool(call.args)
        and bool(calls.MODEL_NAME.search(parts[-2]))
        and bool(_PARTS.search(parts[-1]))
    )


def _is_loss(function: Function, given: ast.expr) -> bool:
    """Whether what `backward` is given is a loss, not a gradient: `y.backward(dy)` measures or tests a kernel."""
    last = (names.chain(given) or [""])[-1]
    return bool(_LOSS.search(last)) or function.module.source.holds(b".step(")


def _mentions(module: Module) -> Iterable[Function]:
    """The functions whose lines hold a word of a step."""
    return module.functions_at(module.source.told_lines("lines of steps", lines_of_steps))


def _statement(flow: Flow, node: ast.AST) -> tuple[ast.stmt, bool]:
    """The statement around a place, and whether the place runs whenever the statement does, as often as it does."""
    plain = True
    parent: ast.AST = node if isinstance(node, ast.stmt) else flow.function.node  # for the defaults of a function
    for child, parent in flow.around(node):
        if isinstance(child, ast.stmt):
            return child, plain
        if (
            parent.__class__ in _PARTLY
            or (isinstance(parent, ast.While) and child is parent.test)
            or (isinstance(parent, ast.Assert) and child is parent.msg)
        ):
            plain = False
    assert isinstance(parent, ast.stmt), "an expression outside of statements"
    return parent, plain


_PARTLY = frozenset((ast.Lambda, ast.IfExp, ast.BoolOp, ast.ExceptHandler))


def _only_iterates(loop: Loop, call: ast.Call) -> bool:
    """`for optimizer in optimizers: optimizer.step()`: a loop over optimizers or losses, not over steps."""
    if not isinstance(loop, ast.For) or len(loop.body) > 2:
        return False
    func = call.func
    assert isinstance(func, ast.Attribute)
    root = func.value
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    if isinstance(root, ast.Name) and root.id in targets:
        return True
    return any(isinstance(a, ast.Name) and a.id in targets for a in call.args) and func.attr == "step"
