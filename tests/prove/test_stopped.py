"""`torchlint optimize` stopped at any moment: the tree is as it was, and nothing goes on running."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

PROGRAM = """\
import os, sys, time
open({marks!r} + "/" + str(os.getpid()), "w")
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while True:
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    open("checkpoint", "w").write("x")
    time.sleep(0.2)
"""


def state(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".torchlint" not in path.parts)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def running(marks: Path) -> list[int]:
    """The runs that have left a mark and are still there."""
    alive = []
    for mark in marks.iterdir():
        try:
            os.kill(int(mark.name), 0)
        except ProcessLookupError:
            continue
        alive.append(int(mark.name))
    return alive


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_stopped_while_the_program_runs(number: signal.Signals, code: int, tmp_path: Path) -> None:
    home, marks = tmp_path / "home", tmp_path / "marks"
    home.mkdir()
    marks.mkdir()
    (home / "pyproject.toml").touch()
    (home / "train.py").write_text(PROGRAM.format(marks=str(marks)))
    before = state(home)
    command = [sys.executable, "-m", "torchlint", "optimize", "train.py", "--allow-writes", str(marks)]
    process = subprocess.Popen(command, cwd=home, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not any(marks.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert running(marks)

    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert code == process.returncode
    assert before == state(home)
    if number == signal.SIGINT:
        assert "stopped; the tree is as it was, and --resume goes on from what is known" in errors
    deadline = time.monotonic() + 30
    while running(marks) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [] == running(marks)
