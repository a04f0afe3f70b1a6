"""The table of names by version: what it answers for a version and for the range of a project."""

from __future__ import annotations

from typing import Any

import pytest

from torchlint.facts import api_table, deprecated_table
from torchlint.facts.compiler_table import PUBLIC
from torchlint.facts.deprecated_table import KEYWORDS, NAMES, REQUIRED, Entry, since
from torchlint.torch_api.version import Range, Version

TABLE: dict[str, Any] = {
    "measured": ["1.11", "2.0", "2.4", "2.13", "2.15"],
    "names": {
        "old": {"1.11": "UserWarning", "2.0": "raises"},
        "new": {"1.11": "absent", "2.4": "there"},
        "warned": {"1.11": "there", "2.4": "UserWarning", "2.13": "FutureWarning"},
        "forgiven": {"1.11": "there", "2.13": "FutureWarning", "2.15": "there"},
        "gone": {"1.11": "there", "2.4": "FutureWarning", "2.13": "absent"},
        "never": {"1.11": "absent"},
    },
}


@pytest.fixture
def five_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_table, "_table", lambda: TABLE)


@pytest.mark.usefixtures("five_versions")
@pytest.mark.parametrize(
    ("key", "target", "since"),
    [
        ("new", "", None),
        ("forgiven", ">=2.15", None),
        ("forgiven", "==2.15", None),
        ("forgiven", "==2.4", None),
        ("gone", ">=2.0", None),
        ("warned", "<2.4", None),
        ("old", ">=2.0", None),
        ("forgiven", ">=2.4,<2.15", (2, 13)),
        ("gone", "<2.13", (2, 4)),
        ("warned", "", (2, 4)),
        ("forgiven", "", (2, 13)),
        ("forgiven", ">=2.14", (2, 13)),
        ("warned", "==2.14", (2, 4)),
        ("old", "==1.13", api_table.ALWAYS),
        ("old", "==1.8", None),
    ],
)
def test_the_newest_torch_of_the_target_decides_what_warns(key: str, target: str, since: Version | None) -> None:
    assert since == api_table.warns(key, Range.stated(target))


@pytest.mark.usefixtures("five_versions")
@pytest.mark.parametrize(
    ("key", "target", "since"),
    [
        ("new", ">=1.8", None),
        ("warned", "", None),
        ("gone", "<2.13", None),
        ("old", "<2.0", None),
        ("old", ">=1.8", (2, 0)),
        ("gone", "==2.14", (2, 13)),
        ("new", "==2.1", api_table.ALWAYS),
        ("never", "", api_table.ALWAYS),
        ("never", "<1.11", None),
    ],
)
def test_the_newest_torch_of_the_target_decides_what_is_gone(key: str, target: str, since: Version | None) -> None:
    assert since == api_table.gone(key, Range.stated(target))


@pytest.mark.usefixtures("five_versions")
@pytest.mark.parametrize(
    ("key", "first"),
    [("old", api_table.ALWAYS), ("new", (2, 4)), ("gone", api_table.ALWAYS), ("never", api_table.NEVER)],
)
def test_the_first_version_that_has_a_name(key: str, first: Version) -> None:
    assert first == api_table.there(key)


@pytest.mark.parametrize("name", sorted(deprecated_table._IN_TORCH_1))
def test_what_torch_1_warned_of_the_oldest_measured_one_does_or_has_not(name: str) -> None:
    assert api_table.states(name)[api_table.measured()[0]] in ("UserWarning", "absent")


@pytest.mark.parametrize(
    ("name", "target", "since"),
    [
        ("torch.nn.functional.upsample", "==0.4", None),
        ("torch.cholesky", "==1.1", None),
        ("torch.nn.functional.upsample", "==1.1", api_table.ALWAYS),
        ("torch.nn.functional.upsample", ">=0.4,<1.5", api_table.ALWAYS),
        ("torch.nn.functional.upsample", "", api_table.ALWAYS),
        ("torch.nn.functional.sigmoid", "==0.4", None),
        ("torch.nn.functional.sigmoid", "==1.1", api_table.ALWAYS),
        ("torch.nn.functional.sigmoid", "==1.13", api_table.ALWAYS),
        ("torch.nn.functional.sigmoid", "==2.0", None),
    ],
)
def test_a_torch_older_than_the_measured_ones_warns_of_what_torch_1_did(
    name: str, target: str, since: Version | None
) -> None:
    assert since == deprecated_table.warns_since(name, Range.stated(target))


def test_a_message_names_the_version_where_one_without_it_was_measured() -> None:
    assert " since torch 2.4" == since((2, 4))
    assert "" == since(api_table.ALWAYS)
    assert " since torchvision 0.13" == since((1, 12), "torchvision.models.resnet18(pretrained)")
    assert " since torchvision 0.19" == since((2, 4), "torchvision.models.resnet18(pretrained)")


@pytest.mark.parametrize("name", sorted({*NAMES, *(k.name for of_one in KEYWORDS.values() for k in of_one.values())}))
def test_what_is_listed_is_deprecated_or_gone_in_some_version(name: str) -> None:
    states = set(api_table.states(name).values())

    assert any(state.endswith("Warning") or state in api_table.GONE for state in states)


@pytest.mark.parametrize("missing", list(REQUIRED.values()), ids=lambda missing: str(missing.function))
def test_what_must_be_given_is_warned_of_or_raises(missing: Any) -> None:
    assert api_table.warns(missing.name, Range()) or api_table.gone(missing.name, Range())


@pytest.mark.parametrize("entry", [*NAMES.values(), *PUBLIC.values()], ids=lambda entry: str(entry.name))
def test_what_takes_the_place_is_there(entry: Entry) -> None:
    new = (entry.rename or entry.successor).removesuffix("()")

    assert not new or api_table.gone(new, Range()) is None


def test_a_name_that_got_an_argument_counts_from_then_on() -> None:
    assert (
        (2, 4)
        == NAMES["torch.is_autocast_cpu_enabled"].renamed_in
        == NAMES["torch.set_autocast_cpu_enabled"].renamed_in
    )
