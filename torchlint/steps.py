"""Where a program runs step by step: the nearest loops around backward and optimizer steps, and what they call."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .facts import calls, guards, names
from .facts.flow import Flow, Guard, Loop
from .facts.module import Function, Module
from .facts.values import Value
from .project import CallSite, Project, last_name

TRIGGER = re.compile(rb"backward\(|\.step\(|def (?:training_step|compute_loss|on_train_batch_(?:start|end))\b")
DEPTH = 3
"""How many calls away from a step loop a function still counts as run by it."""

_FRAMEWORK_STEPS = frozenset(("training_step", "compute_loss", "on_train_batch_start", "on_train_batch_end"))
_MAKES = re.compile(r"(?:get|load|create|build|make|init|save|prepare|setup|export)_")
_BACKWARDS = frozenset(("backward", "manual_backward"))


@dataclass(frozen=True, slots=True, eq=False)
class Hot:
    """Why a place runs on every training step: the loop, and the call that leads from it to the function."""

    function: Function
    loop: Loop | None
    """None for a method that a framework calls on each step."""
    weak: bool = False
    """Behind a condition that thins out micro-steps only (`accelerator.sync_gradients`)."""
    depth: int = 0
    """How many calls lie between the loop and the place."""

    @property
    def line(self) -> int:
        return self.loop.lineno if self.loop is not None else self.function.first_line


class Steps:
    """The step loops of a project, and the functions that run on each step."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._warm: dict[Loop, bool] = {}
        self._runs: dict[Function, bool] = {}

    # Step loops

    @cached_property
    def loops(self) -> dict[Loop, Function]:
        """Every step loop and the function it stands in."""
        found: dict[Loop, Function] = {}
        self._framework: list[Function] = []
        self._closures: dict[ast.Call, list[Function]] = {}
        steppers: list[Function] = []
        for path in self.project.paths:
            source = self.project.source(path)
            if source is None or not source.holds(TRIGGER):
                continue
            module = self.project.module(path)
            if module is None:
                continue
            for function in _mentions(module):
                self._own(function, found, steppers)
        seen = set(steppers)
        depth = 0
        while steppers and depth < DEPTH:
            steppers = [f for f in self._callers(steppers, found) if f not in seen]
            seen.update(steppers)
            depth += 1
        return found

    def _own(self, function: Function, found: dict[Loop, Function], steppers: list[Function]) -> None:
        flow = function.flow
        if function.name in _FRAMEWORK_STEPS and function.cls is not None and self._is_framework(function):
            self._framework.append(function)
        steps = [call for call in flow.calls if self._is_step(function, call)]
        if not steps:
            return
        outside = False
        for call in steps:
            loops = flow.loops(call)
            while loops and (_only_iterates(loops[0], call) or _over_literal(loops[0])):
                loops = loops[1:]
            if loops:
                found.setdefault(loops[0], function)
            else:
                outside = True
        if outside:
            steppers.append(function)

    def _is_framework(self, function: Function) -> bool:
        assert function.cls is not None
        if function.name != "compute_loss":
            return True
        bases = " ".join(".".join(names.chain(b) or ["?"]) for b in function.cls.node.bases)
        return "Trainer" in bases

    def _is_step(self, function: Function, call: ast.Call) -> bool:
        """`loss.backward()`, `accelerator.backward(loss)`, `optimizer.step()`, `scaler.step(optimizer)`."""
        func = call.func
        if not isinstance(func, ast.Attribute):
            return False
        if func.attr in _BACKWARDS:
            name = self.project.resolve(function, func)
            if name is not None and name != "torch.autograd.backward":
                return False
            owner = (names.chain(func.value) or [""])[-1]
            # `self.backward(grad)`, `Function.backward(ctx, g)`: an implementation, not a call of autograd.
            return not (
                owner in ("self", "cls", "super", "ctx") and func.attr == "backward" and self._own_backward(function)
            )
        if func.attr != "step":
            return False
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

    def _callers(self, functions: list[Function], found: dict[Loop, Function]) -> list[Function]:
        """Step loops around the calls of functions that step; the callers that have none are the next to ask for."""
        further: list[Function] = []
        for function in functions:
            passed_on = list(self._passed_on(function))
            for site in passed_on:
                self._closures.setdefault(site.call, []).append(function)
            for site in [*(self.project.call_sites(function) or ()), *passed_on]:
                loops = [loop for loop in site.function.flow.loops(site.call) if not _over_literal(loop)]
                if loops:
                    found.setdefault(loops[0], site.function)
                elif site.function not in further:
                    further.append(site.function)
        return further

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

    # Functions called from step loops

    @cached_property
    def functions(self) -> dict[Function, Hot]:
        """The functions that run on every step because a step loop calls them, up to three calls away."""
        found: dict[Function, Hot] = {}
        todo: list[tuple[Function, Hot]] = []
        for loop, function in self.loops.items():
            for call in self._calls_in(function, loop):
                todo += self._called(function, call, Hot(function, loop, depth=0))
        for function in self._framework:
            found[function] = Hot(function, None)
            todo += [pair for call in function.flow.calls for pair in self._called(function, call, found[function])]
        while todo:
            callee, hot = todo.pop(0)
            known = found.get(callee)
            if known is not None and (known.weak, known.depth) <= (hot.weak, hot.depth):
                continue
            found[callee] = hot
            if hot.depth >= DEPTH:
                continue
            for call in callee.flow.calls:
                todo += self._called(callee, call, hot)
        return found

    def _calls_in(self, function: Function, loop: Loop) -> list[ast.Call]:
        first, last = loop.lineno, loop.end_lineno or loop.lineno
        return [c for c in function.flow.calls if first <= c.lineno <= last and loop in function.flow.loops(c)]

    def _called(self, function: Function, call: ast.Call, hot: Hot) -> list[tuple[Function, Hot]]:
        targets = [*self.project.targets(function, call), *self._closures.get(call, ())]
        if not targets:
            return []
        weight = self.guarded(function, call, hot.loop if hot.function is function else None)
        if weight in ("throttled", "cold"):
            return []
        weak = hot.weak or weight == "weak"
        return [(t, Hot(hot.function, hot.loop, weak, hot.depth + 1)) for t in targets if t is not function]

    def guarded(self, function: Function, node: ast.AST, loop: Loop | None) -> guards.Meaning:
        """What the conditions between a place and its loop (or the start of its function) say."""
        flow = function.flow
        if flow.in_handler(node, loop):
            return "cold"
        found: guards.Meaning = ""
        for guard in flow.guards(node, loop):
            if guard.block is not None and (
                flow.ends_in_exit(guard.block, leaves_function=loop is not None)
                or _once(guard)
                or _fills(guard, flow, loop)
            ):
                return "cold"
            meaning = guards.meaning(guard, flow, lambda n: self.project.value(function, n))
            if meaning in ("throttled", "cold"):
                return meaning
            found = meaning or found
        return found

    # Questions of rules

    def hot(self, function: Function, node: ast.AST) -> Hot | None:
        """Why the place runs on every training step, or None."""
        for loop in function.flow.loops(node):
            if loop in self.loops:
                weight = self.guarded(function, node, loop)
                if weight in ("throttled", "cold"):
                    return None
                return Hot(function, loop, weight == "weak")
        reason = self.functions.get(function)
        if reason is None:
            return None
        weight = self.guarded(function, node, None)
        if weight in ("throttled", "cold"):
            return None
        return Hot(reason.function, reason.loop, reason.weak or weight == "weak", reason.depth)

    def warm(self, function: Function, node: ast.AST) -> Loop | None:
        """The evaluation or generation loop that runs the place on each of its iterations, or None."""
        for loop in function.flow.loops(node):
            if self.is_warm(function, loop):
                return None if self.guarded(function, node, loop) in ("throttled", "cold") else loop
        return None

    def is_warm(self, function: Function, loop: Loop) -> bool:
        """Whether a loop calls a model on each iteration without training it."""
        if loop not in self._warm:
            self._warm[loop] = (
                loop not in self.loops and not self._trains(function, loop) and self._calls_model(function, loop)
            )
        return self._warm[loop]

    def _trains(self, function: Function, loop: Loop) -> bool:
        """Whether a step loop runs inside the loop, here or in a function that it calls: then it is one of epochs or rollouts."""
        training = set(self.loops.values())
        if function in training and any(
            inner is not loop and loop in function.flow.loops(inner) for inner in self.loops
        ):
            return True
        named = {trained.name for trained in training}
        return any(
            target in training
            for call in self._calls_in(function, loop)
            if last_name(call) in named
            for target in self.project.targets(function, call)
        )

    def _calls_model(self, function: Function, loop: Loop) -> bool:
        for call in self._calls_in(function, loop):
            if not self.project.may_be_own(function, call) or function.flow.loops(call)[0] is not loop:
                continue
            value = self.project.value(function, call.func)
            if value.kind == "module" or self._is_method_of_module(function, call, value):
                return True
            last = (names.chain(call.func) or [""])[-1]
            named = (
                calls.MODEL_NAME.search(last) and not last.endswith(("encoder", "decoder")) and not _MAKES.match(last)
            )
            if value.kind == "unknown" and named:
                return True
            if self._hands_on_model(function, call):
                return True
        return False

    def _is_method_of_module(self, function: Function, call: ast.Call, callee: Value) -> bool:
        """`model.decode(tokens)`: a method that the project gives to a model, takes tensors, and runs a module."""
        if (
            not isinstance(call.func, ast.Attribute)
            or callee.kind != "function"
            or callee.function is None
            or not call.args
        ):
            return False
        return (
            self.project.value(function, call.func.value).kind == "module"
            and callee.function.cls is not None
            and self.runs_module(callee.function)
        )

    def runs_module(self, method: Function) -> bool:
        """Whether a method of a model calls a module, by itself or in another method: `get_weight` does not."""
        if method not in self._runs:
            self._runs[method] = False
            self._runs[method] = any(self._runs_module(method, call) for call in method.flow.calls)
        return self._runs[method]

    def _runs_module(self, method: Function, call: ast.Call) -> bool:
        last = (names.chain(call.func) or [""])[-1]
        if last == "forward":
            return True
        callee = self.project.value(method, call.func)
        if callee.kind == "function" and callee.function is not None and callee.function.cls is not None:
            return self.runs_module(callee.function)
        return callee.kind == "module" or (callee.kind == "unknown" and bool(calls.MODEL_NAME.search(last)))

    def _hands_on_model(self, function: Function, call: ast.Call) -> bool:
        """`next_token(model, tokens)`: a function of the project that is given a model, and calls it once."""
        if not any(self.project.value(function, given).kind == "module" for given in call.args):
            return False
        for target in self.project.targets(function, call):
            once = [c for c in target.flow.calls if not target.flow.loops(c)]
            if any(self.project.value(target, c.func).kind == "module" for c in once if isinstance(c.func, ast.Name)):
                return True
        return False


def _mentions(module: Module) -> list[Function]:
    """The functions whose lines hold a word of a step."""
    lines = module.source.lines
    return list(
        dict.fromkeys(module.function_at(bisect_right(lines, m.start())) for m in TRIGGER.finditer(module.source.data))
    )


def _once(guard: Guard) -> bool:
    """`if first: ...; first = False`: a block that takes its own condition back."""
    test, true = guard.test, guard.true
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, true = test.operand, not true
    name = names.chain(test)
    return name is not None and any(
        isinstance(statement, ast.Assign)
        and names.chain(statement.targets[0]) == name
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is not None
        and bool(statement.value.value) is not true
        for statement in guard.block or ()
    )


def _fills(guard: Guard, flow: Flow, loop: Loop | None) -> bool:
    """`if mask is None: mask = ...`, where nothing else sets it: once in a loop, or in the life of an object."""
    test = guard.test
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is if guard.true else ast.IsNot)):
        return False
    name, other = names.chain(test.left), test.comparators[0]
    if name is None or not (isinstance(other, ast.Constant) and other.value is None):
        return False
    if loop is None and (len(name) < 2 or name[0] != "self"):
        return False
    stores = [
        node
        for node in (flow.nodes if loop is None else ast.walk(loop))
        if isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and names.chain(node) == name
        and not isinstance(flow.parents.get(node), ast.AugAssign)
    ]
    filled = {node for statement in guard.block or () for node in ast.walk(statement)}
    return bool(stores) and filled.issuperset(stores)


def _over_literal(loop: Loop) -> bool:
    """`for rate in (0.1, 0.01):`: over the few values that are written there, so over runs and not over steps."""
    node = loop.iter if isinstance(loop, ast.For) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value  # {...}.items()
    return isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict)


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
