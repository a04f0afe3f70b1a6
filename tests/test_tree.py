"""libcst nodes found by their bytes, and the edits made with them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar, cast

import libcst as cst
import pytest

from torchlint.fix.apply import apply
from torchlint.text.finding import Edit, Fix
from torchlint.text.normal_form import PairedAssign
from torchlint.text.source import Source, SourceError
from torchlint.text.tree import Tree

Node = TypeVar("Node", bound=ast.AST)
Statement = TypeVar("Statement", bound=ast.stmt)
Chain = tuple[ast.stmt, ...]

JOINED = (
    ast.Assign,
    ast.Attribute,
    ast.BinOp,
    ast.BoolOp,
    ast.Call,
    ast.Compare,
    ast.Constant,
    ast.For,
    ast.GeneratorExp,
    ast.If,
    ast.Subscript,
    ast.While,
    ast.With,
)


def tree(code: str | bytes) -> Tree:
    source = Source.of("a.py", code if isinstance(code, bytes) else code.encode())
    module = source.parse()
    return Tree(source, lambda: module)


def nodes(node: ast.AST, chain: Chain = ()) -> Iterator[tuple[ast.AST, Chain]]:
    """All nodes with the statements around them, innermost first; not what is in f-strings."""
    chain = (node, *chain) if isinstance(node, ast.stmt) else chain
    yield node, chain
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from nodes(child, chain)


def first(tree: Tree, kind: type[Node]) -> tuple[Node, Chain]:
    """The first node of a kind, from the top."""
    return next((node, chain) for node, chain in nodes(tree.module) if isinstance(node, kind))


def call(tree: Tree) -> cst.Call:
    node = tree.node(*first(tree, ast.Call))
    assert isinstance(node, cst.Call)
    return node


def statement(tree: Tree, line: int) -> ast.stmt:
    """The statement that starts in a line."""
    return next(node for node, _ in nodes(tree.module) if isinstance(node, ast.stmt) and node.lineno == line)


def edited(tree: Tree, *edits: Edit | None) -> str:
    """The file after the edits, which must leave it Python."""
    given = tuple(edit for edit in edits if edit is not None)
    assert len(given) == len(edits)
    data, _ = apply(tree.source, [Fix("", given, "safe")])
    ast.parse(data.decode())
    return data.decode()


def missed(tree: Tree) -> list[str]:
    """The nodes that join to no libcst node of the same text, or whose libcst node leads to another one."""
    source = tree.source
    wrong = []
    for node, chain in nodes(tree.module):
        if not isinstance(node, JOINED) or isinstance(node, PairedAssign) or not chain:
            continue
        start = source.offset(node.lineno, node.col_offset)
        end = source.offset(node.end_lineno or 0, node.end_col_offset or 0)
        try:
            found = tree.node(node, chain)
        except LookupError as error:
            wrong.append(f"{node.lineno}: {error}")
            continue
        lent = isinstance(found, cst.GeneratorExp) and not found.lpar  # the parentheses of the call it stands in
        expected = source.data[start + lent : end - lent].decode().strip()
        if expected != tree.code(found).strip() or tree.counterpart(found) is not node:
            wrong.append(f"{node.lineno}: {tree.code(found)}")
    return wrong


def test_the_linter_starts_without_libcst(tmp_path: Path) -> None:
    code = "import sys, torchlint.text.tree, torchlint.fix.apply; print('libcst' in sys.modules)"

    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert "False\n" == result.stdout


@pytest.mark.parametrize("kind", [ast.arguments, ast.comprehension, ast.Load, ast.withitem])
def test_parts_of_ast_without_a_place_have_no_node(kind: type[ast.AST]) -> None:
    read = tree("with a: [lambda x: x for x in y]\n")

    with pytest.raises(LookupError, match=f"no libcst node for ast.{kind.__name__}"):
        read.node(*first(read, kind))


def test_a_tuple_that_is_only_an_index_has_no_node() -> None:
    read = tree("y = x[a, b]\n")

    with pytest.raises(LookupError, match=r"no libcst node for ast.Tuple at \(1, 7\)"):
        read.node(*first(read, ast.Tuple))


def test_one_of_the_assignments_of_a_statement_stands_alone_and_has_no_node() -> None:
    read = tree("if x:\n    loss, (a, b) = (net(  # scores\n        x)), [1, 2]\n")
    found = [(node, chain) for node, chain in nodes(read.module) if isinstance(node, PairedAssign)]
    for node, chain in found:
        with pytest.raises(LookupError, match="it is not all that is assigned there"):
            read.node(node, chain)
        assert read.delete_statement(node) is None
    alone = [read.alone(node) for node, _ in found]
    codes = [cst.Module([cst.SimpleStatementLine([one])]).code for one in alone if isinstance(one, cst.Assign)]
    assert ["loss = net(x)", "a, b = [1, 2]"] == [ast.unparse(ast.parse(code)) for code in codes]
    calls = [(node, chain) for node, chain in nodes(read.module) if isinstance(node, ast.Call)]
    assert ["net(  # scores\n        x)"] == [read.code(read.node(*one)) for one in calls]


def test_inside_an_f_string_nothing_has_a_node() -> None:
    read = tree("print(f'{1}é{x.item():>{w}}', y.item())\n")
    (string, chain) = first(read, ast.JoinedStr)
    inner = next(node for node in ast.walk(string) if isinstance(node, ast.Call))

    assert "f'{1}é{x.item():>{w}}'" == read.code(read.node(string, chain))
    with pytest.raises(LookupError, match=r"what stands in an f-string has no node"):
        read.node(inner, chain)


def test_a_node_knows_the_places_of_all_nodes_below_it() -> None:
    read = tree("if a:\n    é = f(x, *b, k = (1 + 2))  # c\n")
    found = call(read)

    assert ["x", "*b", "k = (1 + 2)"] == [read.code(arg) for arg in found.args]
    assert "1 + 2" == read.code(found.args[2].value)
    assert "k" == read.code(cast(cst.Name, found.args[2].keyword))


def test_parentheses_belong_to_what_they_make_and_to_nothing_else() -> None:
    read = tree("y = ((a)), ((b, c)), (d for d in e), f(g for g in h)\n")
    _, chain = first(read, ast.Assign)
    value = cast(ast.Tuple, chain[0].value) if isinstance(chain[0], ast.Assign) else None
    assert value is not None

    codes = [read.code(read.node(one, chain)) for one in value.elts]

    assert ["a", "(b, c)", "(d for d in e)", "f(g for g in h)"] == codes


@pytest.mark.parametrize(
    "code",
    [
        "x.item()",
        "x.item()\n",
        "\ufeffx.item()\n",
        "if a:\r\n    b = x.item()\r\n    c()\r\n",
        "if a:\r    b = x.item()\r    c()\r",
        "if a:\n\tb = x.item()\n\tif b:\n\t\tc()\n",
        "\x0cdef f():\n    return x.item()\n\x0c\ndef g(): pass\n",
        "a = 1; b = x.item(); c = 'é'; d = y[0]\n",
        "for x in xs: y(x.item()); z()\n",
        "while x.item() > 0: x -= 1\n",
        "if a: b()\nelif c(d): e()\nelse: f()\n",
        "def f():\n    if a:\n        b\n    elif c(d) > 1:\n        e.f()\n    else:\n        g[0]\n",
        "y = 1 + \\\n  x.item()\n",
        "if a and \\\n  b():\n    c\n",
        "f(\n  x.item(),\ny[0]\n    )\n",
        "@a.b(c)\n\n# why\n@(d.e)\ndef f(x=g(1)) -> h[0]:\n    @i()\n    class C(j.k): pass\n",
        "class A:\n    @a.b()\n    async def f(self):\n        async with x.y() as z, w():\n            await v()\n",
        "async def f():\n    async for x in y(): return [z.a async for z in b()]\n",
        "match x.item():\n    case 1 if y.z(): a()\n    case {'b': c}:\n        d.e[0]\n",
        "with (a.b() as c, d()):\n    e()\n",
        "try: a()\nexcept b.c as d: e()\nelse: f()\nfinally: g()\n",
        "f = lambda x=a(): x.item() if y[0] else (yield)\n",
        "while (v := xs.item()) > 3: w = (v) + (1)\n",
        "x = f(a)(b)[c](d).e(f)\n",
        "x = a + b + c * (d - e) and f or g < h < i\n",
        "print(f'é{x.item()}', y.item(), 'a' 'b', f'''\n{z()}\n''', w())\n",
        "global a; a = b(); del a[0]; assert c(d), e.f\n",
        "x: a[int] = b(); y += c()\n",
        "f(*a(), **b(), c=d(e for e in f), g=(h for h in i))\n",
        "\\\nx.item()\n",
        "def f():\n        x()\n        # é\n   # less\n        y()\n",
    ],
)
def test_every_expression_and_statement_joins_to_its_libcst_node(code: str) -> None:
    assert [] == missed(tree(code))


def test_latin_1_joins_too() -> None:
    assert [] == missed(tree("# coding: latin-1\nif a:\n    é = 'éé'; x.item()\n".encode("latin-1")))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* is Python 3.11")
def test_exception_groups_join_too() -> None:
    assert [] == missed(tree("try:\n    a()\nexcept* b.c:\n    d()\n"))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are Python 3.12")
def test_type_parameters_join_too() -> None:
    assert [] == missed(tree("def f[T: a.b](x: c[T]):\n    print(f'{d['e']}')\ntype X = g[int]\n"))


def test_the_standard_library_joins() -> None:
    files = sorted(path for path in Path(ast.__file__).parent.glob("*.py") if path.stat().st_size < 20_000)
    assert len(files) > 50
    for path in files[::6]:
        try:
            read = tree(path.read_bytes())
        except SourceError:
            continue
        assert [] == missed(read), path.name


@pytest.mark.parametrize(
    "code",
    [
        "x = " + " + ".join(["a"] * 500),
        "x = " + " or ".join(["a"] * 20_000),
        "x = a" + ".b" * 500,
        "if a: pass\n" + "elif b: pass\n" * 500,
        "if a:\n"
        + "".join(f"{' ' * depth}if a:\n" for depth in range(1, 90))
        + " " * 90
        + "x = "
        + "(a, " * 120
        + ")" * 120,
    ],
    ids=["sum", "or", "attribute", "elif", "blocks"],
)
def test_nesting_that_would_crash_libcst_is_refused(code: str) -> None:
    read = tree(code + "\n")

    with pytest.raises(LookupError, match=r"no libcst node for ast.\w+ at \(1, 1\)"):
        read.node(read.module.body[0], read.module.body[:1])


def test_a_long_list_is_not_deep() -> None:
    read = tree("x = [" + "1, " * 2_000 + "]\n")

    assert 6_006 == len(read.code(read.node(read.module.body[0], read.module.body[:1])))


def test_a_statement_that_libcst_cannot_read_is_refused_and_its_parts_are_not() -> None:
    read = tree("if a:\n  \\\n  x.item()\n")

    assert "x.item()" == read.code(call(read))
    with pytest.raises(LookupError, match=r"no libcst node for ast.If at \(1, 1\)"):
        read.node(*first(read, ast.If))


def test_only_the_statement_is_parsed_and_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    parse = cst.parse_module

    def recorded(text: str) -> cst.Module:
        texts.append(text)
        return parse(text)

    monkeypatch.setattr(cst, "parse_module", recorded)
    read = tree("class A:\n  def f(self):\n    if a.b():\n      c()\n    elif d.e(): # f\n      g(1); h(\n2)\n")
    calls = [(node, chain) for node, chain in nodes(read.module) if isinstance(node, ast.Call)]

    found = [read.node(node, chain) for node, chain in calls]

    assert [
        "if 1:\n    if a.b():\n      pass\n",
        "c()",
        "if 1:\n    if 1: pass\n    elif d.e(): # f\n      pass\n",
        "g(1)",
        "h(\n2)",
    ] == texts
    assert found == [read.node(node, chain) for node, chain in calls]
    assert 5 == len(texts)


# Edits


def test_a_replacement_keeps_what_is_around_it() -> None:
    read = tree("x = (f( a ))  # é\r\n")

    assert "x = (g(\r\n))  # é\r\n" == edited(read, read.replace(call(read), "g(\n)"))


def test_a_word_keeps_apart_from_its_neighbours() -> None:
    read = tree("def g(): return(f)(a)if z else w\n")
    node = call(read)

    assert "def g(): return x + y if z else w\n" == edited(read, read.replace(node, "x + y"))
    assert "def g(): return(x)if z else w\n" == edited(read, read.replace(node, "(x)"))
    assert "def g(): return(f)(a).T if z else w\n" == edited(read, read.insert_after(node, ".T"))
    assert "def g(): return not(f)(a)if z else w\n" == edited(read, read.insert_before(node, "not"))


def test_code_goes_before_and_after_a_node() -> None:
    read = tree("x = f(a).b\n")
    node = call(read)

    assert "x = (f(a).c).b\n" == edited(read, read.insert_before(node, "("), read.insert_after(node, ".c)"))
    assert "x = f().b\n" == edited(read, read.delete(node.args[0]))


@pytest.mark.parametrize(
    ("code", "argument"),
    [
        ("f(**k)", "a=1"),
        ("f(a=2)", "a=1"),
        ("f(b=2)", "1"),
        ("f(*b)", "1"),
        ("f(x for x in y)", "a=1"),
    ],
)
def test_an_argument_that_would_be_wrong_is_not_added(code: str, argument: str) -> None:
    read = tree(code)

    assert read.add_argument(call(read), argument) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()", "f(a=1)"),
        ("f( )", "f(a=1 )"),
        ("f(  # c\n)", "f(a=1  # c\n)"),
        ("f(x)", "f(x, a=1)"),
        ("f(x == y)", "f(x == y, a=1)"),
        ("f(x, *y, b=2)", "f(x, *y, b=2, a=1)"),
        ("f(x,)", "f(x, a=1,)"),
        ("f((x for x in y))", "f((x for x in y), a=1)"),
        ("f(x,\n  y, z)", "f(x,\n  y, z, a=1)"),
        ("f(x,\n  y)", "f(x,\n  y,\n  a=1)"),
        ("f(x,\n  y,)", "f(x,\n  y,\n  a=1,)"),
        ("f(\n    x,  # é\n)", "f(\n    x,  # é\n    a=1,\n)"),
        ("f(\r\n\tx  # é\r\n)", "f(\r\n\tx,  # é\r\n\ta=1,\r\n)"),
        ("f(\n    x,\n    y\n)", "f(\n    x,\n    y,\n    a=1\n)"),
        ("f(\n    g(\n        x,\n    ),\n)", "f(\n    g(\n        x,\n    ),\n    a=1,\n)"),
        ("f(\n    x\n    , # c\n)", "f(\n    x\n    , # c\n    a=1,\n)"),
    ],
)
def test_an_argument_is_added_in_the_layout_of_the_call(before: str, after: str) -> None:
    read = tree(f"if x:\n    y = {before}\n")

    assert f"if x:\n    y = {after}\n".replace("\r", "") == edited(read, read.add_argument(call(read), "a=1")).replace(
        "\r", ""
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()", "f(a=1, b=2)"),
        ("f(x)", "f(x, a=1, b=2)"),
        ("f(x,\n  y)", "f(x,\n  y,\n  a=1,\n  b=2)"),
        ("f(\n    x\n)", "f(\n    x,\n    a=1,\n    b=2,\n)"),
        ("f(\n    x,\n    y,\n)", "f(\n    x,\n    y,\n    a=1,\n    b=2,\n)"),
    ],
)
def test_several_arguments_are_added_one_a_line_where_the_others_are(before: str, after: str) -> None:
    read = tree(before)

    assert after == edited(read, read.add_argument(call(read), "a=1", "b=2"))


def test_a_positional_argument_goes_after_positional_ones() -> None:
    read = tree("f(x)\n")

    assert "f(x, y)\n" == edited(read, read.add_argument(call(read), "y"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(DROP)", "f()"),
        ("f( DROP, )", "f()"),
        ("f(\n    DROP,\n)", "f()"),
        ("f(  # c\n    DROP,\n)", "f(  # c\n)"),
        ("f(DROP, x)", "f(x)"),
        ("f(x, DROP)", "f(x)"),
        ("f(x, DROP,)", "f(x,)"),
        ("f(x, DROP, y)", "f(x, y)"),
        ("f(x, a=DROP, *y)", "f(x, *y)"),
        ("f(x,\n  DROP)", "f(x)"),
        ("f(x, DROP,\n  y)", "f(x,\n  y)"),
        ("f(DROP,\n  y)", "f(\n  y)"),
        ("f(\n    x,  # é\n    DROP,\n    y,  # why\n)", "f(\n    x,  # é\n    y,  # why\n)"),
        ("f(\n    x,\n    DROP,  # why\n    y,\n)", "f(\n    x,\n    # why\n    y,\n)"),
        ("f(\n    x,  # é\n    DROP\n)", "f(\n    x,  # é\n)"),
        ("f(\n    x,  # é\n    DROP)", "f(\n    x,  # é\n    )"),
        ("f(\n    x,\n    DROP,\n    # why\n)", "f(\n    x,\n    # why\n)"),
        ("f(\n    x,\n    DROP(\n        1,\n    ),\n)", "f(\n    x,\n)"),
    ],
)
def test_an_argument_leaves_with_its_comma_and_its_line_but_not_with_a_comment(before: str, after: str) -> None:
    read = tree(f"y = {before}\n")
    node = call(read)
    (unwanted,) = (arg for arg in node.args if "DROP" in read.code(arg))

    assert f"y = {after}\n" == edited(read, read.remove_argument(node, unwanted))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(): pass\n", "@d()\ndef f(): pass\n"),
        ("class A:\n\tasync def f(self):\n\t\tpass\n", "class A:\n\t@d()\n\tasync def f(self):\n\t\tpass\n"),
        (
            "class A:\r\n    @b\r\n    # c\r\n    def f(): pass\r\n",
            "class A:\r\n    @b\r\n    # c\r\n    @d()\r\n    def f(): pass\r\n",
        ),
    ],
)
def test_a_decorator_goes_next_to_the_function(before: str, after: str) -> None:
    read = tree(before)
    function = next(node for node, _ in nodes(read.module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    assert after == edited(read, read.add_decorator(function, "@d()"))


@pytest.mark.parametrize("code", ["import torch.amp\n", "'doc'\nimport a\nimport torch.amp  # here\n"])
def test_an_import_that_is_there_is_not_added(code: str) -> None:
    assert () == tree(code).add_import("import torch.amp")


def test_an_import_further_down_comes_too_late() -> None:
    assert (Edit(0, 0, b"import torch.amp\n"),) == tree("x = 1\nimport torch.amp\n").add_import("import torch.amp")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "NEW\n"),
        ("# c\nx = 1\n", "# c\nNEW\nx = 1\n"),
        ("#!/bin/python\n\n@a\ndef f(): pass\n", "#!/bin/python\n\nNEW\n@a\ndef f(): pass\n"),
        ("'''doc'''\nx = 1\n", "'''doc'''\n\nNEW\nx = 1\n"),
        ("'doc'\nfrom __future__ import annotations\nx\n", "'doc'\nfrom __future__ import annotations\nNEW\nx\n"),
        (
            "import a\nfrom b import (\n    c,\n)  # d\nx\nimport e\n",
            "import a\nfrom b import (\n    c,\n)  # d\nNEW\nx\nimport e\n",
        ),
        ("import a; x = (1,\n2)\ny\n", "import a; x = (1,\n2)\nNEW\ny\n"),
        ("import a", "import a\nNEW"),
        ("import a\r\nif b:\r\n    import c\r\n", "import a\r\nNEW\r\nif b:\r\n    import c\r\n"),
        ("def f():\n    import torch.amp\n", "NEW\ndef f():\n    import torch.amp\n"),
    ],
)
def test_an_import_goes_below_the_first_imports(before: str, after: str) -> None:
    read = tree(before)

    assert after.replace("NEW", "import torch.amp") == edited(read, *read.add_import("import torch.amp"))


@pytest.mark.parametrize(
    ("code", "line"),
    [("if x:\n    a; b\n", 2), ("if x: a\n", 1), ("a; b = (\n1)\n", 1), ("x = 1 ;\\\n  y\n", 2)],
)
def test_a_statement_that_shares_its_line_is_not_deleted(code: str, line: int) -> None:
    read = tree(code)
    inner = [node for node, _ in nodes(read.module) if isinstance(node, ast.Expr | ast.Assign) and node.lineno == line]

    assert read.delete_statement(inner[0]) is None


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("a\nb  # c\nd\n", "a\nd\n", 2),
        ("a\nb", "a\n", 2),
        ("a\n", "", 1),
        ("if x:\r\n    f(\r\n    );\r\n    b\r\n", "if x:\r\n    b\r\n", 2),
        ("if x:\n    a  # c\n", "if x:\n    pass  # c\n", 2),
        ("if x:\n    a\nelse:\n    b\n", "if x:\n    a\nelse:\n    pass\n", 4),
        ("try:\n    a\nexcept b:\n    c\n", "try:\n    a\nexcept b:\n    pass\n", 4),
        ("match x:\n    case 1:\n        y\n", "match x:\n    case 1:\n        pass\n", 3),
        ("class A:\n    @d\n    def f(self):\n        pass\n    x = 1\n", "class A:\n    x = 1\n", 3),
    ],
)
def test_a_statement_is_deleted_with_its_line(before: str, after: str, line: int) -> None:
    read = tree(before)

    assert after == edited(read, read.delete_statement(statement(read, line)))


def test_code_is_indented_like_a_line() -> None:
    read = tree("if x:\n\t  y\n")

    assert "\t  a:\n\n\t      b\n" == read.indent("a:\n\n    b\n", 2)
