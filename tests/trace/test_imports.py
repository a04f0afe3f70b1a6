"""What is done when a module is imported, and not before."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from torchlint.trace.program.imports import when_imported

pytestmark = pytest.mark.torch


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "late_one.py").write_text("there = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "late_one", raising=False)
    return "late_one"


def test_nothing_is_done_for_a_module_that_nobody_imports(module: str) -> None:
    done: list[int] = []
    before = list(sys.meta_path)
    with when_imported(module, lambda: done.append(1)):
        import json.tool  # noqa: F401
    assert ([], before) == (done, sys.meta_path)


def test_it_is_done_once_and_when_the_module_has_run(module: str) -> None:
    done: list[int] = []
    with when_imported(module, lambda: done.append(sys.modules[module].there)):
        found = importlib.import_module(module)
        importlib.import_module(module)
    assert [1] == done
    assert 1 == found.there


def test_it_is_done_at_once_where_the_module_is_there(module: str) -> None:
    importlib.import_module(module)
    done: list[int] = []
    with when_imported(module, lambda: done.append(1)):
        assert [1] == done
    assert [1] == done
