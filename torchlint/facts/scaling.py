"""Backward passes of losses that a GradScaler has multiplied, and what steps on their gradients in other methods of an object."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..system.regex import regex
from . import by_constants, names, syntax
from .module import Class, Function
from .nodes import keyword_of, names_in
from .place import Place

_UNSCALES = regex(rb"unscale")


class Scaled(NamedTuple):
    """`scaler.scale(loss).backward()`, the function that it stands in, and the scaler."""

    function: Function
    call: ast.Call
    scaler: ast.expr


def scaled(place: Place) -> Iterator[Scaled]:
    """The backward passes of scaled losses in the place's function."""
    for call, receiver in syntax.method_calls(place.flow, "backward"):
        if not isinstance(receiver, ast.Call) or not isinstance(receiver.func, ast.Attribute):
            continue
        scaler = receiver.func.value
        if receiver.func.attr == "scale" and len(receiver.args) == 1 and _is_scaler(place, scaler):
            yield Scaled(place.function, call, scaler)


def _is_scaler(place: Place, node: ast.expr) -> bool:
    """Whether an expression is a GradScaler that is not switched off, or is named like one."""
    value = place.value(node)
    if value.kind == "scaler":
        enabled = keyword_of(value.made_by, "enabled") if isinstance(value.made_by, ast.Call) else None
        return enabled is None or by_constants.holds(place, enabled) is not False
    return not value and "scaler" in names.last(node).lower()


def scaled_by_object(place: Place) -> Scaled | None:
    """The backward pass that another method of the place's object runs of a scaled loss, whose gradients nothing unscales in front of the place.

    The scaler steps behind the place, in its method, or in one that the callers call behind it: `stepper.backward(loss)`,
    `stepper.clip()`, `stepper.step()`.
    """
    klass, own = place.function.cls, place.function.own_name
    if klass is None or not own or place.flow.calls_named("backward") or _may_unscale(place, klass):
        return None
    for name in dict.fromkeys(name for one in place.project.ancestry(klass) for name in one.methods):
        method = place.project.method(klass, name)
        passes = scaled(place.at(method, method.node)) if method is not None and method.own_name else ()
        for one in passes if method is not place.function else ():
            kept = syntax.own_attribute(one.function, one.scaler)
            if kept is not None and not _depends(place, one) and _is_stepped(place, klass, one.function, kept):
                return one
    return None


def _may_unscale(place: Place, klass: Class) -> bool:
    """Whether a method of the place's object speaks of unscaling, or one of a subclass that has the place's method from it."""
    heirs = (
        heir
        for heir in place.project.subclasses(klass)
        if place.project.method(heir, place.function.name) is place.function
    )
    kin = (*place.project.ancestry(klass), *heirs)
    return any(method.says(_UNSCALES) for one in kin for method in one.methods.values())


def _depends(place: Place, one: Scaled) -> bool:
    """Whether what keeps the place from some runs may tell whether the loss is scaled: it asks for the scaler, or what the scaled pass asks."""
    asked = {name for guard in one.function.flow.guards(one.call) for name in _dotted(guard.test)}
    tests = [guard.test for guard in place.flow.guards(place.target)]
    return any("scale" in name.lower() or name in asked for test in tests for name in _dotted(test))


def _dotted(test: ast.expr) -> set[str]:
    """The names in a test, and those of attributes."""
    return names_in(test) - {"self"} | {part.attr for part in ast.walk(test) if isinstance(part, ast.Attribute)}


def _is_stepped(place: Place, klass: Class, scales: Function, scaler: str) -> bool:
    """Whether the object's scaler steps on the gradients behind the place, and nobody who calls its method unscales them."""
    callers = list(place.callers(place.function))
    if not callers or any(site.function.says(_UNSCALES) for site in callers):
        return False
    if any(_is_behind(place, call) for call in _steps_of(place.function, scaler)):
        return True
    stepping = {
        name
        for one in place.project.ancestry(klass)
        for name, method in one.methods.items()
        if any(_steps_of(method, scaler))
    }
    return any(_come_in_order(site.function, scales.name, site.call, stepping) for site in callers)


def _steps_of(method: Function, scaler: str) -> Iterator[ast.Call]:
    """`self.scaler.step(optimizer)`"""
    for call, receiver in syntax.method_calls(method.flow, "step"):
        if syntax.own_attribute(method, receiver) == scaler and call.args:
            yield call


def _is_behind(place: Place, call: ast.Call) -> bool:
    """Whether a call of the place's function stands behind the place, on a way that leads there."""
    assert isinstance(place.target, ast.expr)
    return call.lineno > place.target.lineno and not syntax.exclusive(place.flow, call, place.target)


def _come_in_order(caller: Function, scales: str, call: ast.Call, stepping: set[str]) -> bool:
    """Whether a function calls methods of one object in this order: that which scales, the one of the call, one that steps."""
    if not isinstance(call.func, ast.Attribute):
        return False
    owner = call.func.value

    def lines(name: str) -> list[int]:
        calls = syntax.method_calls(caller.flow, name)
        return [
            one.lineno for one, on in calls if syntax.same(on, owner) and not syntax.exclusive(caller.flow, one, call)
        ]

    before = any(line < call.lineno for line in lines(scales))
    return before and any(line > call.lineno for name in stepping for line in lines(name))
