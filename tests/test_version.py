"""Ranges of torch versions, and its releases."""

from __future__ import annotations

import pytest

from torchlint.torch_api.version import LATEST, RELEASES, Range, oldest_in_use


@pytest.mark.parametrize(
    "text",
    ["abc", ">=", "2.x", "torch>=2", "2.4 2.5", ">=2.4;<2.9", "~=2", ">=2.9,<2.4", "==2.4,==2.5", "-1", "2.4-"],
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a version|no version is in|needs a minor version"):
        Range.stated(text)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", (0, 0), (99, 0)),
        ("*", (0, 0), (99, 0)),
        ("!=2.2", (0, 0), (99, 0)),
        (">=2.4,<2.9", (2, 4), (2, 9)),
        (" >= 2.4 , < 2.9 ,", (2, 4), (2, 9)),
        (">=2.1.0,!=2.2", (2, 1), (99, 0)),
        (">2.4", (2, 4), (99, 0)),
        ("<2.9.0", (0, 0), (2, 9)),
        ("<2.9.1", (0, 0), (2, 10)),
        ("<=2.9", (0, 0), (2, 10)),
        ("<3", (0, 0), (3, 0)),
        ("==2.6", (2, 6), (2, 7)),
        ("==2.6.*", (2, 6), (2, 7)),
        ("==2.*", (2, 0), (3, 0)),
        ("===2.6.0", (2, 6), (2, 7)),
        ("==2.1.0+cu118", (2, 1), (2, 2)),
        ("==2.5.0a0+git1f2e3d", (2, 5), (2, 6)),
        (">=2.6.0.dev20250101", (2, 6), (99, 0)),
        ("~=2.1", (2, 1), (3, 0)),
        ("~=2.1.0", (2, 1), (2, 2)),
        ("2.6", (2, 6), (2, 7)),
        ("v2.6.1", (2, 6), (2, 7)),
        ("2", (2, 0), (3, 0)),
        ("^2.1", (2, 1), (3, 0)),
        ("^0.4.1", (0, 4), (0, 5)),
        ("^0.0.3", (0, 0), (0, 1)),
        ("^2", (2, 0), (3, 0)),
        ("^1.13 || ^2.1", (1, 13), (3, 0)),
        ("=2.*", (2, 0), (3, 0)),
        (">=1.13,!=2.0.1,<2.4 || >=2.6.1", (1, 13), (99, 0)),
        ("~2.1", (2, 1), (2, 2)),
        ("=2.1", (2, 1), (2, 2)),
    ],
)
def test_a_specifier_is_read_as_an_interval(text: str, low: tuple[int, int], high: tuple[int, int]) -> None:
    assert Range(low, high) == Range.stated(text)
    assert Range(low, high) == Range.stated(str(Range(low, high)))


def test_a_range_is_written_as_a_specifier() -> None:
    assert [">=2.4,<2.9", ">=2.4", "<2.9", ""] == [
        str(Range.stated(text)) for text in (">=2.4,<2.9", ">2.4", "<2.9", "")
    ]


@pytest.mark.parametrize("text", ["", ">=2.4", "<2.9", ">=2.4,<2.9", "==2.6"])
def test_what_rules_write_is_what_people_write(text: str) -> None:
    assert Range.stated(text) == Range.parse(text)


def test_the_lower_end_is_inside_and_the_upper_outside() -> None:
    range_ = Range.stated(">=2.4,<2.9")

    assert [False, True, True, False] == [range_.contains((2, minor)) for minor in (3, 4, 8, 9)]


def test_ranges_that_only_touch_do_not_intersect() -> None:
    old, new = Range.stated("<2.4"), Range.parse(">=2.4")

    assert not old.intersects(new)
    assert old.intersection(new) is None
    assert Range((2, 4), (2, 9)) == new.intersection(Range.stated("<2.9"))


# What runs where nothing is said


def test_releases_are_told_in_their_order_up_to_the_latest() -> None:
    assert LATEST == max(RELEASES)
    assert sorted(RELEASES) == sorted(RELEASES, key=RELEASES.__getitem__)
    assert len(RELEASES) == len(set(RELEASES.values()))


def test_the_oldest_torch_in_use_came_within_three_years_of_the_latest() -> None:
    oldest, (year, month) = oldest_in_use(), RELEASES[LATEST].split("-")

    assert RELEASES[oldest] >= f"{int(year) - 3}-{month}"
    assert all(released < f"{int(year) - 3}-{month}" for version, released in RELEASES.items() if version < oldest)
