"""How often the conditions in front of a place hold, as far as a whole project tells."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence

from ..facts import first_time, given_numbers, guards, names, runs, short_functions, syntax
from ..facts.flow import Flow, Guard, Loop, contains
from ..facts.module import Function
from ..facts.nodes import names_in, required, without_not
from ..facts.values import Number, Value
from ..query.question import question
from . import chosen_words, hooks, passed, settled
from .calling import CallSite
from .loops import counted_by
from .project import Project
from .step_calls import are_whole, is_whole, own_calls, parts_of_step, updates
from .texts import MAX_SITES
from .wrappers import Wrapper, wrappers

MOST_STORES = 8
"""A name that is assigned more often is not asked why it is set."""
Side = tuple[ast.expr, bool]
"""A condition, and whether it holds."""
_FILLED = frozenset(("full", "full_like", "zeros", "zeros_like", "ones", "ones_like"))


def guarded(
    project: Project, function: Function, node: ast.AST, loop: Loop | None, *, training: bool = False
) -> guards.Meaning:
    """What the conditions between a place and its loop (or the start of its function) say, to who trains or to all."""
    flow = function.flow
    if flow.in_handler(node, loop):
        return "cold"
    if loop is None and (first_time.found_large_enough(node, flow) or runs.runs_with_capture(flow, node)):
        return "cold"
    found: guards.Meaning = ""
    inside = list(itertools.takewhile(lambda inner: inner is not loop, flow.loops(node)))
    for inner in inside:
        if isinstance(inner, ast.While) and _is_soon_over(function, inner) and not contains(inner.test, node):
            return "cold"
        if isinstance(inner, ast.For) and _is_seldom_filled(project, function, inner.iter):
            return "throttled"
    nearer: list[Guard] = []
    for readings, guard in ((one, guard) for one in flow.readings(node, loop) for guard in one):
        if nearer and first_time.once_inside(guard, nearer, flow, loop):
            return "cold"
        nearer.append(guard)
        if flow.is_left_behind(guard, leaves_function=loop is not None) or first_time.soon_over(guard, flow, loop):
            return "cold"
        if _counts(guard.test, inside, own=loop is not None) or _counts_turns(guard.test, flow, inside, loop):
            continue
        meaning = guards.meaning(guard, flow, lambda n: _value(project, function, n))
        if meaning in guards.RARE and any(settled.is_on(project, function, one.test, one.true) for one in readings):
            meaning = ""  # an option that all calls leave on, or turn on: `if verbose > 0:`
        meaning = meaning or _elsewhere(project, function, guard)
        meaning = meaning or _set_behind(project, function, guard, loop, training)
        if meaning in guards.RARE:
            side = guard.test, guard.true
            if loop is not None and side in _step_conditions(project, function, loop):
                continue
            if loop is None and side in _update_conditions(project, function):
                continue
            if guard.block is not None and _is_whole_step(project, function, guard.block):
                continue
            if (ast.dump(guard.test), guard.true) in _updating(project, function):
                continue
            if side not in _gathering(project, function, loop):
                return meaning
            meaning = "weak"
        elif not meaning and _never(project, function, guard):
            return "cold"
        found = meaning or found
    return found


def _is_seldom_filled(project: Project, function: Function, held: ast.expr) -> bool:
    """Whether a loop goes through a list that the function begins empty and adds to now and then: `due = []`, `if hook.trigger(step): due.append(hook)`."""
    if not isinstance(held, ast.Name):
        return False
    flow = function.flow
    stores = flow.stores.get(held.id, ())
    adds = [call for call in flow.calls_named("append") if names.chain(call.func) == [held.id, "append"]]
    if not adds or not stores or not all(_begins_empty(flow, store) for store in stores):
        return False
    return all(guarded(project, function, call, None) in guards.RARE for call in adds)


def _begins_empty(flow: Flow, store: ast.expr) -> bool:
    """Whether a name is assigned an empty list there."""
    made = syntax.given_to_target(flow, store)
    return isinstance(made, ast.List) and not made.elts


def running(project: Project, function: Function) -> list[Function]:
    """A function, with what its decorators have run around it; the last of these alone where that seldom calls the function: `@every(100)`."""
    found: list[Function] = []
    for wrapper in wrappers(project, function) if function.decorators else ():
        found.append(wrapper.function)
        if _is_throttling(project, wrapper):
            return found
    return [*found, function]


def is_throttled(project: Project, function: Function) -> bool:
    """Whether a decorator seldom lets a call of a function through, or what the function does is done seldom."""
    return first_time.writes_checkpoint(function) or (
        bool(function.decorators) and running(project, function)[-1] is not function
    )


def _is_throttling(project: Project, wrapper: Wrapper) -> bool:
    """Whether a wrapper seldom calls what it goes around; `@every(1)` calls it each time."""
    made = wrapper.decorator
    if isinstance(made, ast.Call) and any(map(_is_one, (*made.args, *(one.value for one in made.keywords)))):
        return False
    return all(_is_seldom_passed_on(project, wrapper.function, call) for call in wrapper.calls)


def _is_seldom_passed_on(project: Project, wrapper: Function, call: ast.Call) -> bool:
    """Whether a wrapper seldom comes to a call; one whose result it keeps it makes again for what else it is given."""
    if wrapper.flow.loops(call):
        return False
    is_kept = isinstance(wrapper.flow.parents.get(call), ast.Assign)
    meaning = guarded(project, wrapper, call, None)
    return meaning == "throttled" or (meaning == "cold" and not is_kept)


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _value(project: Project, function: Function, node: ast.expr) -> Value:
    """What a part of a condition is; of a period, `step % self.every`, what it is unless somebody gives another."""
    value = project.value(function, node)
    around = function.flow.parents.get(node) if isinstance(node, ast.Name | ast.Attribute) else None
    if not isinstance(around, ast.BinOp) or around.right is not node or not isinstance(around.op, ast.Mod):
        return value
    if value.const is not None or _is_compared(function, node):
        return value
    period = settled.period(project, function, node)
    return value if period is None else Number(const=period, integer=True)


def _is_compared(function: Function, node: ast.expr) -> bool:
    """Whether a condition around a place compares the same thing, which may leave out what it is by default: `if args.every > 1:`."""
    return any(
        syntax.same(side, node)
        for guard in function.flow.guards(node)
        for part in ast.walk(guard.test)
        if isinstance(part, ast.Compare)
        for side in (part.left, *part.comparators)
    )


def in_training(project: Project, function: Function, node: ast.AST, loop: Loop | None) -> guards.Meaning:
    """What the conditions say to who trains: `if not self.training` runs in evaluation alone."""
    if any(guards.evaluates(guard.test, guard.true) for guard in function.flow.guards(node, loop)):
        return "cold"
    return guarded(project, function, node, loop, training=True)


_NEAREST = 4
"""So many conditions around a place are asked what their other branch throttles."""
_SHORT = 40
"""How many lines such a branch has at most."""


def is_thinned_beside(project: Project, function: Function, place: ast.AST, loop: Loop | None) -> bool:
    """Whether a place is a call, or a statement of one alone, that the other branch of a condition throttles: `if moving: show(x)`, `elif step % 100 == 0: show(x)`.

    Then it is nothing that each step does: the branch in which nothing throttles it is for what seldom happens, if it comes
    and goes; what holds for a whole run, `if self.on_tpu:`, may be the other way of doing it.
    """
    call = place.value if isinstance(place, ast.Expr | ast.Assign) else place
    if not isinstance(call, ast.Call):
        return False
    flow = function.flow
    for guard in itertools.islice(flow.guards(call, loop), _NEAREST):
        branch = guard.otherwise if guard.block else []
        if not branch or len(branch) > _SHORT or (branch[-1].end_lineno or 0) - branch[0].lineno > _SHORT:
            continue  # what is longer does more than the same now and then
        others = flow.calls_between(branch[0].lineno, branch[-1].end_lineno or branch[-1].lineno)
        same = [one for one in others if syntax.same(one.func, call.func)]
        if same and all(_is_throttled_inside(project, function, one, branch) for one in same):
            return any(_comes_and_goes(project, function, part, loop) for part in ast.walk(guard.test))
    return False


def _comes_and_goes(project: Project, function: Function, asked: ast.AST, loop: Loop | None) -> bool:
    """Whether something is set as the program runs: an attribute, by more than the constructor; a name, in the loop or the function."""
    if isinstance(asked, ast.Name):
        stores = function.flow.stores.get(asked.id, ())
        return any(loop is None or contains(loop, store) for store in stores)
    own = syntax.own_attribute(function, asked) if isinstance(asked, ast.Attribute) else None
    ancestry = project.ancestry(function.cls) if own is not None and function.cls is not None else ()
    set_by = (method for one in ancestry for method, _ in project.attribute_stores(one, own or ""))
    return any(method.name != "__init__" for method in set_by)


def _is_throttled_inside(project: Project, function: Function, call: ast.Call, branch: list[ast.stmt]) -> bool:
    """Whether a condition that stands in a branch itself throttles a call there."""
    inside = (guard for guard in function.flow.guards(call) if any(contains(one, guard.test) for one in branch))
    return any(
        guards.meaning(one, function.flow, lambda n: project.value(function, n)) == "throttled" for one in inside
    )


def _update_conditions(project: Project, function: Function) -> frozenset[Side]:
    """The conditions that all whole steps of a method are behind which runs several."""
    if function.cls is None or function not in updates(project, function.cls):
        return frozenset()
    steps = own_calls(function, [name for name, method in function.cls.methods.items() if is_whole(project, method)])
    return _behind(function, None, steps)


def _set_behind(
    project: Project, function: Function, guard: Guard, loop: Loop | None, training: bool
) -> guards.Meaning:
    """What `if picture is not None` says where `picture` is None but behind a condition: what that condition says."""
    found = (_why_set(project, function, name, loop, training) for name in first_time.there(guard))
    return next(filter(None, found), "")


@question("set behind", "")
def _why_set(project: Project, function: Function, name: str, loop: Loop | None, training: bool) -> guards.Meaning:
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
        read = in_training if training else guarded
        meaning = read(project, function, statement, loop)
        if isinstance(statement.value, ast.Constant) and (
            statement.value.value is None or statement.value.value is False
        ):
            cleared = cleared or not meaning
        elif meaning in guards.RARE:
            found.add(meaning)
        else:
            return ""
    return ("throttled" if "throttled" in found else "cold") if cleared and found else ""


def _elsewhere(project: Project, function: Function, guard: Guard) -> guards.Meaning:
    """What a condition says by a method that it asks, or by a flag that callers give."""
    parts = list(required(guard.test, guard.true))
    said = itertools.chain(
        (_told(project, function, *part) for part in parts),
        (_given(project, function, *part) for part in parts),
        (_word_given(project, function, *part) for part in parts),
    )
    return next(filter(None, said), "")


def _told(project: Project, function: Function, test: ast.expr, true: bool) -> guards.Meaning:
    """What a condition says that asks a method or a property which is one expression of its object: `if self.is_time(step):`.

    Or an object whether it is true: `if not gate:` of a class with a `__bool__`.
    """
    return _asked_of(project, function, test, true) if isinstance(test, ast.Call | ast.Attribute | ast.Name) else ""


@question("told", "")
def _asked_of(project: Project, function: Function, call: ast.expr, true: bool) -> guards.Meaning:
    targets: Sequence[Function] = ()
    if isinstance(call, ast.Call):
        targets = project.targets(function, call)
    elif isinstance(call, ast.Attribute):
        targets = property_of(project, function, call)
    targets = targets or _truth_of(project, project.value(function, call))
    asked = targets[0] if len(targets) == 1 else None
    node = asked.node if asked is not None else None
    if asked is None or not isinstance(node, ast.FunctionDef):
        return ""
    if true and _gives_once_a_period(project, asked):
        return "throttled"
    told = _only_test(asked.telling)
    told_more = isinstance(call, ast.Call) and bool(call.args or call.keywords)
    if told is None or (told_more and not _by_own_period(told[0])):
        return ""
    given, as_it_is = told
    if isinstance(call, ast.Attribute) and not any(isinstance(part, ast.Mod) for part in ast.walk(given)):
        return ""  # most properties give an option
    guard = Guard(*without_not(given, true is as_it_is), None, node)
    return guards.meaning(guard, asked.flow, lambda n: project.value(asked, n))


def _gives_once_a_period(project: Project, asked: Function) -> bool:
    """Whether a method gives True only where it has counted as far as it does: `if step < self.due: return False`, `self.due += 100`, `return True`."""
    given = asked.flow.returns
    if not given or not all(one.value is None or isinstance(one.value, ast.Constant) for one in given):
        return False
    told = [one for one in given if isinstance(one.value, ast.Constant) and one.value.value]
    return bool(told) and all(
        any(
            guards.begins_again(guard, asked.flow, lambda n: project.value(asked, n))
            for guard in asked.flow.guards(one)
        )
        for one in told
    )


def _truth_of(project: Project, value: Value) -> Sequence[Function]:
    """What tells whether an object of the project is true."""
    method = project.method(value.class_, "__bool__") if value.kind == "instance" and value.class_ is not None else None
    return [method] if method is not None else []


def property_of(project: Project, function: Function, asked: ast.Attribute) -> Sequence[Function]:
    """The property of another object that an attribute is: `accumulator.ready`."""
    owner = project.value(function, asked.value).class_
    found = project.method(owner, asked.attr) if owner is not None else None
    return [found] if found is not None and found.is_property else []


def _given(project: Project, function: Function, test: ast.expr, true: bool) -> guards.Meaning:
    """What a condition says that asks for a flag which the callers give."""
    taken = settled.parameter(project, function, test) if isinstance(test, ast.Name | ast.Attribute) else None
    return _passed(project, *taken, true) if taken is not None else ""


@question("given", "")
def _passed(project: Project, function: Function, name: str, true: bool) -> guards.Meaning:
    def handed(site: CallSite, node: ast.expr, holds: bool) -> guards.Meaning:
        return _given(project, site.function, node, holds)

    return passed.meaning(project, function, name, true, lambda site: _is_told_seldom(project, site), handed)


def _word_given(project: Project, function: Function, test: ast.expr, true: bool) -> guards.Meaning:
    """What a condition says that compares an option with a word."""
    return _chosen(project, function, test, true) if isinstance(test, ast.Compare) else ""


@question("word chosen", "")
def _chosen(project: Project, function: Function, test: ast.Compare, true: bool) -> guards.Meaning:
    return chosen_words.meaning(project, function, test, true, lambda site: _is_told_seldom(project, site))


def _is_told_seldom(project: Project, site: CallSite) -> bool:
    """Whether what a call gives is given seldom: the call is rare, or stands beside the loop of the steps."""
    return _is_beside_steps(project, site) or _is_rare_call(project, site)


def _is_beside_steps(project: Project, site: CallSite) -> bool:
    """Whether a call stands outside of the loops of its function that take steps: `tell("epoch")` behind `for x in loader: ...; loss.backward()`."""
    flow = site.function.flow
    around = flow.loops(site.call)
    nearest = (flow.loops(call)[:1] for call in flow.calls if parts_of_step(project, site.function, call))
    loops = [loop for one in nearest for loop in one]
    return bool(loops) and not any(loop in around for loop in loops)


def _is_rare_call(project: Project, site: CallSite) -> bool:
    """Whether its function seldom comes to a call, or all calls of that function that the program makes are rare."""
    return _is_seldom(project, site) or _is_called_seldom(project, site.function)


def _is_seldom(project: Project, site: CallSite) -> bool:
    around = site.function.flow.loops(site.call)[-1:]
    return any(guarded(project, site.function, site.call, one) in guards.RARE for one in (None, *around))


def _is_called_seldom(project: Project, function: Function) -> bool:
    own = project.own_sites(function)
    return bool(own) and all(_is_seldom(project, one) for one in own)


@question("seldom comes", False)
def seldom_comes(project: Project, function: Function) -> bool:
    """Whether all calls of a function that the program makes are behind conditions that seldom hold, or in functions that are so called themselves."""
    own = project.own_sites(function)
    return bool(own) and all(_is_seldom(project, one) or seldom_comes(project, one.function) for one in own)


def _is_soon_over(function: Function, loop: ast.While) -> bool:
    return (runs.gives_up(function.flow, loop) and not _is_entered(function, loop)) or _ends_for_good(function, loop)


def _is_entered(function: Function, loop: ast.While) -> bool:
    """Whether a loop begins with what lets it run: `ok = False`, `drawn = torch.full_like(x, -1)` before `while drawn.min() < 0`."""
    asked = names_in(loop.test)
    before = (
        [store for store in function.flow.stores.get(name, ()) if store.lineno < loop.lineno] for name in sorted(asked)
    )
    made = [function.flow.parents.get(stores[-1]) for stores in before if stores]
    values = [one.value for one in made if isinstance(one, ast.Assign)]
    if any(isinstance(value, ast.Call) and names.last(value.func) in _FILLED for value in values):
        return True
    return len(values) == len(asked) and all(isinstance(value, ast.Constant) for value in values)


def _ends_for_good(function: Function, loop: ast.While) -> bool:
    """`while self.at < len(self.plan): ...; self.at += 1`, where no other method sets `at` back: few iterations in all."""
    klass = function.cls
    if klass is None:
        return False
    methods = [method for method in klass.methods.values() if method.name != "__init__"]
    return any(
        all(contains(loop, store) for method in methods for store in method.flow.targets.get(name, ()))
        for name in first_time.advanced(loop, function.flow)
    )


def _never(project: Project, function: Function, guard: Guard) -> bool:
    """Whether what is behind a condition runs once, or never: see `settled`, and `first_time.fillers`."""
    key = ("never", function, guard.test, guard.true, guard.block is None)
    rare = (_is_settled, _is_filled, _is_done, _is_outgrown, _is_kept_by_callers, _is_no_tensor)
    return project.ask(key, lambda: any(one(project, function, guard) for one in rare), False)


def _is_settled(project: Project, function: Function, guard: Guard) -> bool:
    """Whether no call of the program gives the options that a condition asks for."""
    return settled.truth(project, function, guard.test) is (not guard.true)


def _is_no_tensor(project: Project, function: Function, guard: Guard) -> bool:
    """`if isinstance(grads, Tensor):` of what a hook is given in a tuple, `if type(size) is Tensor:` of numbers."""
    test = names.type_compared(guard.test, guard.true)
    tested = names.type_tested(test)
    if not guard.true or not isinstance(tested, ast.Name):
        return False
    if not isinstance(test, ast.Call) or not all(names.last(one) == "Tensor" for one in test.args[1:]):
        return False
    given = tested.id not in function.flow.stores and hooks.given(project, function, tested.id).kind == "tuple"
    return given or given_numbers.is_number(project, function, tested)


def _is_filled(project: Project, function: Function, guard: Guard) -> bool:
    """`if x.index is None: x.find_index(step)`, where the method is one that assigns `self.index`, or `self._index`."""
    return any(
        f"{method.own_name}.{name}" in method.flow.targets
        for call, attribute in first_time.fillers(guard, function.flow)
        for method in project.targets(function, call)
        if method.own_name
        for name in (attribute, f"_{attribute}")
    )


def _is_kept_by_callers(project: Project, function: Function, guard: Guard) -> bool:
    """`if len(state) == 0: state["mean"] = ...`, where all callers give something of theirs that stays: `self.state[p]`."""
    for name in first_time.given(guard, function.flow):
        sites = project.call_sites(function, MAX_SITES) or ()
        kept = [(function.argument(site.call, name), site.function.flow) for site in sites]
        if kept and all(node is not None and first_time.outlives(node, flow, None) for node, flow in kept):
            return True
    return False


def _is_done(project: Project, function: Function, guard: Guard) -> bool:
    """`if self.fresh and self.training: self.prepare(x)`, where the method sets `self.fresh` to False."""
    flags = [
        (test, true)
        for test, true in required(guard.test, guard.true)
        if isinstance(test, ast.Attribute) and names.chain(test) == ["self", test.attr]
    ]
    calls = [one.value for one in guard.block or () if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    return any(
        first_time.taken_back(test, true, method.flow)
        for call in (calls if flags else ())
        if (names.chain(call.func) or [""])[:-1] == ["self"]
        for method in project.targets(function, call)
        for test, true in flags
    )


def _is_outgrown(project: Project, function: Function, guard: Guard) -> bool:
    """`if length > self.max_length: self.fill(length)`, where the method says `self.max_length = length` of what it is given."""
    return any(
        _stores_given(method, attribute, call, new)
        for attribute, new, call in first_time.outgrown(guard, function.flow)
        for method in project.targets(function, call)
    )


def _stores_given(method: Function, attribute: str, call: ast.Call, new: ast.expr) -> bool:
    """Whether a method keeps in an attribute what a call gives it."""
    for store in method.flow.targets.get(f"{method.own_name}.{attribute}", ()):
        made = method.flow.parents.get(store)
        stored = made.value if isinstance(made, ast.Assign) else None
        given = method.argument(call, stored.id) if isinstance(stored, ast.Name) else None
        if given is not None and syntax.same(given, new):
            return True
    return False


def _step_conditions(project: Project, function: Function, loop: Loop) -> frozenset[Side]:
    """The conditions that all steps of a loop are behind: what stands there too is no rarer than the steps."""
    return _conditions(project, function, loop)[0]


def _gathering(project: Project, function: Function, loop: Loop | None) -> frozenset[Side]:
    """The conditions that all optimizers of a loop, or a function, are behind: they wait for the gradients of a few batches."""
    return _conditions(project, function, loop)[1] if loop is not None else _gathering_outside(project, function)


@question("gathering", frozenset())
def _gathering_outside(project: Project, function: Function) -> frozenset[Side]:
    named = [call for call in short_functions.calling(function, "step") if not function.flow.loops(call)]
    return _behind(function, None, [call for call in named if parts_of_step(project, function, call)])


@question("conditions", (frozenset(), frozenset()))
def _conditions(project: Project, function: Function, loop: Loop) -> tuple[frozenset[Side], frozenset[Side]]:
    """The conditions that all steps of a loop are behind, and those that all optimizers are that come less often."""
    found = [(call, parts_of_step(project, function, call)) for call in function.flow.calls_in(loop)]
    steps = [call for call, parts in found if parts]
    updates = [call for call, parts in found if parts and "step" in (names.last(call.func), parts[0])]
    gathered = _behind(function, loop, updates) if len(updates) < len(steps) else frozenset[Side]()
    return _behind(function, loop, steps), gathered


def _behind(function: Function, loop: Loop | None, calls: Sequence[ast.Call]) -> frozenset[Side]:
    """The conditions that each of some calls is behind; the same one may stand in front of each by itself."""
    behind = [
        {(ast.dump(guard.test), guard.true): (guard.test, guard.true) for guard in function.flow.guards(call, loop)}
        for call in calls
    ]
    common = set.intersection(*(set(sides) for sides in behind)) if behind else set()
    return frozenset(side for sides in behind for said, side in sides.items() if said in common)


@question("updating", frozenset())
def _updating(project: Project, function: Function) -> frozenset[tuple[str, bool]]:
    """The conditions, as they are written, that updates are behind: `step % ratio == 0`, asked once for the update and once more for what that tells."""
    steps = short_functions.calling(function, "step")
    return frozenset(
        (ast.dump(guard.test), guard.true)
        for call in steps
        for guard in function.flow.guards(call)
        if guard.block is not None and _is_whole_step(project, function, guard.block)
    )


def _is_whole_step(project: Project, function: Function, block: tuple[ast.stmt, ...]) -> bool:
    """Whether a block runs a backward pass and an optimizer of its own: what stands there is part of that step."""
    return project.ask(("whole step", function, block[0]), lambda: _holds_whole_step(project, function, block), False)


def _holds_whole_step(project: Project, function: Function, block: tuple[ast.stmt, ...]) -> bool:
    calls = function.flow.calls_between(block[0].lineno, block[-1].end_lineno or block[-1].lineno)
    return are_whole(project, function, calls)


def _counts(test: ast.expr, loops: Sequence[Loop], *, own: bool) -> bool:
    """`i == 0` in a loop `for i in range(n)` inside of the step: it holds once in each.

    What is enumerated may be the batches, unless it is in the `own` function of the step's loop.
    """
    over = ("range", "enumerate") if own else ("range",)
    name = _compared(test)
    return bool(name) and any(name == counted_by(loop, over) for loop in loops)


def _counts_turns(test: ast.expr, flow: Flow, inside: Sequence[Loop], loop: Loop | None) -> bool:
    """`turn == 0` in a loop inside of the step that counts its turns itself: `turn = 0`, `while go: ...; turn += 1`; it holds once in each."""
    stores = flow.stores.get(_compared(test), ()) if inside else ()
    counted = [store for store in stores if _goes_on(flow, store)]
    begun = [store for store in stores if store not in counted]
    return (
        any(contains(one, store) for one in inside for store in counted)
        and bool(begun)
        and all(_begins(flow, store) and (loop is None or contains(loop, store)) for store in begun)
    )


def _compared(test: ast.expr) -> str:
    """`i` of `i == 0` and `not i > 3`; "" for a condition that asks otherwise."""
    test, _ = without_not(test, True)
    asked = test.left if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
    return asked.id if isinstance(asked, ast.Name) else ""


def _begins(flow: Flow, store: ast.expr) -> bool:
    """`turn = 0`, `turn: int = 0`, `turn, best = 0, None`"""
    made = flow.parents[store]
    given = made.value if isinstance(made, ast.AnnAssign) else syntax.given_to_target(flow, store)
    return isinstance(given, ast.Constant)


def _goes_on(flow: Flow, store: ast.Name) -> bool:
    """`turn += 1`, `turn = turn + 1`"""
    match flow.parents[store]:
        case ast.Assign(value=ast.BinOp(left=ast.Name(id=counted))):
            return counted == store.id
        case made:
            return isinstance(made, ast.AugAssign)


def _by_own_period(test: ast.expr) -> bool:
    """`step % self.period` and `step in self.milestones`, of whatever step is given; `size % 8` says nothing of how often."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In | ast.NotIn):
        return isinstance(test.comparators[0], ast.Attribute) and isinstance(test.left, ast.Name)
    remainders = (part for part in ast.walk(test) if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod))
    return any(isinstance(one.right, ast.Attribute) for one in remainders)


def _only_test(body: list[ast.stmt]) -> tuple[ast.expr, bool] | None:
    """The test that a body gives, and whether as it is: of `return test`, of `if test: return True` with `return False` behind it, and of these the other way round.

    What counts, keeps or has a name in front, or where it is so, is left out: `self.last = now`.
    """
    body = list(itertools.dropwhile(_is_aside, body))
    last = body[-1] if body else None
    if len(body) == 1 and isinstance(last, ast.Return) and last.value is not None:
        return last.value, True
    first = body[0] if body else None
    if not isinstance(first, ast.If) or first.orelse:
        return None
    given, otherwise = _given_at_end(first.body), _given_at_end(body[1:])
    return (first.test, given) if given is not None and otherwise is (not given) else None


def _is_aside(statement: ast.stmt) -> bool:
    """`self.calls += 1`, `now = time.time()`"""
    return isinstance(statement, ast.AugAssign | ast.Assign | ast.AnnAssign)


def _given_at_end(block: list[ast.stmt]) -> bool | None:
    """What a block gives that does no more than keep something: `self.last = now; return True`."""
    if not all(map(_is_aside, block[:-1])):
        return None
    return next((value for value in (True, False) if block and _returns(block[-1], value)), None)


def _returns(statement: ast.stmt | None, value: bool) -> bool:
    given = statement.value if isinstance(statement, ast.Return) else None
    return isinstance(given, ast.Constant) and given.value is value
