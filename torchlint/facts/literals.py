"""What the literal arguments of one call decide in the function that it calls: which branch runs, what a comparison gives."""

from __future__ import annotations

import ast

from . import nodes
from .arguments import Arguments
from .evaluator import Evaluator, Literals
from .module import Function
from .values import Value, constant

Known = tuple[str | bool | None]


def literals(function: Function, args: Arguments) -> Literals:
    """The words, flags and None that a call gives, or leaves as they are by default."""
    if args.open:
        return ()
    found = []
    for at, parameter in enumerate(function.parameters[function.is_method :]):
        passed = args.get(at, parameter.arg)
        default = function.defaults.get(parameter.arg)
        if passed is None and isinstance(default, ast.Constant):
            passed = constant(default.value)
        known = _known(passed) if passed is not None else None
        if known is not None:
            found.append((parameter.arg, known[0]))
    return tuple(found)


def holds(values: Evaluator, test: ast.expr) -> bool | None:
    """Whether a condition holds for one call, or one object, whose arguments are known; None where that is open."""
    return nodes.truth(test, lambda part: _holds(values, part)) if values.given else None


def _holds(values: Evaluator, test: ast.expr) -> bool | None:
    if isinstance(test, ast.Compare):
        return _compared(values, test)
    known = _known(values.expr(test)) if isinstance(test, ast.Name) else None
    return bool(known[0]) if known is not None else None


def _compared(values: Evaluator, test: ast.Compare) -> bool | None:
    """`valid is None`, `split == "train"`, `split in ("train", "val")`"""
    op, other = test.ops[0], test.comparators[0]
    if len(test.ops) > 1 or not isinstance(test.left, ast.Name) or isinstance(other, ast.Constant) is _has_parts(op):
        return None
    asked, among = _known(values.expr(test.left)), nodes.elements(other)
    if asked is None or not all(isinstance(one, ast.Constant) for one in among):
        return None
    equal = any(isinstance(one, ast.Constant) and _same(one.value, asked[0]) for one in among)
    match op:
        case ast.Eq() | ast.Is() | ast.In():
            return equal
        case ast.NotEq() | ast.IsNot() | ast.NotIn():
            return not equal
    return None


def _has_parts(op: ast.cmpop) -> bool:
    """Whether a comparison is one with the parts of its right side."""
    return isinstance(op, ast.In | ast.NotIn)


def _same(one: object, other: object) -> bool:
    return one.__class__ is other.__class__ and one == other


def _known(value: Value) -> Known | None:
    """The word, flag or None that a value is; nothing for others."""
    if value.other_kinds:
        return None
    if value.kind == "none":
        return (None,)
    return (value.const,) if isinstance(value.const, str | bool) else None
