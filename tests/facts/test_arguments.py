"""The arguments of a call, each of which is worked out when somebody asks for it."""

import ast

import pytest

from torchlint.facts.arguments import Arguments
from torchlint.facts.values import INTEGER, STR, Dict, Value


def arguments(call: str, read: list[str]) -> Arguments:
    """The arguments of a call in which `options` is a dictionary with `a` and `b`; `read` is told what is worked out."""
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)

    def value(expression: ast.expr) -> Value:
        read.append(ast.unparse(expression))
        return Dict(entries={"a": STR, "b": STR}) if read[-1] == "options" else INTEGER

    return Arguments.of(node, value)


@pytest.mark.parametrize(
    ("call", "wanted", "given", "read"),
    [
        ("f(1, **options)", "", None, []),
        ("f(a=1, **options)", "a", INTEGER, ["1"]),
        ("f(a=1, **options)", "b", STR, ["options"]),
        ("f(a=1, **options)", "c", None, ["options"]),
        ("f(**options)", "a", STR, ["options"]),
        ("f(**others, **options)", "a", STR, ["others", "options"]),
        ("f(c=1)", "a", None, []),
    ],
)
def test_what_stands_behind_two_stars_is_looked_at_for_names_that_are_not_written(
    call: str, wanted: str, given: Value | None, read: list[str]
) -> None:
    seen: list[str] = []
    args = arguments(call, seen)
    found = args.get(-1, wanted) if wanted else None
    assert (found, seen) == (given, read)


@pytest.mark.parametrize(
    ("call", "names"),
    [("f()", []), ("f(c=1)", ["c"]), ("f(c=1, **options)", ["c", "a", "b"]), ("f(b=1, **options)", ["b", "a"])],
)
def test_all_names_are_those_written_and_those_behind_two_stars(call: str, names: list[str]) -> None:
    args = arguments(call, [])
    assert list(args.keywords) == names
    assert len(args) == len(names)


def test_two_stars_may_bring_more_whether_or_not_they_are_looked_at() -> None:
    seen: list[str] = []
    assert arguments("f(**options)", seen).open
    assert not arguments("f(a=1)", seen).open
    assert seen == []
