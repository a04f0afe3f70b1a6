"""What a call of a function gives, from what the function returns and yields."""

from __future__ import annotations

import ast

from ..facts import decorated
from ..facts.chosen import Choice
from ..facts.evaluator import Evaluator
from ..facts.promises import promised
from ..facts.values import PROVEN, UNKNOWN, List, Value, join_all, replace


def given(values: Evaluator, flags: Choice) -> Value:
    """What a call of the function whose values these are gives."""
    if values.function.decorators and decorated.gives_other(values):
        return UNKNOWN
    return of_itself(values, flags)


def of_itself(values: Evaluator, flags: Choice) -> Value:
    """The same without what its decorators make of it."""
    yielded = values.yielded()
    if yielded:
        return List(element=join_all(yielded))
    returned = values.returned(flags)
    value = join_all(returned) if returned else UNKNOWN
    annotation = getattr(values.function.node, "returns", None)
    if annotation is not None and (value.other_kinds or not value.proven):
        value = _as_promised(value, annotation, values)
    # What it gave here belongs to its own names.
    return replace(value, parameter=False) if value.kind == "tensor" else value


def _as_promised(value: Value, annotation: ast.expr, values: Evaluator) -> Value:
    """What is returned, and not known on all paths, with what the function says that it returns."""
    promise = promised(values, annotation)
    if promise.kind == "number" and isinstance(annotation, ast.Name):
        return promise
    if promise.kind == "tensor" and value.kind == "tensor":
        others = value.other_kinds - {"unknown"}
        return replace(value, certainty=value.certainty if others else PROVEN, other_kinds=others)
    return promise if not value and promise.kind in ("tensor", "tuple", "module", "instance", "loader") else value
