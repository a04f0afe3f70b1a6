"""Where rule pages are, by the metadata of the installed distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from email.message import Message
from importlib import metadata

import pytest

from torchlint import report
from torchlint.report import backticks

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Makes the installed distribution name these URLs."""

    def install(*urls: str) -> None:
        message = Message()
        for url in urls:
            message["Project-URL"] = url
        monkeypatch.setattr(metadata, "metadata", lambda name: message)

    report.home.cache_clear()
    yield install
    report.home.cache_clear()


def test_pages_lie_in_the_repository(install: Install) -> None:
    install("Issues, https://example.org/issues", "Homepage, https://example.org/torchlint")
    assert "https://example.org/torchlint/blob/main/docs/rules/item-in-loop.md" == report.page_url(
        "item-in-loop", "TL101"
    )


def test_the_settings_come_first(install: Install) -> None:
    install("Homepage, https://example.org/torchlint")
    assert "https://lint.example/TL101/item-in-loop" == report.page_url(
        "item-in-loop", "TL101", "https://lint.example/{code}/{name}"
    )


def test_there_are_none_without_a_home_page(install: Install) -> None:
    install("Issues, https://example.org/issues")
    assert report.page_url("item-in-loop", "TL101") is None


def test_there_are_none_when_nothing_is_installed(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "metadata", missing)
    assert report.home() is None


def test_backticks_that_no_text_ends() -> None:
    assert ["`", "``", "````", "```"] == [backticks("a"), backticks("a`b"), backticks("`a```"), backticks("a", 3)]
