"""Whether a value of the device decides how long a loop goes on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator

from . import common_names, names, short_functions, uses
from .flow import Flow, Loop, contains
from .module import Function
from .nodes import Choice, assigned_in, bound_names, choice, names_in
from .place import Place
from .syntax import same

_COUNTED_FROM = frozenset(f"torch.{name}" for name in ("tensor", "arange", "zeros", "ones", "full"))
_COLLECTIVES = ("broadcast", "all_reduce")
_CLIPS = frozenset(("clip_grad_norm", "clip_grad_norm_", "get_total_norm"))
"""What gives the norm of all gradients."""


def decides(place: Place, node: ast.expr) -> bool:
    """Whether the value decides if the loop goes on, or is handed out by it, and so has to be on the host.

    `while t.item() > limit`, and in evaluation and generation loops `if token.item() == end: break` and
    `yield token.item()`; in a step loop such a test is mostly a check for NaN, unless processes agree on it, or it
    ends where a value is small enough: `if loss.item() < 1e-7: break`.
    """
    return _decides(place, node, _is_left_by)


def decides_turns(place: Place, node: ast.expr) -> bool:
    """Whether the value decides how often a loop turns that is there to get somewhere, as a solver, a line search or a rejection sampler.

    `while bad.any():`, and `if residual < tolerance: break` of a loop inside of a step; neither a check for NaN nor a search for an element.
    """
    return _decides(place, node, _turns_until)


def _decides(place: Place, node: ast.expr, leaves: Callable[[Place, ast.expr, Loop], bool]) -> bool:
    """Whether the loop around asks for the value to go on, and not for a counter, or is left by it as `leaves` tells."""
    loop = next(iter(place.flow.loops(node)), None)
    if isinstance(loop, ast.While) and contains(loop.test, node):
        return not _is_counted(place, node, loop)
    return loop is not None and leaves(place, node, loop)


def _is_left_by(place: Place, node: ast.expr, loop: Loop) -> bool:
    statement = place.statement
    leaving = [test for test in place.flow.tests(node) if _may_leave(test)]
    if place.hot is not None:
        return bool(leaving) and (
            _is_agreed(place, loop, node) or any(_is_reached(place, test, node) for test in leaving)
        )
    if leaving:
        return not _is_search(place, loop)
    read, called = place.once(("leaving", loop), lambda: _leaving(place.flow, loop))
    return not read.isdisjoint(assigned_in(statement)) or (bool(called) and ast.dump(node) in called)


def _turns_until(place: Place, node: ast.expr, loop: Loop) -> bool:
    leaving = (test for test in place.flow.tests(node) if _may_leave(test))
    if not any(isinstance(place.flow.choice(test).test, ast.Compare) for test in leaving):
        return False
    if place.hot is not None and place.hot.loop is loop:
        return False
    return not _is_search(place, loop)


def _may_leave(statement: ast.If) -> bool:
    """`if residual < tolerance: break`"""
    return any(map(_leaves, choice(statement).block))


def _is_search(place: Place, loop: Loop) -> bool:
    return place.once(("searches", loop), lambda: _searches(place, loop))


def _searches(place: Place, loop: Loop) -> bool:
    """Whether a loop does nothing but look for an element that a test holds for: it can be asked of all of them at once.

    `for i in range(1, rows.shape[0]): if not torch.equal(rows[i], rows[0]): same = False; break`
    """
    if not isinstance(loop, ast.For) or not _goes_through_rows(place, loop):
        return False
    tests = [one for one in loop.body if isinstance(one, ast.If)]
    made = [one for one in loop.body if isinstance(one, ast.Assign)]
    if len(tests) != 1 or len(tests) + len(made) != len(loop.body) or choice(tests[0]).other:
        return False
    set_there = {name for one in loop.body for part in ast.walk(one) for name in assigned_in(part)}
    known = bound_names(loop.target)
    for one in made:
        if not names_in(one.value) & set_there <= known:
            return False  # it is of the iteration before
        known |= assigned_in(one)
    if not names_in(tests[0].test) & set_there <= known:
        return False
    asked = (part for one in (*made, tests[0].test) for part in ast.walk(one) if isinstance(part, ast.Call))
    return all(_looks(place, call) for call in asked)


def _goes_through_rows(place: Place, loop: ast.For) -> bool:
    """Whether a loop goes through a tensor, or picks its elements by a number: parts of a list may have sizes of their own."""
    if not isinstance(loop.iter, ast.Call) or place.resolve(loop.iter.func) != "range":
        return place.value(loop.iter).is_tensor
    by = bound_names(loop.target)
    picked = (part for one in loop.body for part in ast.walk(one) if isinstance(part, ast.Subscript))
    return any(not by.isdisjoint(names_in(one.slice)) and place.value(one.value).is_tensor for one in picked)


def _looks(place: Place, call: ast.Call) -> bool:
    """Whether a call is one of torch, or of a method of a tensor, that changes nothing."""
    name = place.resolve(call.func)
    if name is not None:
        return name.startswith("torch.") and not name.endswith("_")
    func = call.func
    return isinstance(func, ast.Attribute) and not func.attr.endswith("_") and place.value(func.value).is_tensor


def decides_step(place: Place, node: ast.expr) -> bool:
    """Whether the value is one of gradients and decides if the optimizer steps: `if isfinite(grad_norm): optimizer.step()`.

    What is asked of a loss is told of. The flag that `torch._amp_foreach_non_finite_check_and_unscale_` writes is read for
    nothing else, here or in a caller. A function that looks at gradients may raise what its callers decide by.
    """
    flow, statement = place.flow, place.statement
    checks = flow.calls_named("_amp_foreach_non_finite_check_and_unscale_")
    if any(same(part, check.args[1]) for check in checks if len(check.args) > 1 for part in ast.walk(node)):
        return True
    asked = flow.said_by(node) if isinstance(node, ast.Name) else None
    if not any(_is_of_gradients(part) or _is_clipped(place, part) for part in ast.walk(asked or node)):
        return _is_found_for_callers(place, node)
    if isinstance(statement, ast.If):
        return contains(statement.test, node) and _steps_on_one_side(place.function, statement)
    if not isinstance(statement, ast.Assign) or not isinstance(name := statement.targets[0], ast.Name):
        return False
    tests = place.once(("tests of steps", flow), lambda: _tests_of_steps(place.function))
    reads = uses.readers(place.function, name.id, statement.value) if tests else ()
    return any(flow.statement(read) in tests for read in reads)


def _is_found_for_callers(place: Place, node: ast.expr) -> bool:
    """Whether a function that goes through gradients raises by a value, and all that call it keep the exception back and step.

    `if overflow > 0: raise OverflowError` of what `try: check(parameters)` calls in front of `optimizer.step()`.
    """
    statement = place.statement
    if not isinstance(statement, ast.If) or not contains(statement.test, node):
        return False
    if not isinstance(choice(statement).block[-1], ast.Raise) or not any(map(_is_gradient, place.flow.nodes)):
        return False
    callers = list(place.callers(place.function))
    return bool(callers) and all(_steps_unless_raised(caller.function, caller.call) for caller in callers)


def _is_gradient(node: ast.AST) -> bool:
    """`p.grad`"""
    return isinstance(node, ast.Attribute) and node.attr == "grad"


def _steps_unless_raised(function: Function, call: ast.Call) -> bool:
    """Whether a `try` keeps back what a call raises, and an optimizer steps behind it."""
    flow = function.flow
    kept = any(
        isinstance(around, ast.Try)
        and any(contains(one, call) for one in around.body)
        and not any(isinstance(handler.body[-1], ast.Raise) for handler in around.handlers)
        for around in flow.ancestors(call)
    )
    return kept and any(step.lineno > call.lineno for step in _steps(function))


def _is_of_gradients(node: ast.AST) -> bool:
    """`grad_norm`, `head.weight.grad`"""
    return isinstance(node, ast.Name | ast.Attribute) and "grad" in names.last(node).lower().split("_")


def _is_clipped(place: Place, node: ast.AST) -> bool:
    """`total` of `total = clip_grad_norm_(parameters, 1.0)`"""
    made = uses.assigned(place.function, node) if isinstance(node, ast.Name) else None
    return isinstance(made, ast.Call) and names.last(made.func) in _CLIPS


def _tests_of_steps(function: Function) -> frozenset[ast.stmt]:
    """The branches that decide whether optimizers step."""
    flow = function.flow
    tests = {around for call in _steps(function) for around in flow.ancestors(call) if isinstance(around, ast.If)}
    return frozenset(one for one in tests if _steps_on_one_side(function, one))


def _steps_on_one_side(function: Function, test: ast.If) -> bool:
    steps = frozenset(_steps(function))
    sides = [[call for one in side for call in function.flow.calls_within(one)] for side in (test.body, test.orelse)]
    stepped = [calls for calls in sides if not steps.isdisjoint(calls)]
    return len(stepped) == 1 and not any(names.last(call.func) == "backward" for call in stepped[0])


def _steps(function: Function) -> Iterator[ast.Call]:
    """The calls of a function that step an optimizer, by themselves or by a short function."""
    yield from filter(_is_step, function.flow.calls_named("step"))
    yield from (call for call, _, inner in short_functions.calls_named(function, "step") if _is_step(inner))


def _is_step(call: ast.Call) -> bool:
    """`self.optimizer.step()`, `scaler.step(optimizer)`: not the step of an environment or a schedule."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return False
    stepped = call.args[0] if len(call.args) == 1 else call.func.value
    return common_names.OPTIMIZER_NAME.search(names.last(stepped)) is not None


def _is_counted(place: Place, node: ast.expr, loop: ast.While) -> bool:
    """Whether `while t < n` asks for a counter that is kept on the device though the host has all that goes into it.

    It begins as a tensor of numbers, `t = torch.tensor([n])`, and the loop only adds numbers: `t.add_(k)`, `t += 1`.
    """
    read = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and place.value(part).kind == "tensor"}
    return len(read) == 1 and _adds_numbers(place, next(iter(read)), loop)


def _adds_numbers(place: Place, name: str, loop: ast.While) -> bool:
    flow = place.flow
    added = [
        call
        for call in flow.calls_named("add_")
        if contains(loop, call) and names.chain(call.func) == [name, "add_"] and _are_numbers(place, call.args)
    ]
    sums = 0
    for store in flow.stores.get(name, ()):
        statement = flow.parents.get(store)
        if isinstance(statement, ast.AugAssign):
            if not (isinstance(statement.op, ast.Add) and _are_numbers(place, [statement.value])):
                return False
            sums += contains(loop, statement)
        elif not (isinstance(statement, ast.Assign) and _is_of_numbers(place, statement.value)):
            return False
    return bool(flow.stores.get(name)) and bool(added or sums)


def _is_of_numbers(place: Place, made: ast.expr) -> bool:
    """`torch.tensor([n], device=device)`"""
    if not isinstance(made, ast.Call) or place.resolve(made.func) not in _COUNTED_FROM:
        return False
    return _are_numbers(
        place, [part for one in made.args for part in (one.elts if isinstance(one, ast.List) else [one])]
    )


def _are_numbers(place: Place, given: Collection[ast.expr]) -> bool:
    return bool(given) and all(place.value(one).kind == "number" for one in given)


def _is_reached(place: Place, test: ast.If, node: ast.expr) -> bool:
    """`if loss.item() < 1e-7: break`, which no NaN leads to."""
    match place.flow.choice(test):
        case Choice(test=ast.Compare(left=left, ops=[ast.Lt() | ast.LtE()], comparators=[limit]), true=True):
            return contains(left, node) and not names_in(limit) - {"self"}
    return False


def _is_agreed(place: Place, loop: Loop, node: ast.expr) -> bool:
    """Whether the loop gives what is read to a collective: `broadcast(stop, 0)` before `if stop.item(): break`."""
    read = names_in(node)
    return any(
        loop in place.flow.loops(call) and any(isinstance(one, ast.Name) and one.id in read for one in call.args)
        for name in _COLLECTIVES
        for call in place.flow.calls_named(name)
    )


def _leaving(flow: Flow, loop: Loop) -> tuple[frozenset[str], frozenset[str]]:
    """The names that tests which may leave a loop read, and what it yields; and the calls those make."""
    read: list[ast.expr] = []
    for node in ast.walk(loop):
        if isinstance(node, ast.If) and _may_leave(node):
            read += [node.test, flow.choice(node).test]
        elif isinstance(node, ast.Yield) and node.value is not None:
            read.append(node.value)
    parts = [part for node in read for part in ast.walk(node)]
    return (
        frozenset(part.id for part in parts if isinstance(part, ast.Name)),
        frozenset(ast.dump(part) for part in parts if isinstance(part, ast.Call)),
    )


def _leaves(statement: ast.stmt) -> bool:
    """Whether a statement breaks or returns somewhere; what a function defined in it does is its own."""
    if isinstance(statement, ast.Break | ast.Return):
        return True
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return any(
        _leaves(part)
        for child in ast.iter_child_nodes(statement)
        for part in (child.body if isinstance(child, ast.ExceptHandler | ast.match_case) else [child])
        if isinstance(part, ast.stmt)
    )
