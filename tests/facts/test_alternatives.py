"""What conditions say of names, and what calls give for those that they leave to callers."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import alternatives
from torchlint.facts.alternatives import Said
from torchlint.facts.module import Module


@pytest.mark.parametrize(
    ("test", "body", "said"),
    [
        ("self.train", "", set()),
        ("other", "", set()),
        ("train", "train = True", set()),
        ("train", "train = f()", set()),
        ("opt is not None", "opt = Adam()", set()),
        ("train", "", {("train", True, True)}),
        ("train", "train = False", {("train", True, True)}),
        ("not train", "", {("train", True, False)}),
        ("opt is not None", "", {("opt", None, False)}),
        ("mode == 'train'", "mode = 'test'", {("mode", "train", True)}),
        ("train and other", "", {("train", True, True)}),
        ("train or other", "", set()),
    ],
)
def test_what_is_left_to_callers(
    module_of: Callable[[str], Module], test: str, body: str, said: set[tuple[object, ...]]
) -> None:
    text = (
        f"def f(self, train, opt, mode):\n    {body or 'pass'}\n    for x in y:\n        if {test}:\n            go()\n"
    )
    function = module_of(text).top_functions["f"]
    (loop,) = (node for node in function.flow.nodes if isinstance(node, ast.For))
    (place,) = function.flow.calls_named("go")

    assert set(alternatives.left_to_callers(function, place, loop)) == {Said(*one) for one in said}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other", "excluded"),
    [
        (Said("a", True, True), Said("b", False, True), False),
        (Said("a", "x", True), Said("a", "x", True), False),
        (Said("a", "x", False), Said("a", "y", False), False),
        (Said("a", "x", True), Said("a", "y", True), True),
        (Said("a", True, True), Said("a", True, False), True),
        (Said("a", None, True), Said("a", True, True), True),
        (Said("a", None, False), Said("a", True, True), False),
    ],
)
def test_what_excludes_what(one: Said, other: Said, excluded: bool) -> None:
    assert one.excludes(other) is excluded
    assert other.excludes(one) is excluded
