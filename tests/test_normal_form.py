"""Trees have one form for what may be written in several ways."""

from __future__ import annotations

import ast

import pytest

from torchlint.text.normal_form import AnnotatedAssign, PairedAssign
from torchlint.text.source import parsed


def found(code: str) -> list[str]:
    """The statements of a text that are such assignments."""
    return [ast.unparse(node) for node in ast.walk(parsed(code)) if isinstance(node, AnnotatedAssign)]


@pytest.mark.parametrize(
    "code",
    [
        "class Options:\n    size: int = 3\n",
        "class Options:\n    if new:\n        size: int = 3\n",
        "class Options:\n    class Inner:\n        size: int = 3\n",
        "class Options:\n    try:\n        size: int = 3\n    except E:\n        size: int = 4\n",
        "size: int\n",
        "def f():\n    size: int\n    size = 3\n",
        "if size: x = 3\n",
        "x = {size: y == 3}\n",
    ],
)
def test_what_is_none(code: str) -> None:
    assert [] == found(code)


@pytest.mark.parametrize(
    "code",
    [
        "size: int = 3",
        "self.size: list[int] = []",
        "sizes[0]: int = 3",
        "(size): int = 3",
        "sizes['a']: 'int' = f()",
    ],
)
def test_what_is_one(code: str) -> None:
    assert [code] == found(f"def f(self):\n    {code}\n")
    assert [code] == found(f"class A:\n    def f(self):\n        with a:\n            {code}\n")
    assert [code] == found(f"def f(self):\n    try:\n        pass\n    except E:\n        {code}\n")
    assert [code] == found(f"def f(self):\n    match a:\n        case 1:\n            {code}\n")


def test_it_is_both_and_stands_where_it_stood() -> None:
    code = "\n\nsize : int = max(1,\n           2)\n"
    one, other = parsed(code).body[0], ast.parse(code).body[0]
    assert isinstance(one, ast.Assign) and isinstance(one, ast.AnnAssign) and isinstance(other, ast.AnnAssign)
    assert [ast.dump(target) for target in one.targets] == [ast.dump(one.target)] == [ast.dump(other.target)]
    assert ast.dump(one.annotation) == ast.dump(other.annotation) and ast.dump(one.value) == "".join(
        ast.dump(value) for value in [other.value] if value
    )
    place = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    assert [getattr(one, name) for name in place] == [getattr(other, name) for name in place]
    assert ast.unparse(one) == ast.unparse(other)


def paired(code: str) -> list[str]:
    """The assignments of a text that are one of several in a statement."""
    return [ast.unparse(node) for node in ast.walk(parsed(code)) if isinstance(node, PairedAssign)]


@pytest.mark.parametrize(
    "code",
    [
        "a, b = b, a",
        "x, y = y.cuda(), x.cuda()",
        "start, rest = rest[0], start",
        "low, high = 0, low + n",
        "self.net, self.width = Net(), self.net.width",
        "self.size, out = 3, self.run()",
        "x[i], i = 0, x[0]",
        "first, *rest = f(), g()",
        "x, y = *pair, 3",
        "x, y = pair",
        "x, y = f(), g(), h()",
        "both = x, y = f(), g()",
        "x, = f(),",
        "[x] = [f()]",
        "x = f(), g()",
    ],
)
def test_what_is_made_of_what_is_bound_before_stays_one_assignment(code: str) -> None:
    assert [] == paired(f"def f(self):\n    {code}\n")


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("x, y = x.cuda(), y.cuda()", ["x = x.cuda()", "y = y.cuda()"]),
        ("loss, count = f(x), 0", ["loss = f(x)", "count = 0"]),
        ("(a, b) = [f(), g()]", ["a = f()", "b = g()"]),
        ("[a, b] = f(), g()", ["a = f()", "b = g()"]),
        ("self.a, self.b = f(), g()", ["self.a = f()", "self.b = g()"]),
        ("i, x[i] = 0, 1", ["i = 0", "x[i] = 1"]),
        ("(a, b), c = f(), g()", ["a, b = f()", "c = g()"]),
        ("a, b, c = 1, b, c", ["a = 1", "b = b", "c = c"]),
        ("a, b = (\n        f(),\n        g(),\n    )", ["a = f()", "b = g()"]),
    ],
)
def test_what_takes_several_things_is_several_assignments(code: str, parts: list[str]) -> None:
    for around in (
        f"{code}\n",
        f"class A:\n    {code}\n",
        f"def f(self):\n    {code}\n    return x\n",
        f"def f(self):\n    y = 3; {code}; z = 4\n",
        f"def f(self):\n    try:\n        pass\n    except E:\n        {code}\n",
    ):
        assert parts == paired(around)


def test_each_stands_where_the_statement_stood_and_keeps_its_parts() -> None:
    code = "n = 0\nx, y = (f(n),\n        g(n))\nprint(x)\n"
    one, other = parsed(code).body, ast.parse(code).body
    first, last, whole = one[1], one[2], other[1]
    assert isinstance(first, ast.Assign) and isinstance(last, ast.Assign) and isinstance(whole, ast.Assign)
    place = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    for part in (first, last):
        assert [getattr(part, name) for name in place] == [getattr(whole, name) for name in place]
    assert isinstance(whole.targets[0], ast.Tuple) and isinstance(whole.value, ast.Tuple)
    for part, target, value in zip((first, last), whole.targets[0].elts, whole.value.elts, strict=True):
        for mine, its in ((part.targets[0], target), (part.value, value)):
            assert ast.dump(mine, include_attributes=True) == ast.dump(its, include_attributes=True)
    assert ["n = 0", "x = f(n)", "y = g(n)", "print(x)"] == [ast.unparse(statement) for statement in one]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "code",
    [
        "@f(0 < x)\ndef g(): pass",
        "def g(y=0 < x): pass",
        'a = """b\nc""" == x',
        "a = 'b'   == x",
        "a = [\n    1,\n    None == x,\n]",
        "a = b < c\n\n\nd = {1: 2, 3: -1 <= x}",
        "with f(x) as y:\n    try:\n        pass\n    except E:\n        z = lambda a: True != a",
        "match a:\n    case b if 3 > b:\n        pass",
        "for x in y: a = f(b=[c for c in d if 0 < c])",
    ],
)
def test_a_literal_is_put_last_wherever_it_stands(code: str, line_end: str) -> None:
    def literals(tree: ast.AST) -> list[bool]:
        return [
            isinstance(one.left, ast.Constant | ast.UnaryOp) for one in ast.walk(tree) if isinstance(one, ast.Compare)
        ]

    text = code.replace("\n", line_end)
    assert any(literals(ast.parse(text)))
    assert not any(literals(parsed(text)))


THROUGH = (
    "{begun}\nwhile True:\n    try:\n        x = next({it})\n    except StopIteration:\n        {left}\n    {body}\n"
)


def unparsed(code: str) -> str:
    return ast.unparse(parsed(code))


@pytest.mark.parametrize(
    "code",
    [
        # It is begun anew, so that it does not end.
        "it = iter(rows)\nwhile True:\n    try:\n        x = next(it)\n    except StopIteration:\n        it = iter(rows)\n        x = next(it)\n    f(x)",
        THROUGH.format(begun="it = iter(rows)", it="it", left="break", body="if f(x): it = iter(rows)"),
        THROUGH.format(begun="", it="self.it", left="break", body="self.it = f(x)"),
        THROUGH.format(begun="", it="iter(rows)", left="break", body="f(x)"),
        # The loop goes on, or something else ends it as well.
        THROUGH.format(begun="", it="it", left="continue", body="f(x)"),
        THROUGH.format(begun="", it="it", left="pass", body="f(x)"),
        THROUGH.format(begun="", it="it", left="raise", body="f(x)"),
        THROUGH.format(begun="", it="it", left="if y: continue\n        break", body="f(x)"),
        THROUGH.format(begun="", it="it", left="break", body="f(x)").replace("while True", "while more"),
        THROUGH.format(begun="", it="it", left="break", body="f(x)").replace("StopIteration", "Exception"),
        THROUGH.format(begun="", it="it", left="break", body="f(x)").replace("next(it)", "next(it, None)"),
        THROUGH.format(begun="", it="it", left="break", body="f(x)").replace("x = next", "y = 3\n        x = next"),
        "while True:\n    try:\n        x = next(it)\n    except StopIteration:\n        break\n    finally:\n        f(x)",
        "try:\n    while True:\n        f(next(it))\nexcept StopIteration:\n    pass",
        "try:\n    while True:\n        x = next(it)\nexcept StopIteration:\n    f(x)",
        "while True:\n    x = next(it, None)\n    if y is None:\n        break",
        "while (x := next(it, 0)) is not None:\n    f(x)",
        "while (x := f(it, None)) is not None:\n    g(next(x))",
        "while x := next(it, None):\n    f(x)",
    ],
)
def test_what_goes_through_no_iterator_to_its_end_stays(code: str) -> None:
    assert unparsed(code) == ast.unparse(ast.parse(code))


def through(*lines: str) -> str:
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            THROUGH.format(begun="it = iter(f(rows))", it="it", left="break", body="f(x)"),
            through("for x in f(rows):", "    f(x)"),
        ),
        (
            THROUGH.format(begun="it = iter(a.rows)\nn = 0", it="it", left="break", body="f(x)"),
            through("it = iter(a.rows)", "n = 0", "for x in a.rows:", "    f(x)"),
        ),
        (
            THROUGH.format(begun="it = iter(a.rows)\na = n", it="it", left="break", body="f(x)"),
            through("it = iter(a.rows)", "a = n", "for x in it:", "    f(x)"),
        ),
        (
            THROUGH.format(begun="it = iter(f(rows))\nn = 0", it="it", left="break", body="f(x)"),
            through("it = iter(f(rows))", "n = 0", "for x in it:", "    f(x)"),
        ),
        (
            THROUGH.format(begun="it = iter(rows)", it="it", left="break", body="f(x, next(it))"),
            through("it = iter(rows)", "for x in it:", "    f(x, next(it))"),
        ),
        (
            THROUGH.format(begun="", it="self.it", left="g()\n        break", body="if f(x): continue"),
            through("for x in self.it:", "    if f(x):", "        continue", "else:", "    g()"),
        ),
        (
            THROUGH.format(begun="", it="it", left="return y", body="f(x)").replace(
                "x = next(it)", "x = it.__next__()"
            ),
            through("for x in it:", "    f(x)", "else:", "    return y"),
        ),
        (
            "it = iter(rows)\ntry:\n    while True:\n        x, y = next(it)\n        f(x)\nexcept StopIteration:\n    pass",
            through("for x, y in rows:", "    f(x)"),
        ),
        (
            "it = iter(rows)\nwhile True:\n    x = next(it, None)\n    if x is None:\n        break\n    f(x)",
            through("for x in rows:", "    f(x)"),
        ),
        (
            "it = iter(rows)\nwith y:\n    while True:\n        x = next(it, None)\n        if x is None:\n            return\n        f(x)",
            through("it = iter(rows)", "with y:", "    for x in rows:", "        f(x)", "    else:", "        return"),
        ),
        (
            "it = iter(rows)\nfor y in z:\n    while (x := next(it, None)) is not None:\n        f(x)",
            through("it = iter(rows)", "for y in z:", "    for x in it:", "        f(x)"),
        ),
        ("while (x := next(it, None)) is not None:\n    f(x)", through("for x in it:", "    f(x)")),
        (
            "while True:\n    try:\n        x = next(it)\n        y = x[0]\n    except StopIteration:\n        break\n    else:\n        f(x)\n    g(y)",
            through("for x in it:", "    y = x[0]", "    f(x)", "    g(y)"),
        ),
    ],
)
def test_what_goes_through_an_iterator_to_its_end_is_a_for_loop(code: str, expected: str) -> None:
    def inner(code: str, around: str) -> str:
        return around + "".join(f"\n    {line}" for line in code.strip("\n").splitlines())

    assert unparsed(code) == expected
    for around in ("def f():", "while y:", "with y:", "match y:\n  case [1]:", "try:\n    pass\nexcept E:"):
        assert unparsed(inner(code, around)) == ast.unparse(ast.parse(inner(expected, around)))


def test_a_loop_begins_where_its_iterator_does() -> None:
    lines = (
        "it = iter(rows)",
        "while True:",
        "    try:",
        "        x = next(it)",
        "    except StopIteration:",
        "        break",
    )
    beside, apart = (parsed("\n".join(code)).body[-1] for code in (lines, (lines[0], "n = 0", *lines[1:])))

    assert isinstance(beside, ast.For) and isinstance(apart, ast.For)
    assert (beside.lineno, beside.end_lineno, beside.iter.lineno, beside.iter.col_offset) == (1, 6, 1, 10)
    assert (apart.lineno, apart.end_lineno, apart.iter.lineno, apart.iter.col_offset) == (3, 7, 5, 17)


APPLIED = """
class Pool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, boxes, size=7, *rest):
        return x
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (APPLIED + "pool = Pool.apply", "def pool(x, boxes, size=7, *rest):\n    return Pool.apply(x, boxes, size, *rest)"),
        (APPLIED.replace("boxes, size=7, *rest", "*, scale=2") + "pool = Pool.apply", "def pool(x):\n    return Pool.apply(x)"),
        (APPLIED.replace("torch.autograd.", "") + "pool = Pool.apply", "def pool(x, boxes, size=7, *rest):\n    return Pool.apply(x, boxes, size, *rest)"),
        # Whether it is one of autograd, which `forward` it has and what the name stands for has to be seen.
        (APPLIED + "pool = Pool.apply\npool = jit(pool)", "pool = jit(pool)"),
        (APPLIED + "pool = Other.apply", "pool = Other.apply"),
        (APPLIED + "pool = Pool.apply(x)", "pool = Pool.apply(x)"),
        (APPLIED + "if fast:\n    pool = Pool.apply", "if fast:\n    pool = Pool.apply"),
        (APPLIED + "ops.pool = Pool.apply", "ops.pool = Pool.apply"),
        (APPLIED.replace("    @staticmethod\n", "") + "pool = Pool.apply", "pool = Pool.apply"),
        (APPLIED.replace("(torch.autograd.Function)", "(nn.Module)") + "pool = Pool.apply  # a Function", "pool = Pool.apply"),
        (APPLIED.replace("ctx, x, boxes, size=7, ", "") + "pool = Pool.apply", "pool = Pool.apply"),
        (APPLIED + APPLIED + "pool = Pool.apply", "pool = Pool.apply"),
    ],
)  # fmt: skip
def test_a_name_for_what_runs_a_function_of_autograd_is_a_function(code: str, expected: str) -> None:
    assert ast.unparse(parsed(code).body[-1]) == expected


def test_such_a_function_stands_where_the_name_is_bound() -> None:
    made = parsed(APPLIED + "pool = Pool.apply\n").body[-1]
    assert {
        (node.lineno, node.end_lineno) for node in ast.walk(made) if isinstance(node, ast.stmt | ast.expr | ast.arg)
    } == {(6, 6)}


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        ('case "a":\n  f()', "if x.kind == 'a':\n    f()"),
        ('case "a" | "b" if y:\n  f()', "if (x.kind == 'a' or x.kind == 'b') and y:\n    f()"),
        ("case None:\n  f()\n case _:\n  g()", "if x.kind is None:\n    f()\nelse:\n    g()"),
        (
            "case list():\n  f()\n case K.A:\n  g()",
            "if isinstance(x.kind, list):\n    f()\nelif x.kind == K.A:\n    g()",
        ),
        (
            "case T() as t:\n  f(t)\n case o:\n  g(o)",
            "if isinstance(x.kind, T):\n    t = x.kind\n    f(t)\nelse:\n    o = x.kind\n    g(o)",
        ),
    ],
)
def test_a_match_that_compares_alone_is_an_if(cases: str, expected: str) -> None:
    code = f"match x.kind:\n {cases}\n"
    whole = parsed(code)
    (one,) = whole.body
    assert expected == ast.unparse(one)
    assert (1, 0, code.count("\n")) == (one.lineno, one.col_offset, one.end_lineno)
    for node in ast.walk(whole):
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.expr | ast.stmt) and isinstance(child, ast.expr | ast.stmt):
                assert (node.lineno, node.col_offset) <= (child.lineno, child.col_offset)
                assert (child.end_lineno or 0) <= (node.end_lineno or 0)


@pytest.mark.parametrize(
    "code",
    [
        "match f():\n    case 'a':\n        pass",
        "match x:\n    case [a, b]:\n        pass",
        "match x:\n    case T(n=1):\n        pass",
        "match x:\n    case 'a':\n        pass\n    case {'k': v}:\n        pass",
        "match x:\n    case T() as t if t:\n        pass",
        "match x:\n    case y:\n        pass",
    ],
)
def test_a_match_that_takes_things_apart_stays_one(code: str) -> None:
    assert code == ast.unparse(parsed(code))
