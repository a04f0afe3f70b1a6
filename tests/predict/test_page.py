"""docs/prediction.md is made of data, and says what the data say."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(ROOT / "scripts" / "prediction")
    import page  # type: ignore[import-not-found]

    yield page
    sys.modules.pop("page", None)


def test_the_page_is_fresh(page: object) -> None:
    assert 0 == page.main(["--check"])  # type: ignore[attr-defined]


def test_models_are_ranked_and_timed_well_enough(page: object) -> None:
    """A bar for changes: what is asked of it, which training in channels_last alone misses."""
    ranks = {one.setting: one.rank for one in page.accuracy()}  # type: ignore[attr-defined]
    inference = [one for one in page.accuracy() if one.setting.startswith("infer")]  # type: ignore[attr-defined]

    assert 7 == len(inference)
    assert min(one.rank for one in inference) >= 0.95
    assert max(one.median for one in inference) <= 0.20
    assert ranks["train-amp-nchw-pt112-cu113-rtx3090"] >= 0.95


def test_what_training_in_channels_last_misses_are_grouped_convolutions(page: object) -> None:
    found = page.grouped()  # type: ignore[attr-defined]

    assert found.after >= 0.95 > found.before
    assert found.rank_of_others >= 0.95


def test_inductors_own_kernels_tell_a_gain_no_better_than_a_guess(page: object) -> None:
    """Why a report has no figure for compiled code; where it no longer holds, it could have one."""
    found = page.compiled()  # type: ignore[attr-defined]
    guessed = statistics.median(abs(one.guessed - one.true) for one in found)
    lowered = statistics.median(abs(one.lowered - one.true) for one in found)

    assert len(found) >= 20
    assert lowered >= guessed > 0.05
