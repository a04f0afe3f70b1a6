"""What conditions say of names, and what calls give for those that they leave to callers."""

from __future__ import annotations

import ast
import math
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
        ("on", "on = mode == 'train'", {("mode", "train", True)}),
        ("not on", "on = mode != 'train'", {("mode", "train", True)}),
        ("on", "on = not train", {("train", True, False)}),
        ("on", "on = train and opt is not None", {("train", True, True), ("opt", None, False)}),
        ("on", "on = train or mode == 'train'", set()),
        ("on", "on = mode == 'train' or y", set()),
        ("on", "on = mode == 'train'; on = y", set()),
        ("on", "mode = y; on = mode == 'train'", set()),
        ("on", "on = f(train)", set()),
        ("train and other", "", {("train", True, True)}),
        ("train or other", "", set()),
        ("mode == 2", "", {("mode", 2.0, True)}),
        ("mode != 0.5", "", {("mode", 0.5, False)}),
        ("mode == math.inf", "", {("mode", math.inf, True)}),
        ("mode == float('inf')", "", {("mode", math.inf, True)}),
        ("mode == float('nan')", "", set()),
        ("mode == np.inf", "", {("mode", math.inf, True)}),
        ("mode == self.inf", "", set()),
        ("mode == parse.float('inf')", "", set()),
        ("mode == limit", "", set()),
        ("mode > 2", "", set()),
        ("mode == 1j", "", set()),
        (f"mode == {10**400}", "", set()),
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
        (Said("a", 2.0, True), Said("a", 2.0, True), False),
        (Said("a", 2.0, True), Said("a", math.inf, True), True),
        (Said("a", 1.0, True), Said("a", True, True), False),
    ],
)
def test_what_excludes_what(one: Said, other: Said, excluded: bool) -> None:
    assert one.excludes(other) is excluded
    assert other.excludes(one) is excluded


@pytest.mark.parametrize(
    ("call", "body", "given"),
    [
        ("f(x)", "pass", 2.0),
        ("f(x, 3)", "norm_type = float(norm_type)", 3.0),
        ("f(x, norm_type=1)", "pass", 1.0),
        ("f(x, k)", "pass", None),
        ("f(x, **options)", "pass", None),
        ("f(x)", "norm_type = norm_type + 1", None),
        ("f(x)", "norm_type = float(x)", None),
        ("f(x)", "norm_type = int(norm_type)", None),
    ],
)
def test_what_a_call_says_of_a_number_that_a_condition_asks_for(
    module_of: Callable[[str], Module], call: str, body: str, given: float | None
) -> None:
    text = f"def f(x, norm_type=2.0):\n    {body}\n    if norm_type == inf:\n        go()\n\n{call}\n"
    module = module_of(text)
    function = module.top_functions["f"]
    (made,) = module.body.flow.calls_named("f")
    found = alternatives.given(function, made, alternatives.decisive(function))

    assert ([Said("norm_type", given, True)] if given is not None else []) == list(found)
