"""Which reads may see what one statement gave a name."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts.module import Module
from torchlint.facts.uses import fellows, meant, only_read, readers


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        # `x = made` stands on the second line.
        ("x = made()\nuse(x)\nx = other()\nuse(x)", [3]),
        ("x = made()\nx = use(x)\nuse(x)", [3]),
        ("x = made()\nif a:\n    x = other()\nuse(x)", [5]),
        ("x = made()\nif a:\n    x = other()\nelse:\n    x = 0\nuse(x)", []),
        ("x = made()\nfor i in j:\n    use(x)\n    x = other()\nuse(x)", [4, 6]),
        ("x = made()\nx.append(1)\nuse(x)", [3, 4]),
        ("x = made()\nx.append(1)\nx = other(x)\nuse(x)", [3, 4]),
        ("x = made()\nfor i in j:\n    x.append(i)\nx = other(x)\nuse(x)", [4, 5]),
        ("x = made()\nx[0] = 1\nuse(x)", [3, 4]),
        ("x = made()\nx += 1\nuse(x)", [4]),
        ("x = made()\nwhile a:\n    x = x.next()\nuse(x)", [4, 5]),
        ("x, y = made()\nuse(x, y)\nx, y = other()\nuse(x)", [3]),
        ("x = made()\nif isinstance(x, str):\n    use(x)\nuse(x)", [3, 4, 5]),
        ("x = made()\ntry:\n    x = other()\nexcept E:\n    use(x)\nuse(x)", [6, 7]),
    ],
)
def test_what_may_see_an_assignment(module_of: Callable[[str], Module], body: str, lines: list[int]) -> None:
    text = "def f(a, j):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    function = module_of(text).top_functions["f"]
    statement = function.node.body[0]
    assert isinstance(statement, ast.Assign)
    assert [read.lineno for read in readers(function, "x", statement.value)] == lines


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        # What the caller gave is what is read in front of it.
        ("use(x)\nx = made(x)", []),
        ("x.append(1)\nx = made(x)\nuse(x)", [4]),
        ("for i in x:\n    i.b = 1\nx = made(x)\nx.append(1)", [5]),
        ("x[0] = 1\nx = made(x)", []),
        ("if a:\n    x = made(x)\nuse(x)", [4]),
        ("for i in j:\n    use(x)\n    x = made(x)", [3, 4]),
    ],
)
def test_what_a_parameter_was_given_is_not_what_it_is_assigned(
    module_of: Callable[[str], Module], body: str, lines: list[int]
) -> None:
    text = "def f(x, a, j):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    function = module_of(text).top_functions["f"]
    made = next(call for call in function.flow.calls_named("made"))
    assert [read.lineno for read in readers(function, "x", made)] == lines


def test_what_finds_the_same_as_a_read(module_of: Callable[[str], Module]) -> None:
    text = "def f(j):\n    x = []\n    for i in j:\n        x.append(i)\n    x = other(x)\n    return x\n"
    function = module_of(text).top_functions["f"]
    first, *_, last = function.flow.loads["x"]
    assert [read.lineno for read in fellows(function, first)] == [4, 5]
    assert [read.lineno for read in fellows(function, last)] == [6]


def test_of_a_name_that_may_be_anything_all_reads_do(module_of: Callable[[str], Module]) -> None:
    function = module_of("def f(x):\n    x.append(1)\n    x = other(x)\n    return x\n").top_functions["f"]
    assert len(fellows(function, function.flow.loads["x"][0])) == 3


@pytest.mark.parametrize(
    ("body", "line"),
    [
        # `x = made()` stands on the second line.
        ("x = made()\nuse(x)", 3),
        ("x = made(); use(x)", 2),
        ("x: T = made()\nif a:\n    use(x)", 4),
        ("x = made()\nuse(x)\nx = other()\nuse(x)", 3),
        ("x = made()\ndef g(x):\n    return x\nuse(x)", 5),
        ("x = made()\nuse(x, x)", None),
        ("x = made()\nx.sort()\nuse(x)", None),
        ("x = made()\nx += 1\nuse(x)", None),
        ("for i in a:\n    x = x + made()", None),
        ("for i in a:\n    x = made(x)", None),
        ("x = made()\nif a:\n    x = other()\nuse(x)", None),
        ("x = made()\ndef g():\n    return x\nuse(x)", None),
        ("x = made()\nglobal x\nuse(x)", None),
        ("x, y = made()\nuse(x)", None),
        ("x = y = made()\nuse(x)", None),
    ],
)
def test_what_one_place_alone_reads_is_meant_there(
    module_of: Callable[[str], Module], body: str, line: int | None
) -> None:
    text = "def f(a, j):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    function = module_of(text).top_functions["f"]
    made = next(call for call in function.flow.calls_named("made"))
    read = only_read(function, made)
    assert (read.lineno if read is not None else None) == line
    assert all((meant(function, one) is made) is (one is read) for one in function.flow.loads["x"])


def test_what_a_function_reads_of_a_module_has_no_one_place(module_of: Callable[[str], Module]) -> None:
    body = module_of("x = made()\ny = made()\nuse(x, y)\n\nclass C:\n    def f(self, y):\n        return x\n").body
    assert [only_read(body, made) is not None for made in body.flow.calls_named("made")] == [False, True]
