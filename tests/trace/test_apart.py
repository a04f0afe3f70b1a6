"""Programs in processes of their own: what they leave behind comes back, and none takes longer than its limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.trace.apart import run_apart
from tests.trace.programs import Traced

pytestmark = pytest.mark.torch


def test_events_and_names_of_literals_come_back(apart: Callable[..., Traced]) -> None:
    program = apart(
        """
        import torch
        x = torch.ones(3, device="cuda")
        total = x.sum().item()  # sync item
        left = [total, (True, None, "x")]
        """
    )
    assert program.lines() == program.expected()
    assert ("x" in program.names, program.names["left"]) == (False, [3.0, (True, None, "x")])


def test_a_program_that_fails_says_why(apart: Callable[..., Traced]) -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        apart("1 / 0", virtual=False)


def test_a_program_that_waits_for_good_is_stopped_and_says_where(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import threading\nthreading.Event().wait()\n")
    with pytest.warns(UserWarning, match=r"took longer than 0.2 s:\nTimeout"), pytest.raises(AssertionError) as error:
        run_apart(script, virtual=False, limit=0.2)
    assert f'"{script}", line 2 in <module>' in str(error.value)


def test_a_program_that_waits_once_is_tried_again(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import pathlib, threading, torch\n"
        "torch.ones(2, device='cuda').sum().item()\n"
        "here = pathlib.Path(__file__).with_name('here')\n"
        "first = not here.exists()\n"
        "here.touch()\n"
        "if first: threading.Event().wait()\n"
    )
    with pytest.warns(UserWarning, match="took longer"):
        program = run_apart(script, limit=5)
    assert program.names["first"] is False
    assert program.lines() == {"torch.ones(2, device='cuda').sum().item()": {"sync item": 1}}
