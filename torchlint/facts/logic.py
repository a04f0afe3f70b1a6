"""Conditions taken apart: `not`, `and` and `or`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator


def plain(test: ast.expr, true: bool = True) -> tuple[ast.expr, bool]:
    """A condition without `not` in front, and whether that is true where the condition is to be so."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, true = test.operand, not true
    return test, true


def required(test: ast.expr, true: bool = True) -> Iterator[tuple[ast.expr, bool]]:
    """The parts of a condition that have to be true, or false, where the condition is to be so."""
    test, true = plain(test, true)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == true:
        for one in test.values:
            yield from required(one, true)
    else:
        yield test, true


def truth(test: ast.expr, of_part: Callable[[ast.expr], bool | None]) -> bool | None:
    """Whether a condition holds, as its parts do; None where that is open."""
    test, true = plain(test)
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.Or)  # one that holds is enough for `or`, one that does not for `and`
        parts = [truth(part, of_part) for part in test.values]
        found = decisive if decisive in parts else None if None in parts else not decisive
    else:
        found = of_part(test)
    return found if true or found is None else not found
