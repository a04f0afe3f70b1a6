"""The hooks run under pre-commit itself, in a repository made for the purpose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pre_commit")

ROOT = Path(__file__).parents[1]
SLOW = """\
import torch

model = torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda())
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository whose pre-commit runs the hooks of this checkout, with the interpreter that runs the tests."""
    folder = tmp_path_factory.mktemp("repository")
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
    entries, given = (
        [line.partition(":")[2].strip() for line in hooks.splitlines() if line.strip().startswith(f"{key}:")]
        for key in ("entry", "args")
    )
    # pre-commit would install the project anew for `repo: URL`; `language: system` runs what is installed here.
    lines = ["repos:", "  - repo: local", "    hooks:"]
    for name, entry, more in zip(("torchlint", "torchlint-fix"), entries, given, strict=True):
        command = entry.replace("torchlint", f"{sys.executable} -m torchlint", 1)
        lines += [f"      - id: {name}", f"        name: {name}", f"        entry: {command}", f"        args: {more}"]
        lines += ["        language: system", "        types_or: [python, pyi]", "        require_serial: true"]
    (folder / ".pre-commit-config.yaml").write_text("\n".join(lines) + "\n")
    (folder / "fine.py").write_text("import torch\n")
    (folder / "slow.py").write_text(SLOW)
    (folder / "notes.txt").write_text("no Python here\n")
    for arguments in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


def run(folder: Path, hook: str, *files: str) -> tuple[int, str]:
    environment = {**os.environ, "PRE_COMMIT_HOME": str(folder / ".cache"), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "pre_commit", "run", hook, "--files", *files]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    return ran.returncode, ran.stdout


def test_files_without_python_are_not_shown_to_it(repository: Path) -> None:
    code, output = run(repository, "torchlint", "notes.txt")

    assert (0, True) == (code, "(no files to check)Skipped" in output)


def test_a_clean_file_passes(repository: Path) -> None:
    code, output = run(repository, "torchlint", "fine.py")

    assert (0, True) == (code, "Passed" in output)


def test_a_finding_stops_the_commit(repository: Path) -> None:
    code, output = run(repository, "torchlint", "fine.py", "slow.py")

    assert (1, True) == (code, "slow.py:3:9" in output and "TL801" in output)


def test_the_fixing_hook_changes_files_and_says_so(repository: Path) -> None:
    (repository / "old.py").write_text("import torch\n\ncontext = torch.cuda.amp.autocast()\n")
    subprocess.run(["git", "add", "old.py"], cwd=repository, check=True)
    code, output = run(repository, "torchlint-fix", "old.py")

    assert (1, True) == (code, "files were modified by this hook" in output)
    assert (
        'import torch\n\ncontext = torch.amp.autocast("cuda", dtype=torch.float16)\n'
        == (repository / "old.py").read_text()
    )


def test_a_file_that_is_called_like_an_option_is_a_file(repository: Path) -> None:
    names = ["--fix", "-q.py", "--exit-zero"]
    for name in names:
        (repository / name).write_text(f"#!/usr/bin/env python\n{SLOW}")
        (repository / name).chmod(0o755)
    subprocess.run(["git", "add", "--", *names], cwd=repository, check=True)
    environment = {**os.environ, "PRE_COMMIT_HOME": str(repository / ".cache"), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "pre_commit", "run", "torchlint", "--all-files"]
    ran = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False, env=environment)

    assert 1 == ran.returncode
    shown = [line.strip().removeprefix("--> ") for line in ran.stdout.splitlines() if line.strip().startswith("--> ")]
    assert {f"{name}:4:9" for name in names} <= set(shown)
