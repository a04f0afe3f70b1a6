"""Evaluation and generation loops: those that call a model on each iteration without training it, and what they call."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Sequence

from ..facts import aliases, alternatives, guards, names, runs
from ..facts.alternatives import Said
from ..facts.common_names import MODEL_NAME
from ..facts.flow import Comprehension, Loop
from ..facts.frequency import is_aside
from ..facts.layers import WITHOUT_WEIGHTS, is_criterion
from ..facts.module import Function
from ..facts.nodes import bound_names, receiver_of
from ..facts.roles import role_of
from ..query.question import question
from ..system.regex import regex
from . import dispatch, families, handed, hooks
from .batches import sends, sends_its_own, sent_batch, takes, with_parts
from .conditions import guarded, is_throttled
from .frameworks import runs_on_batches
from .guiding import takes_few_gradients
from .host_given import is_all_on_host
from .loops import brings_batches, brings_samples, counts_up, exports, makes_what_it_runs, over_all_modules
from .model_calls import (
    hands_on_model,
    infers,
    is_computed,
    is_given_model,
    is_given_module,
    is_method_of_module,
    is_named_like_model,
    is_part_of_model,
    is_run_without_gradients,
    is_unknown_method,
    makes_what_runs_them,
    predicts,
    runs_library_model,
    runs_module_once,
)
from .settled import never_runs
from .stepping import is_left_out
from .steps import Steps
from .trials import is_tried

_WARM_WORDS = frozenset(
    (
        b"no_grad",
        b"inference_mode",
        b".eval(",
        b"oader",
        b"denois",
        b"validation_step",
        b"test_step",
        b"volatile",
        b"eval_step",
        b"val_step",
        b"valid_step",
    )
)
_WARM = regex(b"|".join(map(re.escape, sorted(_WARM_WORDS))))
_DATA = regex(r"(?i)data|load|batch|sample|image|video|audio|query|queries|prompt|range\(")
"""What a loop goes through that is data, or counts."""
_NO_MODELS = frozenset(
    """append extend insert pop remove sort items keys values get setdefault join split strip startswith endswith format
    to reshape view unsqueeze squeeze transpose permute flatten expand repeat contiguous sum max min any all tolist item
    cpu cuda numpy detach clone size dim numel long int float half bool copy_ fill_ zero_""".split()
)
"""Methods of containers, texts and tensors, by whose names nobody calls a model or one of its layers."""
_BETWEEN = 1
"""How many functions may stand between a loop of rollouts and the one that holds the step loop."""
_GENERATES = b".generate("
_FEW_PASSES = 3
"""So many passes of a model a function may make beside a place that is told of."""
MOST_CALLERS = 20
"""Of more calls than these, nobody can tell which one to a function counts."""
MOST_ABOVE = 200
"""So many functions are looked at for an evaluation loop that calls one, directly or through others."""
Caller = tuple[Function, Loop | Comprehension | ast.FunctionDef | ast.AsyncFunctionDef]
"""A loop that calls something on each iteration, in its function; a function that a framework calls so, and its definition."""


class WarmLoops:
    """The evaluation and generation loops of a project."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.project = steps.project
        self.ask = steps.project.ask

    def warm(self, function: Function, node: ast.AST) -> Loop | None:
        """The evaluation or generation loop that runs the place on each of its iterations, or None."""
        if not function.has_loops:
            return None
        return self.steps.of_statement("warm statement", self._loop_of, function, node)

    def _loop_of(self, function: Function, node: ast.AST) -> Loop | None:
        for loop in function.flow.loops(node):
            if self.is_warm(function, loop) or self._evaluates_there(function, node, loop):
                return None if self._is_seldom(function, node, loop) or self._is_shown(function, loop) else loop
        return None

    def _is_seldom(self, function: Function, node: ast.AST, loop: Loop) -> bool:
        """Whether a condition keeps a place from most iterations of a loop; in a forward, from most forwards."""
        since = None if self._is_forward(function) else loop
        return guarded(self.project, function, node, since) in guards.RARE

    def _is_shown(self, function: Function, loop: Loop) -> bool:
        """Whether a loop of a few iterations runs once in many steps of the loop around it: pictures of what is learnt."""
        return (runs.of_few(function, loop) or runs.counts_few(function, loop)) and any(
            self.steps.is_step_loop(function, outer) and guarded(self.project, function, loop, outer) in guards.RARE
            for outer in function.flow.loops(loop)
        )

    def _evaluates_there(self, function: Function, node: ast.AST, loop: Loop) -> bool:
        """Whether a loop that trains comes to a place only where it evaluates: behind `phase == "val"`, of `phase == "train"`."""
        return self.steps.is_step_loop(function, loop) and is_left_out(self.project, function, node, loop)

    def holds_warm_loop(self, function: Function) -> bool:
        """Whether an evaluation or generation loop stands in a function."""
        return any(self.is_warm(function, loop) for loop in function.own_loops)

    def _is_known_warm(self, function: Function) -> bool:
        """The same, which may be known from an earlier run."""
        if not function.own_loops:
            return False
        return self.project.told_of(function, "warm loop", lambda: self.holds_warm_loop(function))

    def is_beside(self, function: Function, node: ast.AST) -> bool:
        """Whether a place runs once beside a loop of its function that generates or evaluates: next to that it is little."""
        if not function.has_loops or self._is_forward(function) or function.flow.loops(node):
            return False
        return self.holds_warm_loop(function)

    def warm_in(self, path: str) -> Collection[Function]:
        """The functions of a file with an evaluation or generation loop, and those of the file that these loops run."""
        return self._warm_in(path) if self.project.holds(path, _WARM, _WARM_WORDS) else ()

    @question("warm in", ())
    def _warm_in(self, path: str) -> Collection[Function]:
        functions = self.project.functions_of(path)
        loops = frozenset(filter(self._is_known_warm, functions))
        called = (function for function in functions if function in loops or runs_on_batches(self.project, function))
        found = dict.fromkeys(called)
        own = {function.name for function in functions}
        todo = list(found)
        while todo:
            caller = todo.pop()
            for call in caller.flow.calls:
                if names.last(call.func) not in own or (caller in loops and not self.warm(caller, call)):
                    continue
                new = [one for one in families.may_run(self.project, caller, call) if one.module.path == path]
                todo += [one for one in new if one not in found]
                found.update(dict.fromkeys(new))
        return found

    def warm_caller(self, function: Function, node: ast.AST) -> Caller | None:
        """The evaluation or generation loop, in another function, that calls the place's function on each iteration; or None.

        What a function does once beside a loop of its own, or a generation, that runs or trains a model is little next to that; another loop is not.
        Of a place in a comprehension that evaluates, that.
        """
        own = self._comprehension_of(function, node)
        if own is not None:
            return function, own
        loops = function.flow.loops(node)
        beside = (
            bool(loops) and self.holds_warm_loop(function) and not any(self.is_warm(function, one) for one in loops)
        )
        found = self._find_caller(function, beside, not loops, alternatives.asked_of_callers(function, node))
        if (
            found is None
            or guarded(self.project, function, node, None) in guards.RARE
            or is_throttled(self.project, function)
        ):
            return None
        beside_more = self._generates(function) or any(True for _ in self.steps.loops_of(function))
        return found if loops or not beside_more else None

    @question("warm caller", None)
    def _find_caller(self, function: Function, beside: bool, once: bool, asked: tuple[Said, ...]) -> Caller | None:
        """The nearest one, of calls that give what is `asked` for; where too many functions have to be looked at for it, that is not known.

        What a call comes to `once` is little, too, where a function above starts a generation beside that call.
        """
        seen = {function}
        level = [function]
        while level and len(seen) <= MOST_ABOVE:
            above = [
                self._find_above(one, asked) if one is function and beside else self._above(one, asked) for one in level
            ]
            asked = ()
            found = next((loop for loop, _ in above if loop is not None), None)
            if found is not None:
                return found
            level = [
                one for one in dict.fromkeys(caller for _, callers in above for caller in callers) if one not in seen
            ]
            seen.update(level)
            level = [one for one in level if not (once and self._generates(one))]
        return None

    def _above(self, function: Function, asked: tuple[Said, ...]) -> tuple[Caller | None, Sequence[Function]]:
        """The evaluation or generation loop that calls a function, and the functions that call it on each of their calls.

        What runs a model a few times (for each scale) does so for a batch, where a loop over a loader calls it.
        """
        if not self.holds_warm_loop(function):
            return self._find_above(function, asked)
        around = [loop for loop in function.own_loops if self._calls_model(function, loop)]
        around += [outer for loop in around for outer in function.flow.loops(loop)]
        if around and all(self._runs_few_times(function, loop) for loop in around):
            return self._find_above(function, asked)
        if not around or not all(runs.of_few(function, loop) for loop in around):
            return None, ()
        loop, _ = self._find_above(function, asked)
        return (loop if loop is not None and self._is_over_batches(*loop) else None), ()

    def _runs_few_times(self, function: Function, loop: Loop) -> bool:
        """Whether a loop counts to a handful: two or three passes of a model are not so much more than what stands beside them."""
        most = runs.counted_to(loop)
        value = self.project.value(function, most) if most is not None else None
        return value is not None and type(value.const) is int and value.const <= _FEW_PASSES

    @question("generates", False)
    def _generates(self, function: Function) -> bool:
        """Whether a function always starts a generation, many calls of a model: `model.generate(x)`, or a loop of what it calls."""
        return any(self._starts_generation(function, call) for call in function.flow.calls)

    def _starts_generation(self, function: Function, call: ast.Call) -> bool:
        if any(one.block is not None or not isinstance(one.node, ast.If) for one in function.flow.guards(call)):
            return False
        targets = self.project.targets(function, call)
        if not targets and names.last(call.func) == "generate":
            owner = receiver_of(call)
            named = MODEL_NAME.search(names.last(owner)) is not None
            return named or self.project.value(function, owner).kind == "module"
        return any(
            not self._is_forward(one)
            and (
                any(self._counts(one, loop) and self.is_warm(one, loop) for loop in one.own_loops)
                or (one.module.source.holds(_GENERATES) and self._generates(one))
            )
            for one in targets
        )

    def _counts(self, function: Function, loop: Loop) -> bool:
        """Whether a loop runs as often as a number or a condition says, and not for each of a few things, or each layer."""
        counted = counts_up(self.project, function, loop) and not runs.counts_few(function, loop)
        few = runs.of_few(function, loop) or self._runs_few_times(function, loop)
        return isinstance(loop, ast.While) or (counted and not few)

    @question("above", (None, ()))
    def _find_above(self, function: Function, asked: tuple[Said, ...]) -> tuple[Caller | None, Sequence[Function]]:
        if isinstance(function.node, ast.Module) or function.name == "forward" or is_aside(function):
            return None, ()
        if runs_on_batches(self.project, function):
            return (function, function.node), ()
        further: dict[Function, None] = {}
        sites = list(itertools.islice(families.calls_of(self.project, function), MOST_CALLERS + 1))
        if len(sites) > MOST_CALLERS:
            return None, ()
        named = list(itertools.islice(families.calls_by_name(self.project, function), MOST_CALLERS + 1))
        sites += named if len(sites) + len(named) <= MOST_CALLERS else ()
        sites += itertools.islice(dispatch.calls_by_others(self.project, function), MOST_CALLERS)
        sites += dispatch.calls(self.project, function)
        for site in sites:
            gives_other = alternatives.gives_other(function, site.given or site.call, asked)
            tests = self.project.is_tested(site.function) or is_tried(self.project, site.function, site.call)
            if gives_other or tests or is_all_on_host(self.project, function, site):
                continue
            for loop in site.function.flow.loops(site.call) if site.function.has_loops else ():
                if self.is_warm(site.function, loop) and not self._goes_through_cases(function, loop):
                    if not self._is_seldom(site.function, site.call, loop):
                        return (site.function, loop), ()
                    break
            else:
                around = self._comprehension_of(site.function, site.call)
                if around is not None:
                    return (site.function, around), ()
                if guarded(self.project, site.function, site.call, None) not in guards.RARE:
                    further[site.function] = None
        for place, loop in hooks.loops_running(self.project, function):
            if not self.project.is_tested(place) and self.is_warm(place, loop):
                return (place, loop), ()
        return None, list(further)

    @question("warm", False)
    def is_warm(self, function: Function, loop: Loop) -> bool:
        """Whether a loop calls a model on each iteration without training it."""
        return (
            not self.steps.is_step_loop(function, loop)
            and not runs.of_one(function, loop)
            and not runs.tries_again(function.flow, loop)
            and not runs.repeats(function, loop)
            and not runs.captures(function.flow, loop)
            and not runs.asks_user(function.flow, loop)
            and not makes_what_it_runs(self.project, function, loop)
            and not makes_what_runs_them(self.project, function, loop)
            and not exports(self.project, function, loop)
            and not self._goes_through_cases(function, loop)
            and not any(map(over_all_modules, (loop, *function.flow.loops(loop))))
            and not self._trains(function, loop)
            and (
                self._is_forward(function)
                or self._calls_model(function, loop)
                or self._feeds(function, loop)
                or self._scores(function, loop)
                or self._sends_batches(function, loop)
            )
            and not never_runs(self.project, function)
        )

    def _goes_through_cases(self, function: Function, loop: Loop) -> bool:
        """Whether a loop of a function that measures, or that calls it, goes through something that is not called data: what it measures, and reads for that."""
        if not isinstance(loop, ast.For) or _DATA.search(ast.unparse(loop.iter)):
            return False
        return role_of(function.module, self.project.home(function.module.path)) == "benchmark"

    def _comprehension_of(self, function: Function, node: ast.AST) -> Comprehension | None:
        """The comprehension that runs the place, and a model, for each batch: `[model(x).mean().item() for x in loader]`."""
        found = function.flow.comprehension(node)
        while found is not None and not self._evaluates(function, found):
            found = function.flow.comprehension(found)
        return found

    @question("evaluates", False)
    def _evaluates(self, function: Function, comprehension: Comprehension) -> bool:
        """Whether a comprehension goes through what a loader gives, and runs a model without training it."""
        loader = comprehension.generators[0].iter
        if self._is_forward(function) or not brings_batches(self.project, function, loader):
            return False
        if names.last(aliases.gone_through(loader)).endswith("loaders"):
            return False  # `[score(model, loader) for loader in loaders]` goes through few
        made = comprehension.value if isinstance(comprehension, ast.DictComp) else comprehension.elt
        calls = [one for one in ast.walk(made) if isinstance(one, ast.Call)]
        self.project.note("training")
        return not any(names.last(call.func) in self.steps.index.training for call in calls) and any(
            self._runs_model(function, comprehension, call) for call in calls
        )

    def _sends_batches(self, function: Function, loop: Loop) -> bool:
        """Whether a loop over a loader sends its batches to the device: what it does with them there, it does on each."""
        if not isinstance(loop, ast.For):
            return False
        if sends_its_own(self.project, function, loop):
            return True
        if not self._goes_over_batches(function, loop):
            return False
        calls = [call for call in function.flow.calls_in(loop) if function.flow.loops(call)[0] is loop]
        if any(sent_batch(self.project, function, call) is not None for call in calls):
            return True
        parts = with_parts(function, bound_names(loop.target))
        return any(
            sends(self.project, target, 1)
            for call in calls
            if takes(call, parts)
            for target in families.may_run(self.project, function, call)
        )

    def _scores(self, function: Function, loop: Loop) -> bool:
        """Whether a loop computes with tensors behind one that ran a model, for each of many things: the trials of an evaluation.

        What few iterations of a loop around both come to is no evaluation: what is done to the hypotheses at a decoder's end.
        """
        if not isinstance(loop, ast.For) or isinstance(loop.iter, ast.Call) or runs.over_settings(function, loop):
            return False
        if not any(
            function.flow.loops(call)[0] is loop and is_computed(self.project, function, call)
            for call in function.flow.calls_in(loop)
        ):
            return False  # asked first: few loops compute, and each would look at all before it
        before = [one for one in function.own_loops if (one.end_lineno or one.lineno) < loop.lineno]
        around = function.flow.loops(loop)
        return any(self.is_warm(function, one) for one in before) and not any(
            guarded(self.project, function, loop, outer) in guards.RARE for outer in around
        )

    def _feeds(self, function: Function, loop: Loop) -> bool:
        """Whether a loop is one of a generator that an evaluation loop goes through."""
        return loop in function.giving_loops and any(
            self.is_warm(place, one)
            for place, one in handed.loops_over(self.project, function)
            if not self.project.is_tested(place)
        )

    def _is_forward(self, function: Function) -> bool:
        """Whether a function is the `forward` of a module: its loops are part of the model, whatever they call."""
        return function.name == "forward" and function.cls is not None and self.project.is_module(function.cls)

    def _trains(self, function: Function, loop: Loop) -> bool:
        """Whether a step loop runs inside the loop, here or in a function that it calls: then it is one of epochs or rollouts.

        One that takes a few gradients of what the model is given is part of an iteration.
        """
        inside = [one for one in self.steps.loops_of(function) if one is not loop and loop in function.flow.loops(one)]
        if not all(takes_few_gradients(self.project, function, one, None, function) for one in inside):
            return True
        self.project.note("training")
        return any(self._runs_step_loop(function, call, _BETWEEN) for call in function.flow.calls_in(loop))

    def _runs_step_loop(self, function: Function, call: ast.Call, between: int) -> bool:
        """Whether a call runs a step loop, in what it calls or through so many others of those names: `team.train(buffer)` of `agent.train(buffer)`."""
        if names.last(call.func) not in self.steps.index.training:
            return False
        return any(
            any(
                not takes_few_gradients(self.project, target, one, call, function)
                for one in self.steps.loops_of(target)
            )
            or (between > 0 and any(self._runs_step_loop(target, inner, between - 1) for inner in target.flow.calls))
            for target in self.project.targets(function, call)
        )

    def _calls_model(self, function: Function, loop: Loop) -> bool:
        """Whether a loop calls a model; one over a loader may do so in a loop of its own, for each of several models."""
        return any(self._runs_model(function, loop, call) for call in function.flow.calls_in(loop))

    def _runs_model(self, function: Function, loop: Loop | Comprehension, call: ast.Call) -> bool:
        """Whether a call in a loop, or in a comprehension over batches, runs a model, there and then."""
        if isinstance(call.func, ast.Attribute) and call.func.attr in _NO_MODELS:
            return False  # most calls are, and what they are called on would have to be told
        part = is_part_of_model(call)
        if not (part or self.project.may_be_own(function, call) or runs_library_model(self.project, function, call)):
            return self._is_passed(function, loop, call) and is_unknown_method(self.project, function, call)
        inner = isinstance(loop, Comprehension) or function.flow.loops(call)[0] is not loop
        if inner and not self._is_over_batches(function, loop):
            return False
        callee = self.project.value(function, call.func)
        if is_criterion(callee) and not isinstance(loop, Comprehension) and counts_up(self.project, function, loop):
            return False
        if callee.class_name in WITHOUT_WEIGHTS and callee.made_by in function.flow.calls_within(loop):
            return False  # a softmax that is made where it is needed is no model
        if callee.kind == "module" or is_method_of_module(self.project, function, call, callee):
            return True
        if is_named_like_model(self.project, function, call, callee) or (part and callee.kind == "unknown"):
            return True
        if hands_on_model(self.project, function, call) or infers(self.project, function, call):
            return True
        if is_given_model(self.project, function, call, callee) or predicts(self.project, function, call):
            return True
        # What a `while` loop runs decides when it ends, and has to be read for that.
        if isinstance(loop, ast.For) and is_run_without_gradients(self.project, function, call):
            return True
        if not inner and isinstance(loop, ast.For) and is_unknown_method(self.project, function, call):
            return True
        if isinstance(loop, ast.For) and brings_samples(self.project, function, loop):
            return is_given_module(self.project, function, call)
        # `model.validate()`, of an object that was given the batch before.
        is_bare = isinstance(call.func, ast.Attribute) and not (call.args or call.keywords)
        return is_bare and self._is_over_batches(function, loop) and runs_module_once(self.project, function, call)

    def _is_passed(self, function: Function, loop: Loop | Comprehension, call: ast.Call) -> bool:
        """Whether each iteration of a `for` loop comes to a call, which is in no other loop."""
        return isinstance(loop, ast.For) and function.flow.loops(call)[0] is loop

    def _is_over_batches(self, function: Function, node: ast.AST) -> bool:
        """Whether what calls something on each iteration is a loop, or a comprehension, over a loader."""
        return isinstance(node, Comprehension) or (
            isinstance(node, ast.For) and self._goes_over_batches(function, node)
        )

    def _goes_over_batches(self, function: Function, loop: Loop) -> bool:
        """Whether a loop goes through what a loader gives."""
        return isinstance(loop, ast.For) and brings_batches(self.project, function, loop.iter)
