"""The table of graph breaks: which torch answers for a target."""

from __future__ import annotations

from typing import Any

import pytest

from torchlint.facts import break_table
from torchlint.version import Range

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
    return break_table.ids(construct, "breaks", Range.parse(target) if target else None)


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
