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

from torchlint.prove import leftovers

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
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    command = [sys.executable, "-m", "torchlint", "optimize", "train.py", "--allow-writes", str(marks)]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(command, cwd=home, stderr=subprocess.PIPE, text=True, env=environment)
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
    if number == signal.SIGKILL:
        assert 1 == len(list(temporary.iterdir()))
        leftovers.remove(temporary, "torchlint-")
    assert [] == list(temporary.iterdir())


def test_what_others_have_left_stays(tmp_path: Path) -> None:
    """A run that goes on, a folder without a lock, and a link to one."""
    running, other = tmp_path / "torchlint-running", tmp_path / "torchlint-other"
    for folder in (running, other, tmp_path / "elsewhere"):
        folder.mkdir()
        (folder / "file").touch()
    (tmp_path / "torchlint-link").symlink_to(tmp_path / "elsewhere")
    os.close(leftovers.claim(tmp_path / "elsewhere"))
    held = leftovers.claim(running)
    before = sorted(tmp_path.rglob("*"))
    leftovers.remove(tmp_path, "torchlint-")
    assert before == sorted(tmp_path.rglob("*"))
    os.close(held)
    leftovers.remove(tmp_path, "torchlint-")
    assert not running.exists() and other.exists()
