"""Trees have one form for what may be written in several ways."""

from __future__ import annotations

import ast

import pytest

from torchlint.text.normal_form import AnnotatedAssign
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
