"""Linting while files change, and shell completion."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from torchlint import cli
from torchlint.system import install

CLEAN = "import torch\nx = 1\n"
BROKEN = "import torch\nx = (\n"


def watched(process: subprocess.Popen[str]) -> str:
    """What is printed up to the next time it waits."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        if line.startswith("Watching"):
            break
        lines.append(line)
    return "".join(lines)


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], IO[str]]]]:
    """Starts `torchlint check --watch` where a.py is; killed after a minute, so that a hanging test ends."""
    pytest.importorskip("watchfiles")
    (tmp_path / "a.py").write_text(CLEAN)
    started = []

    def start(*options: str) -> tuple[subprocess.Popen[str], IO[str]]:
        command = [sys.executable, "-m", "torchlint", "check", "--watch", "--output-format=concise", *options]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        timer = threading.Timer(60, process.kill)
        timer.start()
        started.append((process, timer))
        assert process.stdout is not None
        return process, process.stdout

    yield start
    for process, timer in started:
        timer.cancel()
        process.kill()
        process.communicate()


def test_lints_again_when_a_file_changes(
    watching: Callable[..., tuple[subprocess.Popen[str], IO[str]]], tmp_path: Path
) -> None:
    process, out = watching()
    watched(process)
    assert "All checks passed!\n" == out.readline()
    (tmp_path / "a.py").write_text(BROKEN)
    watched(process)
    assert out.readline().startswith("a.py:2:5: TL001 ")
    process.send_signal(signal.SIGINT)
    assert 1 == process.wait()


def test_lints_again_when_a_folder_is_renamed_or_moved(
    watching: Callable[..., tuple[subprocess.Popen[str], IO[str]]], tmp_path: Path
) -> None:
    """Of which the system says that a folder has gone and another one has come, and nothing of the files in them."""
    project = tmp_path / "project"
    (project / "old" / "sub").mkdir(parents=True)
    (project / "old" / "sub" / "b.py").write_text(BROKEN)
    process, out = watching("project")
    watched(process)
    assert out.readline().startswith("project/old/sub/b.py:2:5: TL001 ")
    (project / "old").rename(project / "new")
    watched(process)
    assert "Found 1 error.\n" == out.readline()
    assert out.readline().startswith("project/new/sub/b.py:2:5: TL001 ")
    (project / "new").rename(tmp_path / "away")
    watched(process)
    assert "Found 1 error.\n" == out.readline()
    assert "All checks passed!\n" == out.readline()
    process.send_signal(signal.SIGINT)
    assert 0 == process.wait()


def test_a_broken_configuration_is_waited_for(
    watching: Callable[..., tuple[subprocess.Popen[str], IO[str]]], tmp_path: Path
) -> None:
    (tmp_path / "torchlint.toml").write_text("select = 1\n")
    process, out = watching()
    assert watched(process).startswith("torchlint failed\n  Cause: ")
    (tmp_path / "torchlint.toml").write_text("select = ['TL1']\n")
    watched(process)
    assert "All checks passed!\n" == out.readline()
    process.send_signal(signal.SIGINT)
    assert 0 == process.wait()


@pytest.mark.parametrize(
    ("path", "cause"), [("-", "standard input can't be watched"), ("none.py", "none.py: No such file or directory")]
)
def test_what_can_not_be_watched(capsys: pytest.CaptureFixture[str], path: str, cause: str) -> None:
    pytest.importorskip("watchfiles")
    assert 2 == cli.main(["check", "--watch", path])
    assert f"torchlint failed\n  Cause: {cause}\n" == capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "arguments", "cause"),
    [
        (
            "watchfiles",
            ["check", "--watch"],
            f"watchfiles is not installed; it comes with: {install.command('watch', 'watchfiles')}",
        ),
        (
            "shtab",
            ["generate-shell-completion", "bash"],
            f"shtab is not installed; it comes with: {install.command('completion', 'shtab')}",
        ),
    ],
)
def test_without_the_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, module: str, arguments: list[str], cause: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert 2 == cli.main(arguments)
    assert f"torchlint failed\n  Cause: {cause}\n" == capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"), [("che", "check"), ("check --diff-b", "--diff-base"), ("rule --output-format js", "json")]
)
def test_completion_in_bash(capsys: pytest.CaptureFixture[str], tmp_path: Path, words: str, expected: str) -> None:
    pytest.importorskip("shtab")
    assert 0 == cli.main(["generate-shell-completion", "bash"])
    script = f'COMP_WORDS=(torchlint {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _shtab_torchlint; echo "${{COMPREPLY[@]}}"'
    source = f"{capsys.readouterr().out}\n{script}"
    done = subprocess.run(["bash", "-c", source], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"{expected}\n" == done.stdout
