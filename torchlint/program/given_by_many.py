"""What a call runs by a parameter for which more callers give something than values are joined of: `step(batch)` of `train(step)` in twenty programs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Protocol

from ..facts.module import Function
from ..facts.nodes import string
from ..facts.uses import assigned
from ..facts.values import Value
from .calling import CallSite

MOST = 40
"""A function that is called in more places is not followed."""
_STEPS = 8
"""Through how many names, dictionaries and callers a function is followed."""


class Code(Protocol):
    """What is asked of the project."""

    def call_sites(self, function: Function, most: int = ...) -> list[CallSite] | None: ...
    def is_tested(self, function: Function) -> bool: ...
    def value(self, function: Function, node: ast.expr) -> Value: ...


def run_by(code: Code, function: Function, call: ast.Call) -> list[Function]:
    """The functions of which callers give one to be called there: `step(x)` of a parameter, `hooks["step"](x)` of a dictionary."""
    held = call.func.value if isinstance(call.func, ast.Subscript) else call.func
    if not isinstance(held, ast.Name) or not function.binds(held.id):
        return []
    return list(dict.fromkeys(_given(code, function, call.func, (), _STEPS)))


def _given(code: Code, function: Function, node: ast.expr, words: tuple[str, ...], steps: int) -> Iterator[Function]:
    """The functions that an expression may be, or that are below words in it, the outermost last."""
    if not steps:
        return
    made = assigned(function, node) if isinstance(node, ast.Name) else None
    if made is not None:
        yield from _given(code, function, made, words, steps - 1)
    elif isinstance(node, ast.Subscript):
        word = string(node.slice)
        if word is not None:
            yield from _given(code, function, node.value, (*words, word), steps - 1)
    elif isinstance(node, ast.Dict):
        held = [value for key, value in zip(node.keys, node.values, strict=True) if words and string(key) == words[-1]]
        for one in held[-1:]:
            yield from _given(code, function, one, words[:-1], steps - 1)
    elif isinstance(node, ast.Name) and _is_as_given(function, node.id):
        for site in code.call_sites(function, MOST) or ():
            given = function.argument(site.given or site.call, node.id)
            if given is not None and not code.is_tested(site.function):
                yield from _given(code, site.function, given, words, steps - 1)
    elif not words:
        value = code.value(function, node)
        if value.kind == "function" and value.function is not None:
            yield value.function


def _is_as_given(function: Function, name: str) -> bool:
    """Whether a name is what callers give, or an empty dictionary where they give none: `if hooks is None: hooks = {}`."""
    made = (function.flow.parents[store] for store in function.flow.stores.get(name, ()))
    return name in function.flow.parameters and all(
        isinstance(one, ast.Assign) and isinstance(one.value, ast.Dict) and not one.value.keys for one in made
    )
