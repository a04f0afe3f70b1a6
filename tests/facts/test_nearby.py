"""The nodes around some lines are those that a walk of the whole function finds there."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint.facts.module import Function, Module
from torchlint.facts.nearby import nodes_on

FILES = sorted((Path(__file__).parents[2] / "torchlint").glob("*.py"))


def on(function: Function, line: int) -> list[tuple[ast.AST, ast.AST]]:
    """What stands on a line, by walking the whole function."""
    parents = function.flow.parents
    return [
        (node, parents[node])
        for node in function.flow.nodes
        if isinstance(node, ast.expr) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]


def found(function: Function, line: int) -> list[tuple[ast.AST, ast.AST]]:
    return [
        (node, parent)
        for node, parent in nodes_on(function, [line])
        if isinstance(node, ast.expr) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_every_line_of_our_own_code(module_of: Callable[[str], Module], path: Path) -> None:
    module = module_of(path.read_text())
    for function in module.functions:
        for line in range(function.first_line, function.last_line + 1):
            assert on(function, line) == found(function, line)


@pytest.mark.parametrize(
    "code",
    [
        "a = 1; b = 2; c(3)\n" * 20,
        "a = (\n    1); b = (\n    2); c(\n    3)\n" * 20,
        "@d(\n    1\n)\ndef f(a=g(1)): pass\n" * 20,
        "try:\n    a()\nexcept E(b):\n    c()\nelse:\n    d()\nfinally:\n    e()\n",
        "match a(1):\n    case b.C(1) if d(2):\n        e(3)\n    case _:\n        f(4)\n",
        "if a: b()\nelif c(): d()\nelse: e()\n",
        "with a() as b, c(\n    1\n) as d: e()\n",
        "class A(b(), metaclass=c()):\n    d = e()\n    def f(self): g()\n",
    ],
)
def test_awkward_places(module_of: Callable[[str], Module], code: str) -> None:
    module = module_of(code)
    for function in module.functions:
        for line in range(1, code.count("\n") + 1):
            assert on(function, line) == found(function, line)


def test_only_what_is_near_is_walked(module_of: Callable[[str], Module]) -> None:
    body = module_of("".join(f"a{n} = f({n})\n" for n in range(1000))).body

    assert 5 == len(list(nodes_on(body, [500])))
