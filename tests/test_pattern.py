"""Patterns: what they match, what they catch, the word that a text must hold for them, and `ast` and libcst of one mind."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlint.pattern import on_ast, on_libcst
from torchlint.pattern.match import Match, around, in_tree
from torchlint.pattern.shape import Named, Node, shape
from torchlint.pattern.words import KINDS, is_plain, plain, trigger
from torchlint.rule import load
from torchlint.text.source import parsed

ROOT = Path(__file__).parents[1]
RULES = sorted({pattern for rule in load().values() for pattern in rule.shape})

# Each pattern with code that has its shape, and what it catches; then with code that has not.
HAS = [
    ("$x.item(...)", "loss.item()", {"x": "loss"}),
    ("$x.item(...)", "f(a)[0].item(1, *b, c=d)", {"x": "f(a)[0]"}),
    ("$x.item()", "loss.item()", {"x": "loss"}),
    ("$f(...)", "a.b(c)(d)", {"f": "a.b(c)"}),
    ("$x.clone(...).detach()", "w.clone(memory_format=m).detach()", {"x": "w"}),
    ("float($x)", "float(y)", {"x": "y"}),
    ("torch.cat([$a, ...], ...)", "torch.cat([x, *y], dim=1)", {"a": "x"}),
    ("torch.cat([$a, ...], ...)", "torch.cat([x])", {"a": "x"}),
    ("f($a, key=$k)", "f(1, key=2)", {"a": "1", "k": "2"}),
    ("f(..., key=$k)", "f(1, *a, other=3, key=2, **b)", {"k": "2"}),
    ("f(a := $a, ...)", "f(1, 2)", {"a": "1"}),
    ("f(a := $a, ...)", "f(b=2, a=1)", {"a": "1"}),
    ("f($x, a := $a)", "f(0, a=1)", {"a": "1"}),
    ("f(a := 1)", "f(1)", {}),
    ("$x[:$k]", "a[:3]", {"x": "a", "k": "3"}),
    ("$x[[$i, ...]]", "a[[0, b]]", {"x": "a", "i": "0"}),
    ("$x * torch.sigmoid($x)", "(a + b) * torch.sigmoid(a+b)", {"x": "a + b"}),
    ("$x * torch.sigmoid(($made := $y))", "a * torch.sigmoid(b)", {"x": "a", "made": "b", "y": "b"}),
    ("$x[$i]", "a[1, 2:3]", {"x": "a"}),
    ("$x[0]", "a[0]", {"x": "a"}),
    ("$x[-1]", "a[-1]", {"x": "a"}),
    ("$x[$i, $j]", "a[b, c]", {"i": "b", "j": "c"}),
    ("$a is None", "x is None", {"a": "x"}),
    ("$a @ $b", "x @ y.T", {"a": "x", "b": "y.T"}),
    ("not $a", "not x", {"a": "x"}),
    ("$a if $t else $b", "x if y else z", {"a": "x", "t": "y", "b": "z"}),
    ("$_ and $_", "a and b and c", {}),
    ("[$e for $t in $it]", "[f(x) for x in xs if x for y in x]", {"e": "f(x)", "t": "x", "it": "xs"}),
    ("{$k: $v for $t in $it}", "{a: b for a, b in c}", {"k": "a", "v": "b", "t": "(a, b)", "it": "c"}),
    ('$x.to("cpu")', "x.to('c' 'pu')", {"x": "x"}),
    ("($a, $b)", "(x, y)", {"a": "x", "b": "y"}),
    ("$x = torch.cat([$x, ...], ...)", "self.out = torch.cat([self.out, new])", {"x": "self.out"}),
    ("$_ = f()", "a = b = f()", {}),
    ("$x = $v", "x: int = 3", {"x": "x", "v": "3"}),
    ("$x += $v", "total += loss", {"x": "total", "v": "loss"}),
    ("f(...);", "f(1)", {}),
    ("return $x", "return 1", {"x": "1"}),
    ("assert $t", "assert x, 'm'", {"t": "x"}),
    ("if $t: ...", "if x:\n    pass\nelse:\n    y", {"t": "x"}),
    ("while $t: ...", "while x: y", {"t": "x"}),
    ("for $t in $it: ...", "for a, b in c:\n    d", {"t": "(a, b)", "it": "c"}),
    ("with torch.autocast($d): ...", "with open(f) as g, torch.autocast('cuda'):\n    y", {"d": "'cuda'"}),
    ("@triton.jit\ndef $k(*$_): ...", "@other\n@triton.jit\ndef kernel(a, b=1):\n    c", {"k": "kernel"}),
    ("class $c(torch.nn.Module): ...", "class A(B, torch.nn.Module, metaclass=M):\n    x = 1", {"c": "A"}),
]
HAS_NOT = [
    ("$x.item()", "loss.item(1)"),
    ("$x.item()", "item()"),
    ("$x.item(...)", "loss.item"),
    ("f($a)", "f(*a)"),
    ("f($a)", "f(a, b)"),
    ("f($a)", "f(a, b=c)"),
    ("f($a)", "f(a, **b)"),
    ("f($a, ...)", "f()"),
    ("f($a, ...)", "f(*a)"),
    ("f(..., key=$k)", "f(key)"),
    ("f(a := $a, ...)", "f(*a)"),
    ("f(a := $a, ...)", "f(b=1)"),
    ("f(a := $a)", "f(1, a=2)"),
    ("f(a := $a)", "f(a=2, b=1)"),
    ("f($x, a := $a)", "f(a=1)"),
    ("$x[:$k]", "a[0:3]"),
    ("$x[:$k]", "a[:3:2]"),
    ("f(..., key=True)", "f(key=1)"),
    ("f(..., key=0)", "f(key=False)"),
    ("[$a]", "[*a]"),
    ("[$a]", "[a, b]"),
    ("$x * torch.sigmoid($x)", "a * torch.sigmoid(b)"),
    ("$x * torch.sigmoid($x)", "a + torch.sigmoid(a)"),
    ("$a is None", "a is not None"),
    ("$a is None", "a is None is b"),
    ("$a < $b", "a < b < c"),
    ("$_ and $_", "a or b"),
    ("$x[0]", "a[0,]"),
    ("$x[$i, $j]", "a[i]"),
    ("[$e for $t in $it]", "(x for x in y)"),
    ("$x = f()", "a = b = f()"),
    ("$x += $v", "x -= v"),
    ("f();", "x = f()"),
    ("torch.cat", "torch.cut"),
    ("torch.cat", "x.torch.cat"),
    ('$x.to("cpu")', "x.to(f'cpu')"),
    ("for $t in $it: ...", "async for a in b: c"),
    ("with torch.autocast($d): ...", "with open(d): x"),
    ("@triton.jit\ndef $k(*$_): ...", "@other\ndef kernel(): pass"),
    ("class $c(torch.nn.Module): ...", "class A(B): x"),
]


def dotted(node: ast.expr) -> str | None:
    """A name as it is written, but for names of the program itself."""
    name = ast.unparse(node)
    return name if name.startswith(("torch.", "triton.")) or name in ("f", *vars(builtins)) else None


def read(code: str) -> tuple[ast.AST, Any]:
    """A piece of code for both libraries: an expression, or a statement."""
    statement = parsed(code).body[0]
    line: Any = libcst.parse_statement(code)
    small = line.body[0] if isinstance(line, libcst.SimpleStatementLine) else line
    return statement, small


def both(pattern: str, code: str) -> tuple[Match | None, Match | None]:
    """What the pattern catches of the code in `ast`, and in libcst."""
    one, other = read(code)
    if isinstance(one, ast.Expr) and not pattern.endswith(";"):
        one, other = one.value, other.value
    return plainly(pattern, one), in_tree(pattern, other, dotted)


def plainly(pattern: str, whole: ast.AST) -> Match | None:
    """The match of a whole, of which any part may be the place."""
    parents = {child: node for node in ast.walk(whole) for child in ast.iter_child_nodes(node)}
    found = (around(pattern, place, parents.get(place, whole), lambda: parents, dotted) for place in ast.walk(whole))
    return next((match for match in found if match is not None and match.whole is whole), None)


def texts(match: Match | None, language: Any) -> dict[str, str] | None:
    if match is None:
        return None
    return {name: part if isinstance(part, str) else language.written(part) for name, part in match.caught.items()}


@pytest.mark.parametrize(("pattern", "code"), HAS_NOT)
def test_what_has_another_shape_is_no_match(pattern: str, code: str) -> None:
    assert (None, None) == both(pattern, code)


@pytest.mark.parametrize(("pattern", "code", "caught"), HAS)
def test_what_has_the_shape_is_caught(pattern: str, code: str, caught: dict[str, str]) -> None:
    one, other = both(pattern, code)

    found = texts(one, on_ast)
    assert found is not None, "`ast` has not the shape"
    assert found == texts(other, on_libcst)
    assert caught.items() <= found.items()


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("$x.item(...)", ".item()"),
        ("$x.grad.zero_()", ".zero_()"),
        ("float(...)", "float()"),
        ("torch.float64", "torch.float64"),
        ("$x.data", ".data"),
        ("$f(...)", "call"),
        ("$x.$m(...)", "call"),
        ("$x.clone(...).detach()", ".detach()"),
        ("torch.zeros(...).to($d)", ".to()"),
        ("$x * torch.sigmoid($x)", "torch.sigmoid()"),
        ("torch.sigmoid($x) * $x", "torch.sigmoid()"),
        ("$x = torch.cat([torch.zeros(...), ...], ...)", "torch.cat()"),
        ("torch.mm(($here := torch.inverse($m)), $b)", "torch.inverse()"),
        ("torch.mm($here := torch.inverse($m), $b)", "torch.inverse()"),
        ("os.environ[$k] = $v", "os.environ"),
        ("@triton.jit\ndef $k(*$_): ...", "triton.jit"),
        ("class $c($here := torch.nn.DataParallel, ...): ...", "torch.nn.DataParallel"),
        ("for $x in $xs: ...", "for"),
        ("with torch.autocast(...): ...", "torch.autocast()"),
        ("$x -= $v", "augassign"),
        ("[$e for $t in $it]", "comprehension"),
        ("$x = {$k: $x.get($k, ...) + $v for $t in $it}", "assign"),
        ("torch.exp(...) - 1.0", "torch.exp()"),
    ],
)
def test_the_word_of_a_pattern_is_that_of_its_place(pattern: str, word: str) -> None:
    assert word == trigger(pattern)


def test_a_name_as_a_pattern_is_shown_the_same() -> None:
    names = [
        ".item()",
        "torch.cat()",
        "torch.float64",
        ".grad",
        "float()",
        "call",
        "subscript",
        "if",
        "while",
        "assert",
    ]
    for name in [*names, "ternary", "boolop", "comprehension", "assign"]:
        assert {name} == {trigger(pattern) for pattern in plain(name)}


@pytest.mark.parametrize("pattern", RULES)
def test_the_word_of_a_rules_pattern_stands_at_its_place(pattern: str) -> None:
    place, word = shape(pattern).place, trigger(pattern)

    assert not is_plain(pattern) or shape(pattern).bare, "no name says all of it"
    if isinstance(place, Named):
        assert word == place.dotted
    elif word.endswith("()"):
        assert isinstance(place, Node) and place.kind == "call"
        called = place.parts[0]
        assert word[:-2] == (called.dotted if isinstance(called, Named) else f".{called.parts[1]}")
    elif word.startswith("."):
        assert isinstance(place, Node) and (place.kind, place.parts[1]) == ("attribute", word[1:])
    else:
        assert place is shape(pattern).whole and word in KINDS.values(), "nothing of it has a name"


# Code of all kinds, and patterns made of it: some of its expressions are holes.
NAMES = st.sampled_from(["a", "b", "torch.cat", "torch.nn.functional.silu", "float", "self.x"])
LITERALS = st.sampled_from(["0", "1", "-1", "2.5", "True", "None", "'s'", "'s' 't'", "b'x'", "..."])


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        inner.map("({}).m()".format),
        inner.map("({})".format),
        pair.map(lambda two: "({}).m({}, k={})".format(*two, two[0])),
        pair.map(lambda two: "torch.cat([{}, *({})], dim=1)".format(*two)),
        pair.map(lambda two: "f({}, *a, {}, **b)".format(*two)),
        pair.map(lambda two: "({})[{}]".format(*two)),
        pair.map(lambda two: "({})[{}, 1:2]".format(*two)),
        pair.map(lambda two: "({}) * ({})".format(*two)),
        pair.map(lambda two: "({}) @ ({})".format(*two)),
        pair.map(lambda two: "({}) is not ({})".format(*two)),
        pair.map(lambda two: "({}) < ({}) < a".format(*two)),
        pair.map(lambda two: "({}) or ({}) or b".format(*two)),
        pair.map(lambda two: "({}, {})".format(*two)),
        pair.map(lambda two: "[{} for b in {} if b]".format(*two)),
        pair.map(lambda two: "f({} for b in {})".format(*two)),
        pair.map(lambda two: "(({}) if a else ({}))".format(*two)),
        inner.map("not ({})".format),
        inner.map("f(\n    ({}),  # a comment\n)".format),
        inner.map("(lambda b: {})".format),
    )


CODE = st.recursive(NAMES | LITERALS, grown, max_leaves=8)
PATTERNS = sorted({p for p in [*RULES, *(p for p, *_ in HAS), *(p for p, _ in HAS_NOT)] if not is_plain(p)})


def pairs(code: str) -> Iterator[tuple[ast.AST, Any]]:
    """The expressions of some code in both libraries, each parsed by itself."""
    for node in ast.walk(ast.parse(code, mode="eval")):
        if isinstance(node, ast.expr) and not isinstance(node, ast.Starred | ast.Slice | ast.FormattedValue):
            try:
                yield node, libcst.parse_expression(f"({ast.unparse(node)})")
            except libcst.ParserSyntaxError:
                continue


@settings(max_examples=40, deadline=None)
@given(CODE)
def test_ast_and_libcst_agree_on_any_code(code: str) -> None:
    for one, other in pairs(f"({code}\n)"):
        for pattern in PATTERNS:
            assert texts(plainly(pattern, one), on_ast) == texts(in_tree(pattern, other, dotted), on_libcst), pattern


@pytest.mark.parametrize("file", ["torchlint/program/steps.py", "rules/graph_kept_alive.py", "tests/test_pattern.py"])
def test_ast_and_libcst_agree_on_the_statements_of_this_repository(file: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    small = [n for n in ast.walk(parsed(text)) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    for node in small[:100]:
        one, other = read(ast.unparse(node))  # of `a, b = x, y` each assignment by itself
        for pattern in PATTERNS:
            found = plainly(pattern, one)
            assert texts(found, on_ast) == texts(in_tree(pattern, other, dotted), on_libcst), pattern
