"""Whatever an expression is and wherever its text is put, it stays the expression that it was."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchlint.program.project import Project
from torchlint.rule import load
from torchlint.rule.analysis import Analysis
from torchlint.rule.operand import Place, operand, place_of
from torchlint.rule.site import Site
from torchlint.settings.config import Settings
from torchlint.text.tree import NoNode

FIXERS = Path(__file__).parents[1] / "fixers"

EXPRESSIONS = [
    "x",
    "x.a",
    "x.a.b(c).d",
    "f(x)",
    "f(x, *y, k=z, **w)",
    "f(i for i in x)",
    "x[0]",
    "x[0, ...]",
    "x[1:2]",
    "x[a, b]",
    "x[:n]",
    "1",
    "1.5",
    "1e5",
    "1j",
    "0xFF",
    "1_000",
    "True",
    "None",
    "...",
    '"text"',
    'b"bytes"',
    '"one " "two"',
    'r"\\d"',
    'f"{x!r:>{n}}"',
    '"tuple of {}".format(x)',
    "-1",
    "-x",
    "+x",
    "~x",
    "not x",
    "x + y",
    "x - y - z",
    "x * y",
    "x ** y",
    "-x ** y",
    "x @ y",
    "x % y",
    "x << y",
    "x | y",
    "x < y",
    "x < y <= z",
    "x is not y",
    "x not in y",
    "x and y",
    "x or y and z",
    "x if c else y",
    "x if c else y if d else z",
    "lambda: x",
    "lambda a, *b, c=1, **d: a",
    "(n := x)",
    "[]",
    "[x, *y]",
    "()",
    "(x,)",
    "x, y",
    "*x, y",
    "{x, y}",
    "{}",
    "{x: y, **z}",
    "[i for i in x if i]",
    "{i for i in x}",
    "{i: j for i, j in x}",
    "(i for i in x)",
    "await x",
    "await x.a(y)",
    "(yield)",
    "(yield x)",
    "(yield from x)",
    "(x  # a comment within\n .a)",
    "(x +\n y)",
    '("one "\n "two")',
    "(x\n if c else\n y)",
    "(x)(y)",
    "(x).a",
    "(x + y).a",
    "(x or y)[0]",
    "((((x < y))))",
    "'''three\nquotes'''",
    '"ä" + "ö"',
]

PLACES = {
    Place.RECEIVER: ["{}.a", "{}.a()", "{}(1)", "{}[0]", "await {}", "-{}.a", "x @ {}.T"],
    Place.OPERAND: [
        "{} + 1",
        "1 + {}",
        "1 - {}",
        "{} - {}",
        "-{}",
        "~{}",
        "not {}",
        "{} ** 2",
        "2 ** {}",
        "{} < 1",
        "1 in {}",
        "{} is {}",
        "{} and b",
        "a or {}",
        "{} if a else b",
        "a if {} else b",
        "a if b else {}",
        "f(*{})",
        "f(**{})",
        "[*{}]",
        "{**{}}",
        "[a for a in {} if {}]",
        "(a := {})",
        "lambda: {}",
    ],
    Place.ARGUMENT: ["f({})", "f({}, 1)", "f(1, {})", "f({}, k=1)", "[{}]", "[1, {}, 2]", "{{}}", "{{}, 1}"],
    Place.VALUE: ["f(k={})", "f(k={}, l=1)", "a[{}]", "a[{}:]", "a[:{}]", "a[::{}]", "{1: {}}", "{{}: 1}"],
    Place.ELEMENT: ["a = {}", "a = {}, 1", "a = 1, {}", "for a in {}: pass", "if {}: pass", "assert {}, {}", "with {} as a: pass"],
}  # fmt: skip
HOLE = "Name(id='hole', ctx=Load())"
NOWHERE = {ast.Starred: {*Place} - {Place.ARGUMENT}, ast.Slice: {*Place}}
"""What can't stand at some places at all."""


def site_of(text: str) -> Site:
    """The first statement of a function that holds the text."""
    project = Project({"a.py": f"async def f():\n    _ = {text}\n".encode})
    module = project.module("a.py")
    assert module is not None
    function = module.functions[1]
    analysis = Analysis(project, Settings(frozenset(), frozenset()))
    return Site(analysis, function, function.flow.nodes[0], next(iter(load().values())))


def parts(text: str) -> Iterator[tuple[Site, ast.expr]]:
    """Every expression of a text that has a position of its own."""
    site = site_of(text)
    for node in site.flow.nodes[2:]:
        inside = any(isinstance(parent, ast.JoinedStr) for parent in site.flow.expressions(node))
        if isinstance(node, ast.expr) and not inside:
            yield site, node


def dump(node: ast.AST) -> str:
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()")


@pytest.mark.parametrize("place", Place, ids=lambda place: str(place.name))
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_the_pasted_expression_is_unchanged(text: str, place: Place) -> None:
    for site, node in parts(text):
        if place in NOWHERE.get(type(node), ()):
            with pytest.raises(NoNode):
                operand(site, node, place)
            continue
        code = operand(site, node, place)
        for template in PLACES[place]:
            pasted = dump(ast.parse(template.replace("{}", code)))
            assert pasted == dump(ast.parse(template.replace("{}", "hole"))).replace(HOLE, dump(node)), template


def test_the_expressions_are_all_that_there_are() -> None:
    seen = {type(node) for text in EXPRESSIONS for _, node in parts(text)}
    inside = {"FormattedValue", "TemplateStr", "Interpolation"}  # parts of strings, and strings of newer Pythons

    assert {kind for kind in ast.expr.__subclasses__() if kind.__name__ not in inside} == seen


@pytest.mark.parametrize("place", Place, ids=lambda place: str(place.name))
def test_an_index_with_slices_stays_in_its_brackets(place: Place) -> None:
    site, index = next((site, node) for site, node in parts("x[1:2, ...]") if isinstance(node, ast.Tuple))

    with pytest.raises(NoNode):
        operand(site, index, place)


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        ("x", Place.RECEIVER, "x"),
        ("x.a", Place.OPERAND, "x.a"),
        ("x + y", Place.RECEIVER, "(x + y)"),
        ("x + y", Place.OPERAND, "(x + y)"),
        ("x + y", Place.ARGUMENT, "x + y"),
        ("x + y", Place.ELEMENT, "x + y"),
        ("1", Place.RECEIVER, "(1)"),
        ("1", Place.OPERAND, "1"),
        ("1.5", Place.RECEIVER, "1.5"),
        ("f(i for i in x)", Place.RECEIVER, "f(i for i in x)"),
        ("x if c else y", Place.ARGUMENT, "x if c else y"),
        ("(n := x)", Place.ARGUMENT, "n := x"),
        ("(n := x)", Place.VALUE, "(n := x)"),
        ("lambda: x", Place.VALUE, "lambda: x"),
        ("(x\n .a)", Place.ARGUMENT, "x\n .a"),
        ("(x\n .a)", Place.ELEMENT, "(x\n .a)"),
    ],
)
def test_parentheses_stand_where_they_are_needed(text: str, place: Place, code: str) -> None:
    site, node = next(parts(text))

    assert code == operand(site, node, place)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(x\n .a\n .b())", "x\n .a\n .b"),
        ("(\n x.a.b())", "x.a.b"),
        ("((x\n .a).b())", "(x\n .a).b"),
        ("((x +\n y).b())", "(x +\n y).b"),
    ],
)
def test_what_stays_where_it_begins_keeps_its_lines(text: str, code: str) -> None:
    site, call = next(parts(text))
    assert isinstance(call, ast.Call)

    assert code == operand(site, call.func, Place.RECEIVER, call)


def test_a_keyword_is_given_whole() -> None:
    site, call = next(parts("f(k=(yield x))"))
    assert isinstance(call, ast.Call)

    assert "k=(yield x)" == operand(site, call.keywords[0], Place.ARGUMENT)
    with pytest.raises(NoNode):
        operand(site, call.keywords[0], Place.OPERAND)


def test_the_argument_of_a_call_with_a_generator_keeps_its_parentheses() -> None:
    site, call = next(parts("f(i for i in x)"))
    assert isinstance(call, ast.Call)

    assert "(i for i in x)" == operand(site, call.args[0], Place.ARGUMENT)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("here.a", Place.RECEIVER),
        ("here(1)", Place.RECEIVER),
        ("here[1]", Place.RECEIVER),
        ("await here", Place.RECEIVER),
        ("x + here", Place.OPERAND),
        ("-here", Place.OPERAND),
        ("x < here < y", Place.OPERAND),
        ("x and here", Place.OPERAND),
        ("x if here else y", Place.OPERAND),
        ("f(*here)", Place.OPERAND),
        ("f(**here)", Place.OPERAND),
        ("{**here}", Place.OPERAND),
        ("[x for x in here]", Place.OPERAND),
        ("f(here)", Place.ARGUMENT),
        ("[here, x]", Place.ARGUMENT),
        ("{here, x}", Place.ARGUMENT),
        ("f(k=here)", Place.VALUE),
        ("x[here]", Place.VALUE),
        ("x[1:here]", Place.VALUE),
        ("{1: here}", Place.VALUE),
        ("here, x", Place.ELEMENT),
        ("here", Place.ELEMENT),
    ],
)
def test_what_takes_the_place_of_an_expression_has_to_fit_there(text: str, place: Place) -> None:
    site, here = next((site, node) for site, node in parts(text) if isinstance(node, ast.Name) and node.id == "here")

    assert place is place_of(site, here)
