"""How many devices a program leaves itself: `os.environ["CUDA_VISIBLE_DEVICES"] = "0"`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .module import Module
from .names import last
from .nodes import string
from .place import Place

_VARIABLE = "CUDA_VISIBLE_DEVICES"


def is_one(place: Place) -> bool:
    """Whether the file leaves itself one device, wherever it says so."""
    module = place.function.module
    if not module.source.holds(_VARIABLE.encode()):
        return False
    said = list(map(_said, _given(module)))
    return bool(said) and all(one is not None and one.isdigit() for one in said)


def _given(module: Module) -> Iterator[ast.expr]:
    """What the file sets the variable to: by `os.environ[...] = x` anywhere in it."""
    for function in module.functions_at(module.lines_holding(_VARIABLE)):
        for node in function.flow.nodes:
            match node:
                case ast.Assign(targets=[ast.Subscript() as target, *_], value=given) if _is_variable(target):
                    yield given


def _is_variable(target: ast.Subscript) -> bool:
    return last(target.value) == "environ" and string(target.slice) == _VARIABLE


def _said(given: ast.expr) -> str | None:
    """The devices that are named: by a text, or `str(0)`."""
    if isinstance(given, ast.Call) and last(given.func) == "str" and len(given.args) == 1:
        given = given.args[0]
    if isinstance(given, ast.Constant) and type(given.value) is int:
        return str(given.value)
    return string(given)
