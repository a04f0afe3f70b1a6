"""The bar of a long run."""

from __future__ import annotations

import io
import threading
from contextlib import closing

import pytest

from torchlint.commands import progress
from torchlint.commands.progress import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    pipe = io.StringIO()
    with closing(Bar(pipe)) as bar:
        bar(1, 2)

    assert "" == pipe.getvalue()


def test_a_short_run_shows_nothing() -> None:
    terminal = Terminal()
    with closing(Bar(terminal)) as bar:
        bar(1, 2)

    assert "" == terminal.getvalue()


def test_a_long_run_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with closing(Bar(terminal)) as bar:
        bar(1, 2)
        bar(2, 2)

    assert "Linting" in terminal.getvalue()
    assert "100%" in terminal.getvalue()


def test_no_thread_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    before = threading.active_count()
    with closing(Bar(Terminal())) as bar:
        bar(1, 2)
        assert before == threading.active_count()
