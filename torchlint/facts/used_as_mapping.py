"""Names that stand for a mapping, whatever is annotated or given: they are asked for their keys."""

from __future__ import annotations

import ast

from .bindings import OF_MAPPINGS, Binding
from .flow import Guard
from .module import Function
from .nodes import names_in, none_test
from .syntax import called


def is_asked_for_keys(function: Function, name: str, binding: Binding | None) -> bool:
    """Whether a function asks a name, as one statement bound it, for its keys, on each way that leads there: `max(neighbors.keys())`."""
    flow, reach = function.flow, function.bindings.reach
    return any(
        reach.get(load) is binding
        and isinstance(asked := flow.parents.get(load), ast.Attribute)
        and asked.attr in OF_MAPPINGS
        and (call := called(flow, asked)) is not None
        and not (call.args or call.keywords)
        and not any(_chooses(guard, name) for guard in flow.guards(load))
        and not any(isinstance(around, ast.Try) for around in flow.ancestors(load))
        for load in flow.loads.get(name, ())
    )


def _chooses(guard: Guard, name: str) -> bool:
    """Whether a condition may ask what a name is, or stands for that: `if isinstance(x, dict):`, `if as_dict:`."""
    asked = none_test(guard.test)
    return asked is None and (guard.block is not None or name in names_in(guard.test))
