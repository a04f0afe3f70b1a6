"""What objects keep from step to step: attributes that methods add to, and what begins these anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..system.stamp import as_bytes
from . import names, syntax
from .backward_passes import terms_of
from .flow import contains
from .module import Class, Function, Module
from .place import Place, StepLoop

_EMPTIES = frozenset(("clear", "pop", "popleft", "popitem", "remove"))
"""What takes out what a list or another container holds."""
_ASKING = frozenset(("isinstance", "hasattr", "is_tensor"))
_PLAIN = frozenset(("list", "float", "int", "tensor", "zeros", "zeros_like"))
"""What makes a number, a list, or a tensor of numbers."""


def keeps_given(place: Place, call: ast.Call, given: ast.expr, hot: StepLoop) -> bool:
    """Whether a method of an object of the project adds what a call gives it, graph and all, to what outlives steps: `meter.update(loss)`."""
    targets: list[Function] = place.project.targets(place.function, call)
    return bool(targets) and all(_keeps(place, target, call, given, hot) for target in targets)


def _keeps(place: Place, method: Function, call: ast.Call, given: ast.expr, hot: StepLoop) -> bool:
    name = next((name for name in method.positions if method.argument(call, name) is given), None)
    if method.cls is None or name is None or name in method.flow.stores:
        return False
    reads = method.flow.loads.get(name, ())
    if any(_asks_what_it_is(method, read) for read in reads):
        return False
    grad_off = place.analysis.context.grad_off
    return any(
        (attribute := _added_to(method, read)) is not None
        and not grad_off(method, read)
        and outlives_steps(place.at(method, read), attribute, hot)
        for read in reads
    )


def _asks_what_it_is(method: Function, read: ast.Name) -> bool:
    """`isinstance(value, torch.Tensor)`, `hasattr(value, "item")`"""
    parent = method.flow.parents[read]
    return isinstance(parent, ast.Call) and names.last(parent.func) in _ASKING


def _added_to(method: Function, read: ast.Name) -> str | None:
    """The attribute of its object that a method adds what it reads to: `self.sum += value * n`, `self.all.append(value)`."""
    statement = method.flow.statement(read)
    match statement:
        case ast.AugAssign(target=target, value=value) | ast.Assign(targets=[target], value=value):
            attribute = syntax.own_attribute(method, target)
            adds = attribute is not None and _adds(method, statement, attribute) and read.id in terms_of(value)
            return attribute if adds else None
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append", value=holder), args=[one])) if one is read:
            return syntax.own_attribute(method, holder)
    return None


def outlives_steps(place: Place, attribute: str, hot: StepLoop, *, of_any_kind: bool = False) -> bool:
    """Whether what the place's method adds to an attribute of its object is there on later steps: nothing on a step begins it anew.

    Begun anew is the attribute, by methods and by who has the object, or the object itself. What an attribute is made by
    a class may throw away what it has had, so that it is a number, a list or a tensor, unless it may be `of_any_kind`.
    """
    klass = place.function.cls
    if klass is None:
        return False
    kin: list[Class] = [*place.project.ancestry(klass), *place.project.subclasses(klass)]
    begun = [one for each in kin for one in beginnings(each, attribute)]
    if any(method.name != "__init__" and _is_on_step(place, method, node) for method, node in begun):
        return False
    if not (of_any_kind or all(isinstance(node.ctx, ast.Load) or _is_plain(method, node) for method, node in begun)):
        return False
    if any(_is_set_from_outside(module, attribute) for module in (place.function.module, hot.function.module)):
        return False
    made = (call for each in kin for call in constructions(place, each))
    return not any(_is_on_step(place, function, call) for function, call in made)


def beginnings(klass: Class, attribute: str) -> Iterator[tuple[Function, ast.Attribute]]:
    """Where methods of a class give an attribute another value, or take out what it holds."""
    for method, target in klass.stores.get(attribute, ()):
        if not _adds(method, method.flow.statement(target), attribute):
            yield method, target
    for method, read in syntax.own_uses(klass, attribute):
        parent = method.flow.parents.get(read)
        emptied = isinstance(parent, ast.Attribute) and parent.attr in _EMPTIES
        if emptied or (isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load)):
            yield method, read


def _adds(method: Function, statement: ast.stmt, attribute: str) -> bool:
    """`self.total += ...`, `self.mean = 0.9 * self.mean + ...`, `self.mean = x if self.mean is None else ...`"""
    if isinstance(statement, ast.AugAssign):
        return True
    value = statement.value if isinstance(statement, ast.Assign) else None
    if isinstance(value, ast.IfExp):
        value = value.orelse
    return isinstance(value, ast.BinOp) and f"{method.own_name}.{attribute}" in terms_of(value)


def _is_plain(method: Function, node: ast.Attribute) -> bool:
    """Whether an attribute is given a number, a list, or a tensor that is filled: `self.losses = []`, and no `deque(maxlen=100)`."""
    made = syntax.given_to_target(method.flow, node)
    if isinstance(made, ast.Call):
        return names.last(made.func) in _PLAIN
    return isinstance(made, ast.Constant | ast.List | ast.Dict)


def _is_on_step(place: Place, function: Function, node: ast.AST) -> bool:
    """Whether a step may come to a place, however seldom: in a step loop, in the place's method, or in what these call."""
    if function is place.function or place.analysis.steps.hot(function, node) is not None:
        return True
    if _is_in_step_loop(place, function, node):
        return True
    return any(
        site.function is place.function or _is_in_step_loop(place, site.function, site.call)
        for site in place.callers(function)
    )


def _is_in_step_loop(place: Place, function: Function, node: ast.AST) -> bool:
    return any(contains(loop, node) for loop in place.analysis.steps.loops_of(function))


def _is_set_from_outside(module: Module, attribute: str) -> bool:
    """Whether a function of a file sets an attribute of that name of an object that is not its own: `meter.total = 0`."""
    word = as_bytes(f".{attribute}")
    return any(
        name.endswith(f".{attribute}") and name != f"{function.own_name}.{attribute}"
        for function in (module.body, *module.functions)
        if module.source.holds(word)
        for name in function.flow.targets
    )


def constructions(place: Place, klass: Class) -> Iterator[tuple[Function, ast.Call]]:
    """Where objects of a class are made."""
    init = place.project.method(klass, "__init__")
    if init is not None:
        yield from place.project.constructed(klass, init)
