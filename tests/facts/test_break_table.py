"""The table of graph breaks: which torch answers for a target."""

from __future__ import annotations

from typing import Any

import pytest

from torchlint.facts import break_table
from torchlint.facts.break_place import Break, told
from torchlint.torch_api.version import Range

TABLE: dict[str, Any] = {
    "measured": ["2.9", "2.13"],
    "constructs": {
        "gone()": {
            "rule": "TL205",
            "code": "gone()",
            "breaks": [{"ids": ["GB0001"], "first": "2.9", "last": "2.9"}],
            "fullgraph": [],
        },
        "new()": {
            "rule": "TL205",
            "code": "new()",
            "breaks": [{"ids": ["GB0002"], "first": "2.13", "last": "2.13"}],
            "fullgraph": [],
        },
        "both()": {
            "rule": "TL205",
            "code": "both()",
            "breaks": [
                {"ids": ["GB0003"], "first": "2.9", "last": "2.9"},
                {"ids": ["GB0004"], "first": "2.13", "last": "2.13"},
            ],
            "fullgraph": [],
        },
    },
}


@pytest.fixture
def two_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(break_table, "_table", lambda: TABLE)


def asked(construct: str, target: str) -> tuple[str, ...]:
    return break_table.ids(construct, "breaks", Range.stated(target) if target else None)


@pytest.mark.usefixtures("two_versions")
@pytest.mark.parametrize(
    ("construct", "target", "ids"),
    [
        ("gone()", ">=2.9", ()),
        ("gone()", "==2.9", ("GB0001",)),
        ("gone()", "==2.12", ("GB0001",)),
        ("gone()", "<2.5", ("GB0001",)),
        ("new()", "==2.9", ()),
        ("new()", ">=2.13", ("GB0002",)),
        ("new()", "", ("GB0002",)),
        ("both()", ">=2.0,<2.13", ("GB0003",)),
        ("both()", "==2.15", ("GB0004",)),
        ("never measured()", "", ()),
    ],
)
def test_the_newest_torch_of_the_target_decides(construct: str, target: str, ids: tuple[str, ...]) -> None:
    assert ids == asked(construct, target)


@pytest.mark.parametrize(
    "construct", ["try", ".numpy()", "torch.autograd.Function", "random.randint()", "assert constant"]
)
def test_what_is_traced_by_now_does_not_break(construct: str) -> None:
    assert break_table.rule_of(construct) != ""
    assert () == asked(construct, "==2.13")


def test_a_construct_belongs_to_one_rule() -> None:
    assert "TL205" == break_table.rule_of("time.time()")
    assert "" == break_table.rule_of("time.never()")


@pytest.mark.parametrize(
    ("construct", "last"), [("locals()", "2.11"), ("re.sub()", "2.6"), ("copy.deepcopy()", "2.11"), ("id()", "2.4")]
)
def test_what_broke_until_some_version_breaks_there_and_not_in_the_next(construct: str, last: str) -> None:
    major, minor = last.split(".")

    assert asked(construct, f"=={last}") != ()
    assert asked(construct, f"=={major}.{int(minor) + 1}") == ()


def test_before_torch_named_its_breaks_the_option_that_captures_a_construct_names_it() -> None:
    assert ("capture_scalar_outputs",) == asked(".item()", "==2.4")
    assert ("capture_dynamic_output_shape_ops",) == asked(".nonzero()", "==2.4")
    assert ("GB0124",) == asked(".item()", "==2.13")


@pytest.mark.parametrize("target", ["", ">=2.0", ">=2.13"])
def test_a_target_without_an_end_is_answered_for_2_13(target: str) -> None:
    assert asked("random.random()", "==2.13") == asked("random.random()", target) != ()


@pytest.mark.parametrize("target", ["==2.14", ">=2.14", ">=2.15"])
def test_a_target_that_begins_later_is_answered_for_its_own(target: str) -> None:
    assert () == asked("random.random()", target)


def test_a_break_without_an_id_is_told_without_one() -> None:
    assert "splits the compiled graph (GB0109): so." == told(Break("x", "so", ("GB0109",), ()))
    assert "splits the compiled graph: so." == told(Break("x", "so", ("data-dependent",), ()))
