"""What a call is given by names that a dictionary of the function holds: `StepLR(optimizer, 30, **options)` behind `options = {"gamma": 0.5}`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from operator import attrgetter

from .flow import Flow, contains
from .module import Function
from .nodes import string

Resolve = Callable[[ast.expr], str | None]


def given(function: Function, call: ast.Call, resolve: Resolve) -> dict[str, ast.expr]:
    """What stands behind the `**` of a call, by name, as far as the function writes it out, whatever way it takes there."""
    found: dict[str, ast.expr] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            found.update(_entries(function, call, keyword.value, resolve))
    return found


def _entries(function: Function, call: ast.Call, node: ast.expr, resolve: Resolve) -> dict[str, ast.expr]:
    if not isinstance(node, ast.Name):
        return written(node, resolve)
    flow, stores = function.flow, function.flow.stores.get(node.id, ())
    made = flow.parents.get(stores[0]) if len(stores) == 1 and node.id not in function.positions else None
    if not isinstance(made, ast.Assign) or not _is_passed(flow, made, call):
        return {}
    found = written(made.value, resolve)
    for read in sorted(flow.loads.get(node.id, ()), key=attrgetter("lineno")):
        part = flow.parents[read]
        if isinstance(part, ast.keyword) and part.arg is None:
            continue
        if not isinstance(part, ast.Subscript) or part.value is not read or (key := string(part.slice)) is None:
            return {}  # `options.update(more)`, `fill(options)`
        if isinstance(part.ctx, ast.Load):
            continue
        statement = flow.parents[part]
        found.pop(key, None)
        if isinstance(statement, ast.Assign) and _is_passed(flow, statement, call):
            found[key] = statement.value
    return found


def written(node: ast.expr, resolve: Resolve) -> dict[str, ast.expr]:
    """The entries of `{"a": 1}` and `dict(a=1)`; none where another dictionary is a part of it."""
    if isinstance(node, ast.Dict):
        named = [(string(key), value) for key, value in zip(node.keys, node.values, strict=True)]
        return {} if any(key is None for key, _ in named) else {key: value for key, value in named if key is not None}
    if not isinstance(node, ast.Call) or node.args or resolve(node.func) != "dict":
        return {}
    return {} if any(one.arg is None for one in node.keywords) else {str(one.arg): one.value for one in node.keywords}


def _is_passed(flow: Flow, statement: ast.stmt, call: ast.Call) -> bool:
    """Whether who gets to a call has come through a statement above it: the block of the statement holds the call, too."""
    around = flow.parents.get(statement)
    if statement.lineno >= call.lineno:
        return False
    fields = (value for _, value in ast.iter_fields(around)) if around is not None else ()
    blocks = [block for block in fields if isinstance(block, list) and statement in block]
    return around is None or any(contains(one, call) for block in blocks for one in block)
