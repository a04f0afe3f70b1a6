"""Small questions about the shape of a function's code."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import syntax
from torchlint.facts.module import Function, Module

Modules = Callable[..., Module]


def named(function: Function, name: str) -> ast.Name:
    (node,) = (n for n in function.flow.nodes if isinstance(n, ast.Name) and n.id == name)
    return node


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("one\nother", False),
        ("if a:\n    one\nother", False),
        ("if a:\n    one\n    other", False),
        ("if one:\n    other", False),
        ("try:\n    one\nfinally:\n    other", False),
        ("try:\n    one\nexcept E:\n    pass\nelse:\n    other", False),
        ("while a:\n    one\nelse:\n    other", False),
        ("if a:\n    one\nelse:\n    other", True),
        ("if a:\n    one\nelif b:\n    other", True),
        ("if a:\n    for x in y:\n        one\nelse:\n    with z:\n        other", True),
        ("try:\n    one\nexcept E:\n    other", True),
    ],
)
def test_places_of_which_a_run_reaches_one(module_of: Modules, code: str, expected: bool) -> None:
    function = module_of(code).body
    one, other = named(function, "one"), named(function, "other")

    assert [expected, expected] == [
        syntax.exclusive(function.flow, one, other),
        syntax.exclusive(function.flow, other, one),
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("here", None),
        ("here\nb", "b"),
        ("if a:\n    here\nb", None),
        ("if a:\n    here\n    b\nc", "b"),
        ("if a:\n    pass\nelse:\n    here\n    b", "b"),
        ("try:\n    a\nfinally:\n    here\n    b", "b"),
        ("def f():\n    here\n    b", "b"),
        ("match a:\n    case 1:\n        here\n        b", "b"),
        ("try:\n    a\nexcept E:\n    here\n    b", "b"),
    ],
)
def test_the_next_statement(module_of: Modules, code: str, expected: str | None) -> None:
    module = module_of(code)
    (function,) = (f for f in module.functions if any(isinstance(n, ast.Name) and n.id == "here" for n in f.flow.nodes))
    statement = function.flow.statement(named(function, "here"))

    found = syntax.following(function.flow, statement)

    assert expected == (found and ast.unparse(found))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("here", None),
        ("x = f(here)", None),
        ("x = y = here", None),
        ("x += here", None),
        ("x = here", "x"),
        ("self.x = here", "self.x"),
        ("x: int = here", "x"),
        ("x[0] = here", "x[0]"),
    ],
)
def test_what_a_value_is_assigned_to(module_of: Modules, code: str, expected: str | None) -> None:
    function = module_of(code).body

    found = syntax.target(function.flow, named(function, "here"))

    assert expected == (found and ast.unparse(found))


CLASS = "class A:\n    def f(this):\n        this.x = this.x + other.x\n        return this.y.x\n    def g(self):\n        return self.x()\n    @staticmethod\n    def h(self):\n        return self.x\n"


def test_own_attributes(module_of: Modules) -> None:
    module = module_of(CLASS)
    method, static = module.functions[1], module.functions[3]
    expressions = [ast.parse(text, mode="eval").body for text in ("this.x", "other.x", "this.x.y", "this", "this[0]")]

    assert ["x", None, None, None, None] == [syntax.own_attribute(method, node) for node in expressions]
    assert syntax.own_attribute(method, None) is None
    assert syntax.own_attribute(static, ast.parse("self.x", mode="eval").body) is None


def test_reads_of_an_own_attribute(module_of: Modules) -> None:
    (klass,) = module_of(CLASS).classes

    assert [("f", 3), ("g", 6)] == [(method.name, node.lineno) for method, node in klass.uses.get("x", ())]
    assert [] == list(klass.uses.get("missing", ()))


def test_calls_of_a_method(module_of: Modules) -> None:
    flow = module_of("a.f(1)\nf(2)\nb.c.f()\na.g()\nx = a.f\n").body.flow

    assert ["a", "b.c"] == [ast.unparse(receiver) for _, receiver in syntax.method_calls(flow, "f")]


def test_the_call_of_an_expression(module_of: Modules) -> None:
    flow = module_of("f(g)(h)\n").body.flow
    names = {node.id: node for node in flow.nodes if isinstance(node, ast.Name)}

    assert ["f(g)", None] == [
        found and ast.unparse(found) for found in (syntax.called(flow, names["f"]), syntax.called(flow, names["g"]))
    ]


def test_expressions_that_are_written_alike() -> None:
    one, same, other = (ast.parse(text, mode="eval").body for text in ("a.b[0]", "a . b[ 0 ]", "a.b[1]"))

    assert [True, False, False, False] == [
        syntax.same(one, same),
        syntax.same(one, other),
        syntax.same(one, None),
        syntax.same(None, None),
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("here", []),
        ("import there\nhere", []),
        ("import here", [1]),
        ("import here.x", [1]),
        ("import a as here", [1]),
        ("from a import here", [1]),
        ("from a import b as here", [1]),
        ("import here as b", []),
        ("try:\n    from a import here\nexcept E:\n    from b import here", [2, 4]),
    ],
)
def test_imports_that_bind_a_name(module_of: Modules, code: str, expected: list[int]) -> None:
    assert expected == [binding.statement.lineno for binding in syntax.imports_of(module_of(code).body, "here")]


def test_imports_of_the_nearest_scope(module_of: Modules) -> None:
    module = module_of("import here\ndef f():\n    import a as here\n    def g(): pass\ndef h(): pass\n")
    lines = {f.name: [b.statement.lineno for b in syntax.imports_of(f, "here")] for f in module.functions[1:]}

    assert {"f": [3], "g": [3], "h": [1]} == lines


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a.b", False),
        ("from torch import a\na.b", False),
        ("import torch\ntorch.b", False),
        ("if x:\n    from torch import a\nelse:\n    from torch import a\na.b", False),
        ("from torch import a\na().b", False),
        ("if x:\n    from torch import a\nelse:\n    from other import a\na.b", True),
        ("try:\n    from torch import a\nexcept ImportError:\n    a = None\na.b", True),
        ("if hasattr(torch, 'a'):\n    from torch import a\na.b", True),
    ],
)
def test_names_of_a_shim(
    module_of: Modules, last_of: Callable[[Module], tuple[Function, ast.expr]], code: str, expected: bool
) -> None:
    assert expected == syntax.from_shim(*last_of(module_of(code)))


def test_reads_of_a_name_in_a_file(module_of: Modules) -> None:
    module = module_of("x = 1\nx\ndef f():\n    return x + y\nclass A:\n    def g(self, x: x):\n        x\n")

    assert [("<module>", 2), ("f", 4), ("A.g", 7)] == [(f.qualname, node.lineno) for f, node in module.loads["x"]]
