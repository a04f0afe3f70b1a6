"""Which keys a loop over a mapping leaves out, as far as its conditions tell."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .flow import Guard
from .nodes import required, string


def left_out(guards: Iterable[Guard], name: str | None) -> list[str] | None:
    """The keys for which a place is not reached: `if key != "id": ...`; None where a condition asks something else of the key.

    What a condition asks of what stands under the key, `isinstance(batch[key], Tensor)`, is left aside.
    """
    found: list[str] = []
    for guard in guards:
        for test, true in required(guard.test, guard.true):
            keys = _keys(test, true, name) if _asks_for(test, name) else ()
            if keys is None:
                return None
            found += keys
    return found


def _asks_for(test: ast.expr, name: str | None) -> bool:
    inside = {part.slice for part in ast.walk(test) if isinstance(part, ast.Subscript)}
    return any(isinstance(part, ast.Name) and part.id == name and part not in inside for part in ast.walk(test))


def _keys(test: ast.expr, true: bool, name: str | None) -> list[str] | None:
    """The texts that a key is none of."""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or test.left.id != name:
        return None
    (op, *more), asked = test.ops, test.comparators[0]
    if more or not isinstance(op, (ast.NotEq, ast.NotIn) if true else (ast.Eq, ast.In)):
        return None
    given = asked.elts if isinstance(asked, ast.Tuple | ast.List | ast.Set) else [asked]
    keys = [key for one in given if (key := string(one)) is not None]
    return keys if len(keys) == len(given) else None
