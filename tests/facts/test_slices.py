"""Reading only what decides a value finds the same value as reading the whole function."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint.facts.module import Function, Module
from torchlint.facts.slices import Slices
from torchlint.facts.values import Value
from torchlint.project import Project

PRELUDE = "import torch\ndevice = torch.device('cuda')\n"
PAGES = sorted((Path(__file__).parents[1] / "rules").glob("*.md"))


def values(code: str) -> dict[tuple[int, int, str], Value]:
    """The value of each expression of a file, asked for one by one."""
    project = Project({"example.py": code.encode})
    module = project.module("example.py")
    assert module is not None
    return {
        (node.lineno, node.col_offset, ast.unparse(node)): project.value(function, node)
        for function in module.functions
        for node in function.flow.nodes
        if isinstance(node, ast.expr)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_values_of_the_rules_cases(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = [
        PRELUDE + code for code in re.findall(r"^```python.*?\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    ]

    def told(code: str) -> dict[tuple[int, int, str], tuple[str, int, str]]:
        return {place: (value.kind, value.sure, value.device) for place, value in values(code).items()}

    sliced = [told(code) for code in codes]
    monkeypatch.setattr(Slices, "closure", lambda self, seed: self.all)

    assert sliced == [told(code) for code in codes]


@pytest.fixture
def lines_read(
    last_of: Callable[[Module], tuple[Function, ast.expr]], module_of: Callable[[str], Module]
) -> Callable[[str], list[int]]:
    """The lines of the statements that decide the last expression."""

    def ask(code: str) -> list[int]:
        function, node = last_of(module_of(code))
        slices = function.slices
        mask = slices.closure(slices.of(node))
        return [statement.lineno for statement, number in slices.index.items() if mask >> number & 1]

    return ask


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a = 1\nb = 2\na", [1, 3]),
        ("a = 1\nb = a\nc = 3\nb", [1, 2, 4]),
        ("a = 1\nif b:\n    a = 2\na", [1, 3, 4]),
        ("a = 1\na += c\na", [1, 2, 3]),
        ("c = 1\nfor a in c:\n    b = 2\na", [1, 2, 4]),
        ("with c as a:\n    b = 1\na", [1, 3]),
        ("def a(): pass\ndef b(): pass\na", [1, 3]),
        ("a.to(1)\na.other(1)\na", [1, 3]),
        ("a['x'] = 1\na", [1, 2]),
        ("a.b.c = 1\na", [1, 2]),
        ("a.b = 1\na", [1, 2]),
        ("if isinstance(a, B):\n    a", [1, 2]),
        ("f(x)[0].y = 1\nf", [1, 2]),
        ("class A:\n    def f(self):\n        self.a = 1\n        self.b = 2\n        self.a", [3, 5]),
        ("class A:\n    def f(self):\n        self.a.append(1)\n        self.b.append(2)\n        self.a", [3, 5]),
        ("class A:\n    def f(self):\n        self.a['x'] = 2\n        self.a", [3, 4]),
    ],
)
def test_statements_that_decide_a_value(lines_read: Callable[[str], list[int]], code: str, expected: list[int]) -> None:
    assert expected == lines_read(code)


def test_statements_that_return(module_of: Callable[[str], Module]) -> None:
    function = module_of("def f(a=1):\n    x = 1\n    if a:\n        return x\n    yield 2\n").functions[1]
    slices = function.slices
    (default,) = function.node.args.defaults  # type: ignore[union-attr]

    assert [4, 5] == [s.lineno for s, number in slices.index.items() if slices.returns >> number & 1]
    assert 0 == slices.of(default)
    assert [2, 3, 4, 5] == [s.lineno for s, number in slices.index.items() if number in slices.active(slices.all)]
    assert [3, 4, 5] == [s.lineno for s, number in slices.index.items() if number in slices.active(slices.returns)]


def test_defaults_of_parameters_have_values() -> None:
    told = {text: value.const for (_, _, text), value in values("def f(a=1, *, b='a'): pass").items()}

    assert {"1": 1, "'a'": "a"} == told
