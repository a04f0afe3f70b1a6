"""Which of the returns of a function a call may reach, by the flags that it gives: `get_model(config, train=True)`, `net(x, targets)`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..system.cached import kept
from . import alternatives
from .arguments import Arguments
from .module import Function
from .values import Value

Choice = tuple[tuple[str, bool], ...]
"""Parameters, and what a call gives for them, sorted; of `name is None` and `name == "word"`, whether it is."""
_IS_NONE = " is None"
_IS = " == "


def choice(function: Function, args: Arguments) -> Choice:
    """What a call gives for the flags that a function's returns hang on; nothing where they have none, or the call says nothing."""
    if args.open or len(function.bindings.returned) < 2:
        return ()
    found: dict[str, bool] = {}
    for flag in _flags(function):
        name = _parameter(flag)
        passed = args.get(function.positions[name] - function.is_method, name)
        default = function.defaults.get(name)
        is_word = _IS in flag
        said = _is_word(passed, default, flag) if is_word else _says(passed, default, asks_for_none=name != flag)
        if said is not None:
            found[flag] = said
    return tuple(sorted(found.items()))


def _parameter(flag: str) -> str:
    """`mode` of `mode == 'train'`, and `x` of `x is None`."""
    return flag.removesuffix(_IS_NONE).partition(_IS)[0]


def _is_word(passed: Value | None, default: ast.expr | None, flag: str) -> bool | None:
    """Whether a call passes the word of a flag; None where that is not known."""
    if passed is None:
        given: object = default.value if isinstance(default, ast.Constant) else None
    else:
        given = passed.const if not passed.other_kinds else None
    return repr(given) == flag.partition(_IS)[2] if isinstance(given, str) else None


def _says(passed: Value | None, default: ast.expr | None, *, asks_for_none: bool) -> bool | None:
    """Whether what a call passes is true, or None; None where that is not known."""
    given: object
    if passed is None:
        if not isinstance(default, ast.Constant):
            return None
        given = default.value is None if asks_for_none else default.value
    elif asks_for_none:
        if {passed.kind, *passed.other_kinds} == {"none"}:
            return True
        known = passed.kind not in ("unknown", "none") or passed.device  # what is moved is something
        return False if known and not passed.other_kinds & {"none", "unknown"} else None
    else:
        given = passed.const
    return given if isinstance(given, bool) else None


def may_return(function: Function, node: ast.expr, given: Mapping[str, bool]) -> bool:
    """Whether a call that gives these flags may come to what is returned."""
    return all(given.get(name, true) == true for name, true in _conditions(function, node))


def _flags(function: Function) -> frozenset[str]:
    """The parameters whose truth alone, whether they are None, or which word they are, decides what is returned."""
    return kept(function, "return flags", lambda: _find_flags(function))


def _find_flags(function: Function) -> frozenset[str]:
    nodes = (one.node for one in function.bindings.returned if one is not None)
    asked = {flag for node in nodes for flag, _ in _conditions(function, node)}
    return frozenset(flag for flag in asked if _parameter(flag) in function.positions)


def _conditions(function: Function, node: ast.expr) -> list[tuple[str, bool]]:
    """The names that have to be true, false, None, a word or something else, as they were given, on the way to an expression."""
    return [
        (_flag(one), one.equal)
        for guard in function.flow.guards(node)
        for one in alternatives.said(guard.test, guard.true)
        if (one.value is True or one.value is None or isinstance(one.value, str))
        and alternatives.as_given(function.flow, one.name, (guard.test,))
    ]


def _flag(said: alternatives.Said) -> str:
    """`train`, `x is None`, `mode == 'train'`."""
    if isinstance(said.value, str):
        return f"{said.name}{_IS}{said.value!r}"
    return said.name if said.value is True else said.name + _IS_NONE
