"""What one node of `ast` says by itself."""

import ast

from torchlint.facts import nodes


def expression(code: str) -> ast.expr:
    return ast.parse(code, mode="eval").body


def call(code: str) -> ast.Call:
    found = expression(code)
    assert isinstance(found, ast.Call)
    return found


def written(node: ast.AST | None) -> str | None:
    return ast.unparse(node) if node is not None else None


def test_a_name_goes_before_a_place_and_a_star_hides_what_stands_behind_it() -> None:
    assert written(nodes.argument_of(call("f(1, x=2)"), "x", 0)) == "2"
    assert written(nodes.argument_of(call("f(1)"), "x", 0)) == "1"
    assert nodes.argument_of(call("f(1)"), "x") is None
    assert nodes.argument_of(call("f(*a, 1)"), "x", 1) is None
    assert nodes.argument_of(call("f(**a)"), "x", 0) is None


def test_what_a_call_is_given() -> None:
    assert list(map(written, nodes.given_to(call("f(1, *a, x=2, **b)")))) == ["1", "*a", "2", "b"]
    assert written(nodes.keyword_of(call("f(b=1, a=2)"), "a", "b")) == "1"
    assert [nodes.spreads(call(code)) for code in ("f(1, x=2)", "f(*a)", "f(**a)")] == [False, True, True]


def test_a_constant_is_not_what_equals_it() -> None:
    assert nodes.is_constant(expression("True"), True)
    assert not nodes.is_constant(expression("1"), True)
    assert not nodes.is_constant(None, None)
    assert [nodes.string(expression(code)) for code in ("'a'", "b'a'", "f'a'", "a")] == ["a", None, None, None]


def test_conditions() -> None:
    rest, true = nodes.without_not(expression("not not not x"), True)
    assert (written(rest), true) == ("x", False)
    assert list(map(written, nodes.conjuncts(expression("a and b and (c or d)")))) == ["a", "b", "c or d"]
    assert list(map(written, nodes.conjuncts(expression("a or b")))) == ["a or b"]
    for code, is_none in (("x is None", True), ("x is not None", False)):
        asked = nodes.none_test(expression(code))
        assert asked is not None and (written(asked[0]), asked[1]) == ("x", is_none)
    for code in ("x == None", "x is False", "x is None is None", "None is x", "x"):
        assert nodes.none_test(expression(code)) is None


def test_a_condition_holds_by_its_parts() -> None:
    known = {"t": True, "f": False}
    for code, expected in {
        "t and f": False,
        "t and x": None,
        "f and x": False,
        "x or t": True,
        "x or f": None,
        "not (t and t)": False,
        "not x": None,
        "not f and (x or t)": True,
    }.items():
        assert nodes.truth(expression(code), lambda part: known.get(ast.unparse(part))) is expected, code


def test_what_a_node_binds() -> None:
    for code, expected in {
        "import a.b, c.d as e": ["a", "e"],
        "from a import b, c as d": ["b", "d"],
        "def f(x): y = 1": ["f", "y"],
        "class C: pass": ["C"],
        "del a": ["a"],
        "a.b = c": [],
        "try: pass\nexcept E as e: pass": ["e"],
        "match x:\n case [a, *b]: pass\n case {**c}: pass\n case _: pass": ["a", "b", "c"],
    }.items():
        assert sorted(name for node in ast.walk(ast.parse(code)) for name in nodes.bound_by(node)) == sorted(expected)


def test_parts() -> None:
    assert list(map(written, nodes.elements(expression("[a, b]")))) == ["a", "b"]
    assert list(map(written, nodes.indices(expression("[a, b]")))) == ["[a, b]"]
    assert list(map(written, nodes.indices(expression("a, b")))) == ["a", "b"]
    assert nodes.names_in(expression("a.b[c] + f(d)")) == {"a", "c", "f", "d"}
    assert [written(nodes.root_of(expression(code))) for code in ("a.b[0].c", "a", "f().b")] == ["a", "a", None]
    assert [written(nodes.callee(expression(code))) for code in ("a.b(1)", "a.b")] == ["a.b", "a.b"]


def test_what_an_assignment_changes() -> None:
    written_to = {
        "a, (b, *c) = x": {"a", "b", "c"},
        "a[k] = b.c[k] = x": {"a", "b"},
        "a.b += x": {"a"},
        "a: int": {"a"},
        "f(a)": set(),
    }
    for code, expected in written_to.items():
        assert nodes.assigned_in(ast.parse(code).body[0]) == expected


def test_numbers_that_are_written_out() -> None:
    numbers = {"1": 1, "-1": -1, "--2": 2, "0.5": 0.5, "True": None, "'1'": None, "n": None, "-n": None, "+1": None}
    assert {code: nodes.number(expression(code)) for code in numbers} == numbers
    assert nodes.number(None) is None


def test_the_steps_of_a_chain() -> None:
    assert list(map(written, nodes.steps(expression("f(x).a[0]")))) == ["f(x).a[0]", "f(x).a", "f(x)", "f"]
    assert list(map(written, nodes.steps(expression("a + b")))) == ["a + b"]
    assert list(nodes.steps(None)) == []


def test_what_a_text_with_gaps_begins_and_ends_with() -> None:
    def ends(code: str) -> tuple[str, str] | None:
        return nodes.ends_of_text(expression(code), nodes.string)

    assert ends('f"{phase}_loader"') == ("", "_loader")
    assert ends('f"a_{b}_{c}_d"') == ("a_", "_d")
    assert ends('"loader_" + phase') == ("loader_", "")
    assert ends('f"{a}{b}"') is None
    assert ends('f""') is None
    assert ends('"a" * phase') is None
    assert ends("phase") is None
