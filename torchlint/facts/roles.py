"""What a file or a function is for, by its path and name."""

from __future__ import annotations

import ast
from typing import Literal

from ..system.regex import regex
from .module import Function, Module

Role = Literal["library", "script", "test", "benchmark"]

_TEST = regex(
    r"(?:^|/)(?:tests?|testing|test_utils)/|(?:^|/)(?:test_[^/]*|[^/]*_(?:tests?|tests_[^/]*)|conftest|naive|_?testing(?:_utils)?)\.py$"
)
_BENCHMARK = regex(r"(?:^|/)bench[^/]*(?:/|\.py$)|_bench(?:mark)?\.py$|(?:^|/)profil[^/]*\.py$")


def role_of(module: Module, place: str) -> Role:
    """What a file is for, by its place in the project and its top-level code."""
    if _TEST.search(place) and not (place.endswith("_test.py") and _evaluates(module)):
        return "test"
    if _BENCHMARK.search(place) or module.source.holds(b"torch.utils.benchmark"):
        return "benchmark"
    return "script" if module.source.holds(b"__main__") else "library"


def _evaluates(module: Module) -> bool:
    """Whether `model_test.py` is a script that evaluates, and holds no test."""
    data = module.source.data
    return b"__main__" in data and not any(
        word in data for word in (b"def test", b"unittest", b"pytest", b"class Test")
    )


def is_own_test(function: Function) -> bool:
    """Whether a function beside the code of a program is a test of it: `def test_masking():` with an `assert`, given nothing."""
    return (
        function.name.startswith("test_")
        and function.cls is None
        and not function.parameters
        and any(isinstance(node, ast.Assert) for node in function.flow.nodes)
    )


def is_test(place: str, name: str) -> bool:
    """Whether a function of that name in a file at that place is part of a test: it tells nothing of how often a program calls anything."""
    return name.startswith("test_") or _TEST.search(place) is not None
