"""Lines that fixes have made too long are broken inside of brackets, and mean the same."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.fix.apply import edited
from torchlint.fix.folding import folded, too_long
from torchlint.fix.line_length import line_length
from torchlint.fix.run import fix_files
from torchlint.settings.config import Settings
from torchlint.text.source import Source


def broken(code: str, limit: int) -> str:
    source = Source.of("a.py", code.encode())
    lines = [number for number, line in enumerate(code.splitlines(), 1) if len(line) > limit]
    after = edited(source, folded(source, lines, limit))
    assert after is not None
    return after.data.decode()


@pytest.mark.parametrize(
    "code",
    [
        "x = 'a very long text that nobody may break'\n",
        "with a_context_without_any_brackets as name: pass\n",
        "x = f'{call(the_first, the_second, the_third_one)}'\n",
        "from package_of_a_name import something_that_is_long\n",
        "x = lambda: f(the_first, the_second_one)  # noqa: E731\n",
        "x = f(the_first, the_second_one)  # type: ignore\n",
    ],
)
def test_what_has_no_place_to_break_stays(code: str) -> None:
    assert code == broken(code, 30)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = f(the_first, the_second_one)\n", "x = f(\n    the_first, the_second_one\n)\n"),
        ("if c:\n    return f(the_first, second)\n", "if c:\n    return f(\n        the_first, second\n    )\n"),
        ("x = f(1).g(the_first, the_second)\n", "x = f(1).g(\n    the_first, the_second\n)\n"),
        ("f(the_first_one, the_second, third)\n", "f(\n    the_first_one,\n    the_second,\n    third,\n)\n"),
        ("f(the_first_one, the_second, third,)\n", "f(\n    the_first_one,\n    the_second,\n    third,\n)\n"),
        ("x = f(the_first, second_one)[0]\n", "x = f(\n    the_first, second_one\n)[0]\n"),
        ("x = [the_first, the_second_one]  # c\n", "x = [\n    the_first, the_second_one\n]  # c\n"),
        ("value = something.and_some.third\n", "value = (\n    something.and_some.third\n)\n"),
        (
            "\treturn_it(the_first, the_secon)\n".replace("\t", "if x:\n\t"),
            "if x:\n\treturn_it(\n\t    the_first, the_secon\n\t)\n",
        ),
        (
            "f(\n    g(the_first, one), g(second, two), k=3  # c\n)\n",
            "f(\n    g(the_first, one),\n    g(second, two),\n    k=3  # c\n)\n",
        ),
        ("f(a,\n  g(the_first_one, two), the_second)\n", "f(a,\n  g(\n      the_first_one, two\n  ), the_second)\n"),
        (
            "x = f(size.shape[0], the_second, third)\n",
            "x = f(\n    size.shape[0],\n    the_second,\n    third,\n)\n",
        ),
        (
            "x = {k: v.to(some) for k, v in some_items if k}\n",
            "x = {\n    k: v.to(some)\n    for k, v in some_items\n    if k\n}\n",
        ),
        (
            "async def f():\n    x = [the_1 async for the_1 in y]\n",
            "async def f():\n    x = [\n        the_1\n        async for the_1 in y\n    ]\n",
        ),
        (
            "f(\n    [a for a in b], key_of, *(c for c in d)\n)\n",
            "f(\n    [a for a in b],\n    key_of,\n    *(c for c in d)\n)\n",
        ),
        (
            "f(\n    the_first for the_first in the_y\n)\n",
            "f(\n    the_first\n    for the_first in the_y\n)\n",
        ),
        ("x, y = x.to(a, k=1), y.to(bb, k=1)\n", "x, y = (\n    x.to(a, k=1),\n    y.to(bb, k=1),\n)\n"),
        ("x = (the_first_one), (the_second),\n", "x = (\n    (the_first_one),\n    (the_second),\n)\n"),
        ("x = (the_first_one, (second_1))\n", "x = (\n    the_first_one, (second_1)\n)\n"),
        ("value = something.and_some  # why\n", "value = (\n    something.and_some\n)  # why\n"),
        ("x = the_first, the_second  # why it\n", "x = (\n    the_first,\n    the_second,\n)  # why it\n"),
        ("f(lambda one, b: (0, 1), the_third)\n", "f(\n    lambda one, b: (0, 1),\n    the_third,\n)\n"),
        (
            "x = f([[0, 1],\n       [2, 3]], the_first_=1, k=2)\n",
            "x = f([[0, 1],\n       [2, 3]],\n       the_first_=1, k=2)\n",
        ),
        ("été = fonction(première, deuxième)\n", "été = fonction(\n    première, deuxième\n)\n"),
    ],
)
def test_a_line_is_broken_at_its_outermost_brackets(code: str, expected: str) -> None:
    assert expected == broken(code, 30)
    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(expected))


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "x[0]", "'(,)'", "f'{a, b}'", "a.b", "-1", "(lambda: 0)", "(a, )", "{a: b}"]),
    lambda parts: st.lists(parts, min_size=1, max_size=4).flatmap(
        lambda some: st.sampled_from(
            [
                f"f({', '.join(some)})",
                f"[{','.join(some)} ]",
                f"({' + '.join(some)})",
                f"g.h( {some[0]} , ).i({some[-1]})",
                f"[{some[0]} for a, b in {some[-1]} if a]",
                f"{{a: {some[0]} for a, b in c for b in {some[-1]}}}",
                f"f({some[0]}, lambda a, b=({some[-1]}): {some[0]})",
            ]
        )
    ),
    max_leaves=12,
)


@given(
    EXPRESSIONS,
    st.sampled_from(
        [
            "x = {}",
            "return_({})",
            "if x: y = {}",
            "for a in {}: pass",
            "x += {}  # c",
            "x = {}, b",
            "x = ({}), b[0],  # c",
            "f(\n {0},\n  {0}, a)",
        ]
    ),
)
def test_whatever_is_broken_means_the_same(expression: str, statement: str) -> None:
    code = statement.format(expression) + "\n"

    after = broken(code, 20)

    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(after))
    assert code.count("#") == after.count("#")


def test_a_line_that_was_too_long_before_may_stay_so() -> None:
    before, after = (Source.of("a.py", f"x\n{'y' * n}\nz\n".encode()) for n in (40, 44))

    assert [] == too_long(before, after, 30)
    assert [2] == too_long(Source.of("a.py", b"x\ny\nz\n"), after, 30)


# The project's limit


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("ruff.toml", "line-length = 60", 60),
        (".ruff.toml", "line-length = 61", 61),
        ("ruff.toml", "[lint]", 88),
        ("pyproject.toml", "[tool.ruff]\nline-length = 62\n[tool.black]\nline-length = 70", 62),
        ("pyproject.toml", "[tool.ruff.lint]", 88),
        ("pyproject.toml", "[tool.black]\nline_length = 63", 63),
        ("pyproject.toml", "[tool.black]", 88),
        ("pyproject.toml", "[project]\nname = 'x'", 99),
        ("pyproject.toml", "[tool.ruff]\nline-length = 'long'", 88),
        ("pyproject.toml", "[tool.ruff]\nextend = '../base.toml'", 77),
        ("pyproject.toml", "[tool.ruff]\nextend = 'pyproject.toml'", 88),
        ("pyproject.toml", "not toml", 99),
        (".flake8", "[flake8]\nmax-line-length = 64", 64),
        ("setup.cfg", "[metadata]\nname = x\n[flake8]\nignore =\n    # why\n    W503,\nmax-line-length=65", 65),
        ("tox.ini", "[pycodestyle]\nmax_line_length = 66", 66),
        ("setup.cfg", "[flake8]\nmax-line-length = 67\nextend-ignore = E203, E501", 99),
        ("setup.cfg", "[flake8]\nmax-line-length = many", 99),
        ("setup.cfg", "no settings", 99),
    ],
)
def test_the_nearest_formatter_says_how_long_a_line_is(tmp_path: Path, file: str, text: str, expected: int) -> None:
    (tmp_path / "ruff.toml").write_text("line-length = 99")
    (tmp_path / "base.toml").write_text("line-length = 77")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / file).write_text(text)

    assert expected == line_length(str(tmp_path / "package" / "sub" / "a.py"))


def fixed(folder: Path, code: str) -> str:
    (folder / "model.py").write_text(code)
    rules = frozenset(("TL910",))
    fix_files([folder / "model.py"], Settings(rules, fixable=rules, root=folder, preview=True), unsafe=True, write=True)
    return (folder / "model.py").read_text()


def test_what_is_said_to_other_tools_stays_on_its_line_and_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "ruff.toml").write_text("line-length = 70")
    code = "import torch\nx = f(lambda: torch.FloatTensor([0.1]))  # noqa: E731 for now\n"

    new = 'x = f(lambda: torch.tensor([0.1], dtype=torch.float32, device="cpu"))  # noqa: E731 for now'
    assert new == fixed(tmp_path, code).splitlines()[1]
    (tmp_path / "ruff.toml").write_text("line-length = 60")
    assert code == fixed(tmp_path, code)


@pytest.mark.parametrize(
    ("comment", "is_let_be"),
    [
        ("# noqa: E5010", False),
        ("# noqa: TL402", False),
        ("# noqa: E731 not E501", False),
        ("# type: ignore", False),
        ("# pylint: disable=invalid-name", False),
        ("# fmt: skip", False),
        ("# noqa:E501", True),
        ("# noqa: E731, E501 for now", True),
        ("# type: ignore # noqa : e501", True),
        ("# pylint: disable=invalid-name, line-too-long", True),
        ("# pylint:disable=C0301", True),
    ],
)
def test_a_line_that_may_be_long_is_fixed(tmp_path: Path, comment: str, is_let_be: bool) -> None:
    (tmp_path / "ruff.toml").write_text("line-length = 60")
    code = f"import torch\nx = f(lambda: torch.FloatTensor([0.1]))  {comment}\n"

    new = f'import torch\nx = f(lambda: torch.tensor([0.1], dtype=torch.float32, device="cpu"))  {comment}\n'
    assert (new if is_let_be else code) == fixed(tmp_path, code)


@pytest.mark.parametrize(("comment", "lines"), [("# noqa", []), ("# NOQA # why", []), ("# noqas", [2]), ("#", [2])])
def test_a_bare_noqa_lets_a_line_be_long(comment: str, lines: list[int]) -> None:
    before, after = (Source.of("a.py", f"x = 1\n{code}  {comment}\n".encode()) for code in ("f(x)", "f(x, device=y)"))

    assert lines == too_long(before, after, 12)


def test_a_fix_that_is_withheld_is_left_as_a_suggestion_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "ruff.toml").write_text("line-length = 60")
    (tmp_path / "model.py").write_text("import torch\nx = f(torch.FloatTensor([0.1]))  # type: ignore\n")
    rules = frozenset(("TL910",))
    settings = Settings(rules, fixable=rules, root=tmp_path, preview=True)

    [found] = fix_files([tmp_path / "model.py"], settings, unsafe=False, write=True).result.findings

    assert found.fix is not None
    assert ("suggestion", "it would make a line too long that has no place to break") == (
        found.fix.applicability,
        found.fix.note,
    )


def test_a_fix_keeps_to_the_limit_of_the_project(tmp_path: Path) -> None:
    code = "import torch\n\nweights_of_all_classes = torch.FloatTensor([0.1, 0.2])\n"
    (tmp_path / "ruff.toml").write_text("line-length = 60")

    lines = fixed(tmp_path, code).splitlines()

    assert "weights_of_all_classes = torch.tensor(" == lines[2]
    assert all(len(line) <= 60 for line in lines)
    (tmp_path / "ruff.toml").write_text("line-length = 200")
    assert 3 == len(fixed(tmp_path, code).splitlines())
