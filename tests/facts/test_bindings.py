"""Which binding a read finds, and that values asked for one by one, in any order, are the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint.facts.bindings import (
    Announced,
    Assigned,
    Augmented,
    Binding,
    Changed,
    Defined,
    Iterated,
    Joined,
    Narrowed,
    Parameter,
    Part,
    Rest,
    Starred,
    Stored,
)
from torchlint.facts.module import Module
from torchlint.facts.values import Value
from torchlint.program.project import Project

PRELUDE = "import torch\ndevice = torch.device('cuda')\n"
PAGES = sorted((Path(__file__).parents[1] / "rules").glob("*.md"))


def shown(binding: Binding | None) -> str:
    """How a name got its value, in words."""
    match binding:
        case None:
            return "from outside"
        case Assigned() | Iterated() | Changed() | Narrowed() | Stored():
            return f"{binding.__class__.__name__.lower()} {ast.unparse(binding.node)}"
        case Augmented():
            return ast.unparse(binding.node)
        case Announced():
            return f"announced {ast.unparse(binding.annotation)}"
        case Part():
            return f"part {binding.at} of {shown(binding.whole)}"
        case Starred():
            return f"the rest of {shown(binding.each)}"
        case Joined():
            return f"{shown(binding.one)} or {shown(binding.other)}"
        case Defined():
            return f"defined {binding.node.name}"
        case Parameter():
            return f"lambda's {binding.name}"
        case Rest():
            return "keywords"
    raise AssertionError(binding)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a", "from outside"),
        ("b = 1\na", "from outside"),
        ("a = 1\ndel a\na", "from outside"),
        ("import a\na", "from outside"),
        ("a = 1\na", "assigned 1"),
        ("a = 1\na = 2\na", "assigned 2"),
        ("b = a = 1\na", "assigned 1"),
        ("a: int = 1\na", "declared 1"),
        ("a: int\na", "announced int"),
        ("a = 1\na += 2\na", "a += 2"),
        ("(b, (c, a)) = f()\na", "part 1 of part 1 of assigned f()"),
        ("b, *a = f()\na", "the rest of part 1 of assigned f()"),
        ("for a in b:\n    a", "iterated b"),
        ("for b, a in c:\n    pass\na", "part 1 of iterated c"),
        ("with f() as a:\n    a", "assigned f()"),
        ("if (a := f()):\n    a", "assigned f()"),
        ("def a(): pass\na", "defined a"),
        ("class a: pass\na", "defined a"),
        ("[a for a in b]\na", "from outside"),
        ("(lambda a: 1)\na", "from outside"),
        ("a.to(1)\na", "from outside"),
        ("a = 1\na.to(1)\na", "changed a.to(1)"),
        ("a = 1\na.other(1)\na", "assigned 1"),
        ("self.a.to(1)\nself.a", "changed self.a.to(1)"),
        ("a = {}\na['x'] = 1\na", "stored a['x']"),
        ("a['x'] = 1\na", "from outside"),
        ("a.b = 1\na.b", "assigned 1"),
        ("a.b = 1\na = 2\na.b", "from outside"),
        ("a.b.c = 1\na = 2\na.b.c", "from outside"),
        ("if isinstance(a, B):\n    a", "narrowed isinstance(a, B)"),
        ("if not isinstance(a, B):\n    raise b\na", "narrowed isinstance(a, B)"),
        # A name for a test says the same of what is still what it was then.
        ("b = isinstance(a, B)\na = 2\nif b:\n    a", "assigned 2"),
        ("b = isinstance(a, B)\nif c:\n    a = 2\nif b:\n    a", "assigned 2"),
        ("b = isinstance(a, B)\nif c:\n    b = 1\nif b:\n    a", "from outside"),
        ("b = isinstance(self.a, B)\nself.a = 2\nif b:\n    self.a", "assigned 2"),
        ("b = isinstance(a, B) and c\na = 2\nif b:\n    a", "assigned 2"),
        ("b = isinstance(a, B)\na = 2\nd = b\nif d:\n    a", "assigned 2"),
        ("b = isinstance(a, B)\nd = b\nb = c\nif d:\n    a", "from outside"),
        ("b = a or b\nif b:\n    a", "from outside"),
        ("b = isinstance(a, B) or c\nif b:\n    a", "from outside"),
        ("b = isinstance(a, B)\nb = 1\nif b:\n    a", "from outside"),
        ("for c in d:\n    if b:\n        a\n    b = isinstance(a, B)", "from outside"),
        ("b = isinstance(a, B)\nfor c in d:\n    if b:\n        a\n    a = 2", "assigned 2"),
        ("b = isinstance(a, B)\nif b:\n    a", "narrowed isinstance(a, B)"),
        ("a = 1\nb = isinstance(a, B)\nif not b:\n    raise c\na", "narrowed isinstance(a, B)"),
        ("b = isinstance(a, B)\nif b and c:\n    a", "narrowed isinstance(a, B)"),
        ("b = isinstance(self.a, B)\nif b:\n    self.a", "narrowed isinstance(self.a, B)"),
        ("b = c and isinstance(a, B)\nif b:\n    a", "narrowed isinstance(a, B)"),
        ("b = not isinstance(a, B)\nif b:\n    raise c\na", "narrowed isinstance(a, B)"),
        ("b = isinstance(a, B)\nd = b\nif d:\n    a", "narrowed isinstance(a, B)"),
        ("b = isinstance(a, B)\nif b:\n    c(a)\nif b:\n    a", "narrowed isinstance(a, B)"),
        # Where a flag says that nothing is given, nothing is.
        ("b = a is not None\nif b:\n    a = 2\na", "assigned 2 or assigned None"),
        ("if b:\n    a = 1\nelse:\n    a = 2\na", "assigned 1 or assigned 2"),
        ("if b:\n    a = 1\na", "assigned 1"),
        ("a = 1\nif b:\n    a = 2\na", "assigned 2 or assigned 1"),
        ("a = 1\nif b:\n    a = 2\n    raise c\na", "assigned 1"),
        ("if b:\n    a = 1\nelse:\n    raise c\na", "assigned 1"),
        ("a = 1\nif b:\n    del a\na", "assigned 1"),
        # What is not changed where it is there is None otherwise; other tests, and None itself, say nothing of that.
        ("a = 1\nif a is not None:\n    b\na", "assigned 1"),
        ("a = 1\nif a is not None and b:\n    a = 2\na", "assigned 2 or assigned 1"),
        ("a = 1\nif a is None:\n    a = 2\na", "assigned 2 or assigned 1"),
        ("a = 1\nif b is not None:\n    a = 2\na", "assigned 2 or assigned 1"),
        ("a = 1\nif a:\n    a = 2\na", "assigned 2 or assigned 1"),
        ("a = 1\nif a is not None:\n    a = 2\n    a", "assigned 2"),
        ("a = 1\nif a is not None:\n    a = 2\nelse:\n    a = 3\na", "assigned 2 or assigned 3"),
        ("a = 1\nif a is not None:\n    a = 2\nelif b:\n    a = 3\na", "assigned 2 or assigned 3 or assigned None"),
        ("a = 1\nif a is not None:\n    a = 2\n    raise c\na", "assigned None"),
        ("a = 1\nif a is not None:\n    a = 2\na", "assigned 2 or assigned None"),
        ("self.a = 1\nif self.a is not None:\n    self.a = 2\nself.a", "assigned 2 or assigned None"),
        ("try:\n    a = 1\nexcept E:\n    a = 2\na", "assigned 1 or assigned 2"),
        ("try:\n    a = 1\nexcept E:\n    raise\na", "assigned 1"),
        ("match b:\n    case 1:\n        a = 1\n    case _:\n        a = 2\na", "assigned 1 or assigned 2"),
        ("class A:\n    a = 1\na", "from outside"),
        ("class A:\n    a = 1\n    b = a", "assigned 1"),
        # The second iteration finds what the first has left.
        ("a = 1\nfor b in c:\n    a\n    a = 2", "assigned 1 or assigned 2"),
        ("a = 1\nwhile b:\n    a = 2\na", "assigned 1 or assigned 2"),
        ("a = 1\nfor b in c:\n    a = 2\n    continue\na", "assigned 1 or assigned 2"),
    ],
)
def test_what_a_name_refers_to(module_of: Callable[[str], Module], code: str, expected: str) -> None:
    body = module_of(code).body
    reads = [
        node
        for node in body.flow.nodes
        if ast.unparse(node) in ("a", "self.a", "a.b", "a.b.c")
        and isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Load)
    ]

    last = max(reads, key=lambda node: (node.lineno, node.col_offset, len(ast.unparse(node))))
    found = shown(body.bindings.reach.get(last))

    assert expected == found


def test_keyword_arguments_are_a_dictionary(module_of: Callable[[str], Module]) -> None:
    function = module_of("def f(**a):\n    a\n").functions[1]

    assert {"a": "keywords"} == {name: shown(binding) for name, binding in function.bindings.final.items()}


def test_what_a_function_gives(module_of: Callable[[str], Module]) -> None:
    bindings = module_of("def f(a):\n    if a:\n        return\n    yield 2\n    return a\n").functions[1].bindings

    assert ["from outside", "assigned a"] == [shown(binding) for binding in bindings.returned]
    assert ["assigned 2"] == [shown(binding) for binding in bindings.yielded]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pass", True),
        ("if a: return 1", True),
        ("while a: return 1", True),
        ("if a: return 1\n  elif b: return 2", True),
        ("return 1", False),
        ("if a: return 1\n  raise b", False),
        ("if a: return 1\n  elif b: return 2\n  else: raise c", False),
    ],
)
def test_whether_a_function_may_end_without_return(
    module_of: Callable[[str], Module], body: str, expected: bool
) -> None:
    function = module_of(f"def f(a, b, c):\n  {body}\n").functions[1]

    assert expected is function.bindings.reaches_end


def told(code: str, backwards: bool) -> dict[tuple[int, int, str], tuple[str, int, str]]:
    """The value of each expression of a file, asked for one by one."""
    project = Project({"example.py": code.encode})
    module = project.module("example.py")
    assert module is not None
    nodes = [(f, node) for f in module.functions for node in f.flow.nodes if isinstance(node, ast.expr)]
    found: dict[tuple[int, int, str], Value] = {}
    for function, node in reversed(nodes) if backwards else nodes:
        found[node.lineno, node.col_offset, ast.unparse(node)] = project.value(function, node)
    return {place: (value.kind, value.certainty, value.device) for place, value in found.items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_values_do_not_depend_on_what_was_asked_before(page: Path) -> None:
    for code in re.findall(r"^```python.*?\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        assert told(PRELUDE + code, backwards=False) == told(PRELUDE + code, backwards=True)


def test_a_long_chain_is_read_to_its_start() -> None:
    code = "import torch\nx = torch.zeros(1)\n" + "x = x + 1\n" * 5000 + "x\n"
    project = Project({"example.py": code.encode})
    module = project.module("example.py")
    assert module is not None
    last = module.tree.body[-1]
    assert isinstance(last, ast.Expr)

    assert "tensor" == project.value(module.body, last.value).kind


def test_defaults_of_parameters_have_values() -> None:
    project = Project({"example.py": "def f(a=1, *, b='a'): pass".encode})
    module = project.module("example.py")
    assert module is not None
    function = module.functions[1]
    assert isinstance(function.node, ast.FunctionDef)
    defaults = [*function.node.args.defaults, *function.node.args.kw_defaults]

    assert [1, "a"] == [project.value(function, node).const for node in defaults if node is not None]
