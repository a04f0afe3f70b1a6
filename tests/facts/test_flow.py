"""What encloses what: the skeleton of a file, loops, guards, contexts."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts.flow import Flow, contains
from torchlint.facts.module import Function, Module

Modules = Callable[..., Module]


@pytest.fixture
def here(module_of: Modules) -> Callable[[str], tuple[Flow, ast.AST]]:
    """The name `here` in a snippet, and the flow of the function that holds it."""

    def find(code: str) -> tuple[Flow, ast.AST]:
        for function in module_of(code).functions:
            for node in function.flow.nodes:
                if isinstance(node, ast.Name) and node.id == "here":
                    return function.flow, node
        raise AssertionError("no `here`")

    return find


Here = Callable[[str], tuple[Flow, ast.AST]]


# Loops


@pytest.mark.parametrize(
    "code",
    [
        "here",
        "for x in here:\n    pass",
        "for x in y:\n    pass\nelse:\n    here",
        "while x:\n    pass\nelse:\n    here",
        "for x in y:\n    def f():\n        here",
        "for x in y:\n    f = lambda: here",
        "[here for x in y]",
    ],
)
def test_places_that_no_loop_repeats(here: Here, code: str) -> None:
    flow, node = here(code)

    assert [] == flow.loops(node)


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("for x in y:\n    here", [1]),
        ("for x in y:\n    for z in x:\n        here", [2, 1]),
        ("for x in y:\n    for z in here:\n        pass", [1]),
        ("while here:\n    pass", [1]),
        ("while a:\n    here", [1]),
        ("async def f():\n    async for x in y:\n        here", [2]),
        ("for x in y:\n    if a:\n        pass\n    elif b:\n        here", [1]),
        ("for x in y:\n    try:\n        a()\n    finally:\n        here", [1]),
        ("for x in y:\n    try:\n        a()\n    except E:\n        here", [1]),
        ("for x in y:\n    with here:\n        pass", [1]),
        ("for x in y:\n    match x:\n        case 1:\n            here", [1]),
        ("for x in y:\n    class A:\n        a = here", [1]),
        ("for x in y:\n    def f(a=here):\n        pass", []),
        ("for x in y:\n    @here\n    def f():\n        pass", [1]),
        ("for x in y:\n    pass\nelse:\n    for z in y:\n        here", [4]),
    ],
)
def test_loops_around_a_place(here: Here, code: str, lines: list[int]) -> None:
    flow, node = here(code)

    assert lines == [loop.lineno for loop in flow.loops(node)]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("here", None),
        ("[x for x in here]", None),
        ("f(lambda: here)", None),
        ("[here for x in y]", "ListComp"),
        ("{here for x in y}", "SetComp"),
        ("{x: here for x in y}", "DictComp"),
        ("any(here for x in y)", "GeneratorExp"),
        ("[x for x in y if here]", "ListComp"),
        ("[z for x in y for z in here]", "ListComp"),
        ("{f(x) for x in [here for z in y]}", "ListComp"),
        ("{f([x for x in here]) for z in y}", "SetComp"),
        ("[f(lambda: here) for x in y]", None),
    ],
)
def test_comprehension_that_repeats_a_place(here: Here, code: str, expected: str | None) -> None:
    flow, node = here(code)

    found = flow.comprehension(node)

    assert expected == (found and type(found).__name__)


# Guards


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("here", []),
        ("if here:\n    pass", []),
        ("if a:\n    pass\nhere", []),
        ("if a:\n    pass\nelse:\n    return\nhere", ["a"]),
        ("if a:\n    here", ["a"]),
        ("if a:\n    pass\nelse:\n    here", ["not a"]),
        ("if a:\n    pass\nelif b:\n    here", ["b", "not a"]),
        ("if not a:\n    pass\nelse:\n    here", ["a"]),
        ("if not not a:\n    here", ["a"]),
        ("if not a:\n    return\nhere", ["a"]),
        ("not a or here", ["a"]),
        ("b if not a else here", ["a"]),
        ("if a:\n    if b:\n        here", ["b", "a"]),
        ("if a:\n    return\nhere", ["not a"]),
        ("if a:\n    raise E\nhere", ["not a"]),
        ("for x in y:\n    if a:\n        continue\n    here", ["not a"]),
        ("for x in y:\n    if a:\n        break\n    if b:\n        here", ["b", "not a"]),
        ("for x in y:\n    here\n    if a:\n        continue", []),
        ("if a:\n    return\nelse:\n    b()\nhere", ["not a"]),
        ("if a:\n    b()\n    return\nif c:\n    return\nhere", ["not c", "not a"]),
        ("a and here", ["a"]),
        ("a or b or here", ["not a", "not b"]),
        ("here if a else b", ["a"]),
        ("b if a else here", ["not a"]),
        ("b if here else c", []),
        ("with a:\n    here", []),
        ("while a:\n    here", []),
        ("try:\n    if a:\n        return\n    b()\nfinally:\n    here", []),
        ("try:\n    if a:\n        return\n    here\nfinally:\n    pass", ["not a"]),
        # Behind a flag, what it was assigned, where that is as it was then.
        ("flag = a > b\nif flag:\n    here", ["flag", "a > b"]),
        ("flag = not a\nif flag:\n    here", ["flag", "not a"]),
        ("flag = not a\nif not flag:\n    return\nhere", ["flag", "not a"]),
        ("flag = not a\nif flag:\n    b\nelse:\n    here", ["not flag", "a"]),
        ("flag = a > b\nif c and flag:\n    here", ["c and flag", "a > b"]),
        ("flag = a > b\nif c or flag:\n    here", ["c or flag"]),
        ("flag = a > b\nother = c and flag\nif other:\n    here", ["other", "c and flag", "a > b"]),
        ("flag = a > b\nflag and here", ["flag", "a > b"]),
        ("flag = a > b\nfor x in y:\n    if flag:\n        here", ["flag", "a > b"]),
        ("for x in y:\n    flag = x > b\n    if flag:\n        here", ["flag", "x > b"]),
        ("flag = a\nflag = b > c\nif flag:\n    here", ["flag", "b > c"]),
        ("if flag:\n    here\nflag = a > b", ["flag"]),
        ("flag = a > b\na = 1\nif flag:\n    here", ["flag"]),
        ("flag = a > b\nfor a in y:\n    if flag:\n        here", ["flag"]),
        ("flag = a > b\nfor x in y:\n    if flag:\n        here\n    flag = c", ["flag"]),
        ("flag = flag or a\nif flag:\n    here", ["flag"]),
        ("flag = c\nif x:\n    flag = a > b\nif flag:\n    here", ["flag"]),
        ("global flag\nflag = a > b\nif flag:\n    here", ["flag"]),
        ("flag, b = a > b, c\nif flag:\n    here", ["flag"]),
        ("flag = 3\nif flag:\n    here", ["flag"]),
        ("match x:\n    case 1:\n        if a:\n            return\n        here", ["not a", "x == 1"]),
        ("match x:\n    case [1]:\n        if a:\n            return\n        here", ["not a"]),
        ("try:\n    b()\nexcept E:\n    if a:\n        return\n    here", ["not a"]),
    ],
)
def test_conditions_on_the_way_to_a_place(here: Here, code: str, expected: list[str]) -> None:
    flow, node = here("def f():\n" + "".join(f"    {line}\n" for line in code.splitlines()))

    told = [("" if guard.true else "not ") + ast.unparse(guard.test) for guard in flow.guards(node)]

    assert expected == told


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("if a:\n    here", []),
        ("a and here", []),
        ("if a:\n    here\nelse:\n    b", ["b"]),
        ("if a:\n    b\nelse:\n    here", ["b"]),
        ("if not a:\n    b\nelse:\n    here", ["b"]),
        ("if not a:\n    here\nelse:\n    b", ["b"]),
        ("if not a:\n    return\nhere", ["return"]),
        ("if not a:\n    pass\nelse:\n    return\nhere", ["return"]),
    ],
)
def test_what_runs_where_a_condition_comes_out_the_other_way(here: Here, code: str, expected: list[str]) -> None:
    flow, node = here("def f():\n" + "".join(f"    {line}\n" for line in code.splitlines()))
    (guard,) = flow.guards(node)

    assert expected == [ast.unparse(statement) for statement in guard.otherwise]


def test_the_other_way_of_a_condition_that_a_flag_was_assigned(here: Here) -> None:
    flow, node = here("def f():\n    flag = not a\n    if flag:\n        here\n    else:\n        b\n")

    assert [["b"], ["b"]] == [[ast.unparse(one) for one in guard.otherwise] for guard in flow.guards(node)]


def test_conditions_each_with_what_its_flags_were_assigned(here: Here) -> None:
    flow, node = here("def f():\n    flag = not a > b\n    if flag and c:\n        if flag:\n            here\n")

    assert [[("flag", True), ("a > b", False)], [("flag and c", True), ("a > b", False)]] == [
        [(ast.unparse(guard.test), guard.true) for guard in readings] for readings in flow.readings(node)
    ]


def test_conditions_inside_a_loop_only(here: Here) -> None:
    flow, node = here("if a:\n    for x in y:\n        if b:\n            here")
    (loop,) = flow.loops(node)

    assert ["b"] == [ast.unparse(guard.test) for guard in flow.guards(node, loop)]


def test_a_block_that_returns_out_of_a_context_of_torch(here: Here) -> None:
    for left in (
        "with torch.no_grad():\n    return a()",
        "with autocast('cuda'), torch.no_grad():\n    b()\n    return a()",
    ):
        flow, node = here(f"def f():\n    if c:\n{indented(left, 2)}\n    here")
        assert [("c", False)] == [(ast.unparse(guard.test), guard.true) for guard in flow.guards(node)]
    for stays in ("with torch.no_grad():\n    a()", "with suppress(E):\n    return a()", "with lock:\n    return a()"):
        flow, node = here(f"def f():\n    if c:\n{indented(stays, 2)}\n    here")
        assert [] == [*flow.guards(node)]


def test_what_runs_after_an_exception_only(here: Here) -> None:
    handled = "try:\n    a()\nexcept E:\n    for x in y:\n        here"
    flow, node = here(handled)
    (loop,) = flow.loops(node)

    assert flow.in_handler(node)
    assert not flow.in_handler(node, loop)
    for code in ("here", "try:\n    here\nexcept E:\n    pass", "try:\n    a()\nexcept E:\n    pass\nelse:\n    here"):
        flow, node = here(code)
        assert not flow.in_handler(node)


def test_what_stands_behind_a_return_that_may_fail(here: Here) -> None:
    for left in ("with suppress(E):\n    return a()", "try:\n    return a()\nexcept E:\n    b()"):
        flow, node = here(f"def f():\n{indented(left)}\n    if c:\n        here")
        assert flow.in_handler(node)
        flow, node = here(f"def f():\n    for x in y:\n{indented(left, 2)}\n        here")
        (loop,) = flow.loops(node)
        assert flow.in_handler(node, loop)
        flow, node = here(f"def f():\n    for x in y:\n        if d:\n{indented(left, 3)}\n        here")
        assert not flow.in_handler(node)
    for plain in (
        "with suppress(E):\n    a()",
        "with lock:\n    if b:\n        return a()",
        "try:\n    a()\nexcept E:\n    return b()",
    ):
        flow, node = here(f"def f():\n{indented(plain)}\n    here")
        assert not flow.in_handler(node)
    flow, node = here("def f():\n    here\n    with suppress(E):\n        return a()")
    assert not flow.in_handler(node)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("here", []),
        ("with a:\n    pass\nhere", []),
        ("with here:\n    pass", []),
        ("with a, b as c:\n    here", ["b", "a"]),
        ("with a:\n    with b():\n        here", ["b()", "a"]),
        ("async def f():\n    async with a:\n        here", ["a"]),
        ("with a:\n    def f():\n        here", []),
    ],
)
def test_contexts_around_a_place(here: Here, code: str, expected: list[str]) -> None:
    flow, node = here(code)

    assert expected == [ast.unparse(context) for context in flow.contexts(node)]


@pytest.mark.parametrize(
    ("block", "of_loop", "of_function"),
    [
        ("here\nother()", False, False),
        ("here\ncontinue", False, False),
        ("here\nraise E", True, True),
        ("here\nbreak", True, True),
        ("here\nreturn", True, False),
        ("here\nsys.exit(1)", True, True),
        ("here\nexit()", True, True),
        ("here\nitems[0]()", False, False),
    ],
)
def test_blocks_that_leave(here: Here, block: str, of_loop: bool, of_function: bool) -> None:
    flow, node = here("def f():\n    for x in y:\n" + "".join(f"        {line}\n" for line in block.splitlines()))
    (loop,) = flow.loops(node)
    body = tuple(loop.body)

    assert of_loop == flow.ends_in_exit(body, leaves_function=True)
    assert of_function == flow.ends_in_exit(body, leaves_function=False)


# Names and positions


def test_names_that_a_function_binds_and_reads(module_of: Modules) -> None:
    function = module_of(
        "def f(a):\n    global g\n    b = a\n    for c in b:\n        g += c\n    def inner():\n        d = a\n    del b\n"
    ).functions[1]

    assert {"b": 2, "c": 1, "g": 1} == {name: len(nodes) for name, nodes in function.flow.stores.items()}
    assert {"a": 1, "b": 1, "c": 1} == {name: len(nodes) for name, nodes in function.flow.loads.items()}
    assert {"g"} == function.flow.globals


def test_statements_around_a_place(here: Here) -> None:
    flow, node = here("if a:\n    for x in y:\n        f(here)")

    assert ["Expr", "For", "If"] == [type(statement).__name__ for statement in flow.chain(node)]
    assert ["Expr", "For", "If"] == [type(statement).__name__ for statement in flow.chain(flow.statement(node))]


def test_one_node_lies_within_another() -> None:
    call = ast.parse("f(a, b)", mode="eval").body
    assert isinstance(call, ast.Call)

    assert contains(call, call.args[0])
    assert contains(call, call)
    assert not contains(call.args[0], call)
    assert not contains(call.args[0], call.args[1])


# The skeleton of a file

CODE = """\
import torch
@decorated
@other.option(1)
def outer(a, /, b, *args, c=1, **kwargs):
    def inner():
        yield 1
    return inner

class Net(Base):
    size = 3
    def forward(self, x):
        return x
    class Part:
        def run(self):
            pass
    @staticmethod
    def make():
        pass
    @property
    def width(self):
        return 1
    @width.setter
    def width(self, value):
        pass

if torch:
    def late():
        class Local:
            pass
after = 1
"""


def test_functions_and_classes_of_a_file(module_of: Modules) -> None:
    module = module_of(CODE)

    assert [
        "<module>",
        "outer",
        "outer.inner",
        "Net.forward",
        "Net.Part.run",
        "Net.make",
        "Net.width",
        "Net.width",
        "late",
    ] == [function.qualname for function in module.functions]
    assert ["Net", "Net.Part", "late.Local"] == [klass.qualname for klass in module.classes]
    assert ["outer", "late"] == list(module.top_functions)
    assert ["Net"] == list(module.top_classes)


def test_parts_of_a_function(module_of: Modules) -> None:
    module = module_of(CODE)
    outer, inner, forward, _, make, getter = module.functions[1:7]

    assert ["a", "b", "c"] == [parameter.arg for parameter in outer.parameters]
    assert {"decorated", "option"} == outer.decorator_names
    assert {"inner": inner} == outer.nested
    assert [False, True, False] == [outer.is_method, forward.is_method, make.is_method]
    assert getter is module.classes[0].methods["width"]
    assert () == module.body.parameters
    assert [] == module.body.decorators
    assert [1, 5] == [module.body.first_line, inner.first_line]
    assert "example.Net" == module.classes[0].full_name


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (1, "<module>"),
        (2, "outer"),
        (4, "outer"),
        (6, "outer.inner"),
        (7, "outer"),
        (8, "<module>"),
        (10, "<module>"),
        (11, "Net.forward"),
        (13, "<module>"),
        (15, "Net.Part.run"),
        (23, "Net.width"),
        (25, "<module>"),
        (29, "late"),
        (31, "<module>"),
    ],
)
def test_function_of_a_line(module_of: Modules, line: int, expected: str) -> None:
    assert expected == module_of(CODE).function_at(line).qualname


def test_shown_by_place(module_of: Modules) -> None:
    module: Module = module_of(CODE)
    function: Function = module.functions[1]

    assert ["<example.py:outer>", "<class example.py:Net>"] == [repr(function), repr(module.classes[0])]


def indented(code: str, levels: int = 1) -> str:
    return "\n".join("    " * levels + line for line in code.splitlines())
