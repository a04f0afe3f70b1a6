"""Calls of nn.MultiheadAttention whose attention weights nobody reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import syntax
from .module import Function

if TYPE_CHECKING:
    from ..site import Site

CLASS = "torch.nn.MultiheadAttention"
_NEED_WEIGHTS = 4
"""The position of `need_weights` in `forward(query, key, value, key_padding_mask, need_weights, ...)`."""


def wasteful_calls(site: Site) -> Iterator[tuple[Function, ast.Call]]:
    """The calls of the module that the site constructs, where they compute weights that are thrown away."""
    for function, func in _uses(site):
        call = syntax.called(function.flow, func)
        value = site.project.value(function, func)
        if call is None or value.cls != CLASS or value.others:
            continue
        if not _asks_for_weights(call) and _drops_weights(function, call):
            yield function, call


def _uses(site: Site) -> Iterator[tuple[Function, ast.expr]]:
    made = syntax.target(site.flow, site.call)
    name = syntax.own_attribute(site.function, made)
    if name is not None and site.function.cls is not None:
        yield from syntax.own_uses(site.function.cls, name)
    elif isinstance(made, ast.Name):
        for load in site.flow.loads.get(made.id, ()):
            if site.value(load).origin is site.call:
                yield site.function, load


def _asks_for_weights(call: ast.Call) -> bool:
    if any(isinstance(a, ast.Starred) for a in call.args) or len(call.args) > _NEED_WEIGHTS:
        return True
    return any(keyword.arg in (None, "need_weights") for keyword in call.keywords)


def _drops_weights(function: Function, call: ast.Call) -> bool:
    """`attention(...)[0]`, and `output, _ = attention(...)` with a name that nobody reads."""
    parent = function.flow.parents.get(call)
    if isinstance(parent, ast.Subscript) and parent.value is call:
        return isinstance(parent.slice, ast.Constant) and parent.slice.value == 0
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    pair = parent.targets[0]
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2 or not isinstance(pair.elts[1], ast.Name):
        return False
    name = pair.elts[1].id
    inner = [function.flow, *(f.flow for f in function.nested.values())]
    return name not in function.flow.globals and not any(name in flow.loads for flow in inner)
