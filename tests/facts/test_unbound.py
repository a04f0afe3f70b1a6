"""Names that are only annotated: what reads them raises, and nothing behind that runs."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts.module import Function, Module
from torchlint.facts.syntax import never_runs

Modules = Callable[..., Module]


def runs(module: Module) -> bool:
    """Whether what is called `here` runs; the function that holds it is the one that counts."""
    found = [(function, node) for function in module.functions for node in _named(function)]
    ((function, node),) = found
    return not never_runs(function.flow, node)


def _named(function: Function) -> list[ast.Call]:
    return function.flow.calls_named("here")


@pytest.mark.parametrize(
    "body",
    [
        "x: T = 1\n    f(x)\n    here()",
        "x: T\n    x = 1\n    f(x)\n    here()",
        "x: T\n    for x in y:\n        f(x)\n    here()",
        "x: T\n    here()\n    f(x)",
        "x: T\n    if a:\n        f(x)\n    here()",
        "x: T\n    try:\n        f(x)\n    except NameError:\n        here()",
        "x: T\n    try:\n        f(x)\n    except NameError:\n        pass\n    here()",
        "x: T\n    try:\n        pass\n    except E:\n        here()\n        f(x)",
        "x: T\n    match a:\n        case 1:\n            here()\n            f(x)",
        "x: T\n    with suppress(NameError):\n        f(x)\n    here()",
        "x: T\n    a and f(x)\n    here()",
        "x: T\n    y = f(x) if a else 0\n    here()",
        "x: T\n    a < b < x\n    here()",
        "x: T\n    g = lambda: x\n    here()",
        "x: T\n    assert x\n    here()",
        "x: T\n    g = (x for _ in y)\n    here()",
        "x: T\n    y: T[x] = 1\n    here()",
        "x: T\n    import x\n    f(x)\n    here()",
        "x: T\n    def x():\n        pass\n    f(x)\n    here()",
        "x: T\n    def g():\n        nonlocal x\n        x = 1\n    g()\n    f(x)\n    here()",
        "x: T\n    match y:\n        case [x]:\n            f(x)\n    here()",
        "class C:\n        x: T\n    f(x)\n    here()",
        "x.y: T\n    f(x)\n    here()",
    ],
)
def test_what_runs(module_of: Modules, body: str) -> None:
    assert runs(module_of(f"def f(a):\n    {body}\n"))


@pytest.mark.parametrize(
    "code",
    [
        "x: T\nf(x)\nhere()",
        "def f(x):\n    x: T\n    f(x)\n    here()",
        "@compiled\ndef f():\n    x: T\n    f(x)\n    here()",
    ],
)
def test_what_runs_elsewhere(module_of: Modules, code: str) -> None:
    assert runs(module_of(code))


@pytest.mark.parametrize(
    "body",
    [
        "x: T\n    f(x)\n    here()",
        "x: T\n    here(x)",
        "x: T\n    y: T = here(*x)",
        "x: T\n    x.y = 1\n    if a:\n        here()",
        "x: T\n    for y in x:\n        here()",
        "x: T\n    for y in x:\n        pass\n    here()",
        "x: T\n    if x and a:\n        pass\n    here()",
        "x: T\n    with x as y:\n        pass\n    here()",
        "x: T\n    y = [z for z in x]\n    here()",
        "x: T\n    try:\n        f(x)\n        here()\n    except NameError:\n        pass",
    ],
)
def test_what_stands_behind_a_read(module_of: Modules, body: str) -> None:
    assert not runs(module_of(f"def f(a):\n    {body}\n"))
