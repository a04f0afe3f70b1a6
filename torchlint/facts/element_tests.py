"""Conditions of comprehensions that compare the elements of a device tensor, one by one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .consumers import parts_given
from .flow import Comprehension
from .nodes import leaves
from .place import Place

_READS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
"""Comparisons whose truth is asked of the values; `is` compares objects."""


def of_device(place: Place, comprehension: Comprehension) -> Iterator[ast.expr]:
    """`token in ends` of `[i for i, token in enumerate(tokens) if token in ends]`, where `tokens` is proven to be a tensor on a device."""
    for generator in comprehension.generators:
        tests = [one for test in generator.ifs for one in leaves(test)]
        compared = {left.id for test in tests if (left := _compared(test)) is not None}
        given = dict(parts_given(generator.target, generator.iter)) if compared else {}
        elements = {name for name in compared if (part := given.get(name)) is not None and _is_on_device(place, part)}
        yield from (test for test in tests if (left := _compared(test)) is not None and left.id in elements)


def _compared(test: ast.expr) -> ast.Name | None:
    """The name that a condition compares with something by its value."""
    match test:
        case ast.Compare(left=ast.Name() as left, ops=[op]) if isinstance(op, _READS):
            return left
    return None


def _is_on_device(place: Place, given: ast.expr) -> bool:
    value = place.value(given)
    return value.is_tensor and value.device == "accelerator" and not value.other_kinds and not value.from_loader
