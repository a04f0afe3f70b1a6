"""The nodes around some lines are those that a walk of the whole function finds there."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint.facts.module import Function, Module
from torchlint.facts.nearby import nodes_on
from torchlint.facts.scope import may_bind

FILES = sorted((Path(__file__).parents[2] / "torchlint" / "lint").glob("*.py"))


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


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_nodes_of_some_kinds_are_those_among_all(module_of: Callable[[str], Module], path: Path) -> None:
    kinds = frozenset((ast.Call, ast.If, ast.With))
    for function in module_of(path.read_text()).functions:
        lines = range(function.first_line, function.last_line + 1, 3)
        every = list(nodes_on(function, lines))
        assert list(nodes_on(function, lines, kinds)) == [found for found in every if type(found[0]) in kinds]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_what_the_text_rules_out_is_not_bound(module_of: Callable[[str], Module], path: Path) -> None:
    """`binds` looks at the text first; it must never miss a name."""
    for function in module_of(path.read_text()).functions:
        assert [] == [name for name in function.bound if not may_bind(function, name)]


@pytest.mark.parametrize(
    ("code", "name", "expected"),
    [
        ("a.b(a)", "c", False),
        ("a.b(1)", "a", False),
        ("x.a = 1", "a", False),
        ("ab = ba = 1", "a", False),
        ("print(a.b)\nreturn_(a(1))", "a", False),
        ("a = 1", "a", True),
        ("a\\\n= 1", "a", True),
        ("for a in b: pass", "a", True),
        ("with b as (a): pass", "a", True),
        ("def a(): pass", "a", True),
        ("def  \\\n  a(): pass", "a", True),
        ("class a(B): pass", "a", True),
        ("[1 for a in b]", "a", True),
        ("(a := 1)", "a", True),
        ("del a", "a", True),
    ],
)
def test_what_may_be_bound(module_of: Callable[[str], Module], code: str, name: str, expected: bool) -> None:
    body = module_of(code).body

    assert expected == may_bind(body, name)
    assert expected == body.binds(name)
