"""What a file or a function is for, by its path and name."""

from __future__ import annotations

import re
from typing import Literal

from .module import Module

Role = Literal["library", "script", "test", "benchmark"]

_TEST = re.compile(
    r"(?:^|/)(?:tests?|testing|test_utils)/|(?:^|/)(?:test_[^/]*|[^/]*_(?:tests?|tests_[^/]*)|conftest|naive|_?testing(?:_utils)?)\.py$"
)
_BENCHMARK = re.compile(r"(?:^|/)bench[^/]*(?:/|\.py$)|_bench(?:mark)?\.py$|(?:^|/)profil[^/]*\.py$")


def role_of(module: Module) -> Role:
    """What a file is for, by its path and its top-level code."""
    if _TEST.search(module.path):
        return "test"
    if _BENCHMARK.search(module.path) or module.source.holds(b"torch.utils.benchmark"):
        return "benchmark"
    return "script" if module.source.holds(b"__main__") else "library"


def is_test(path: str, name: str) -> bool:
    """Whether a function of that name in a file is part of a test: it tells nothing of how often a program calls anything."""
    return name.startswith("test_") or _TEST.search(path) is not None
