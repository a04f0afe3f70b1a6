"""A snippet's last expression, and what is known of it, in words."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts.module import Function, Module
from torchlint.facts.values import LIKELY, Value
from torchlint.program.project import Project
from torchlint.rule import load
from torchlint.rule.analysis import Analysis
from torchlint.rule.site import Site
from torchlint.settings.config import Settings
from torchlint.text.source import Source

PRELUDE = """\
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
"""
FLAGS = {
    "scalar": "scalar",
    "boolean": "boolean",
    "integer": "integer",
    "grad": "grad",
    "from_loader": "batch",
    "managed": "managed",
    "compiled": "compiled",
    "parameter": "parameter",
}


def _module(code: str, name: str = "example", is_package: bool = False) -> Module:
    return Module(Source.of(f"{name.replace('.', '/')}.py", code.encode()), name, is_package)


def _last(module: Module) -> tuple[Function, ast.expr]:
    """The last statement of the snippet that is an expression alone."""
    found = [(f, n) for f in module.functions for n in f.flow.nodes if isinstance(n, ast.Expr)]
    function, statement = max(found, key=lambda pair: pair[1].lineno)
    return function, statement.value


def describe(value: Value) -> str:
    """A value in words: `tensor? @cpu scalar`, `list[number]`; the question mark says "likely"."""
    words = [value.kind + ("?" if value.certainty == LIKELY else "")]
    if value.items is not None:
        words[0] += f"({', '.join(map(describe, value.items))})"
    elif value.entries:
        words[0] += "{" + ", ".join(f"{key}: {describe(each)}" for key, each in value.entries.items()) + "}"
    elif value.element is not None:
        words[0] += f"[{describe(value.element)}]"
    if value.kind in ("name", "instance", "module", "optimizer", "distribution", "accelerator") and value.class_name:
        words.append(value.class_name)
    if value.device:
        words.append(f"@{value.device}")
    if value.kind == "number" and value.needs_accelerator:
        words.append("where there is an accelerator")
    if value.kind in ("tensor", "batch", "loader") and value.pinned is not None:
        words.append("pinned" if value.pinned else "unpinned")
    # An index or a length is an integer anyway.
    words += [word for flag, word in FLAGS.items() if value.kind != "number" and getattr(value, flag, False)]
    if value.const is not None:
        words.append(f"= {value.const!r}")
    if value.other_kinds:
        words.append(f"or {' or '.join(sorted(value.other_kinds))}")
    return " ".join(words)


@pytest.fixture
def module_of() -> Callable[..., Module]:
    """A file's skeleton, from its text."""
    return _module


@pytest.fixture
def last_of() -> Callable[[Module], tuple[Function, ast.expr]]:
    return _last


@pytest.fixture
def value_of() -> Callable[[str], str]:
    """What is known of the last expression of a snippet."""

    def value(code: str) -> str:
        project = Project({"example.py": lambda: (PRELUDE + code).encode()})
        module = project.module("example.py")
        assert module is not None
        return describe(project.value(*_last(module)))

    return value


@pytest.fixture
def last_in() -> Callable[[str], tuple[Function, ast.expr]]:
    """The last expression of a snippet, and the function that it stands in."""
    return lambda code: _last(_module(PRELUDE + code))


@pytest.fixture
def site_of() -> Callable[[str], Site]:
    """The place that is the last expression of a snippet, in a project of that one file."""

    def site(code: str) -> Site:
        project = Project({"example.py": lambda: (PRELUDE + code).encode()})
        module = project.module("example.py")
        assert module is not None
        analysis = Analysis(project, Settings(frozenset(), frozenset()))
        return Site(analysis, *_last(module), next(iter(load().values())))

    return site
