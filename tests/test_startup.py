"""What a run imports, and how its process ends: nothing that is not used, and nothing that is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CLEAN = "import torch\n\nx = torch.ones(3)\n"
HEAVY = {
    "asyncio", "concurrent.futures", "difflib", "importlib.metadata", "libcst", "logging", "multiprocessing", "numpy",
    "pickle", "pygments", "rich", "subprocess", "tempfile", "tomllib", "torch", "unittest", "xml",
}  # fmt: skip
SLOW = """\
import torch

def train(net, optimizer, loader):
    total = 0
    for x in loader:
        loss = net(x.cuda())
        loss.backward(), optimizer.step()
        total += loss.item()
    return total
"""
TREE = {"libcst"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def modules(project: Path, *arguments: str) -> set[str]:
    """The modules that a run imports beside those that Python starts with."""
    program = (
        "import sys; before = set(sys.modules); from torchlint import cli; cli.main(sys.argv[1:]);"
        "print(*sorted(sys.modules.keys() - before), file=sys.stderr)"
    )
    command = [sys.executable, "-I", "-c", program, "check", "-q", *arguments]
    return set(subprocess.run(command, cwd=project, capture_output=True, text=True, check=True).stderr.split())


def commands(found: set[str]) -> set[str]:
    return {name for name in found if name.startswith(("torchlint.commands.", "torchlint.report."))}


def test_a_run_without_findings_imports_nothing_heavy(project: Path) -> None:
    (project / "a.py").write_text(CLEAN)
    found = modules(project, "--no-cache")
    assert set() == found & HEAVY
    assert "torchlint.rules.item_in_hot_loop" in found
    assert not any(name.startswith("torchlint.fixers.") for name in found)
    assert {f"torchlint.commands.{name}" for name in ("check", "options", "progress", "terminal")} == {
        name for name in commands(found) if "commands" in name
    }


def test_a_run_without_python_files_parses_nothing(project: Path) -> None:
    found = modules(project, "--no-cache")
    assert set() == found & HEAVY


def test_a_finding_without_a_fix_needs_no_tree(project: Path) -> None:
    (project / "a.py").write_text("import torch\nx = 1  # torchlint: ignore[TL999]\n")
    found = modules(project, "--no-cache", "--output-format", "concise")
    assert set() == found & TREE


def test_a_known_run_with_other_arguments_parses_nothing(project: Path) -> None:
    (project / "a.py").write_text(SLOW)
    assert modules(project, "--output-format", "concise") >= TREE
    found = modules(project, "--output-format", "concise", "a.py")
    assert set() == found & HEAVY


class TestEnd:
    def run(self, project: Path, before: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = f"import sys\n{before}\nfrom torchlint.cli import entry\nentry()"
        command = [sys.executable, "-c", program, *arguments]
        return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)

    def test_output_and_exit_code_come_through(self, project: Path) -> None:
        (project / "a.py").write_text(SLOW)
        for _ in range(3):
            ran = self.run(project, "", "check", "--output-format", "concise")
            assert (1, "") == (ran.returncode, ran.stderr)
            assert ran.stdout.startswith("a.py:8:18: TL101 ")
            assert ran.stdout.endswith("\n")

    def test_what_others_do_at_the_end_is_done(self, project: Path) -> None:
        ran = self.run(project, "import atexit; atexit.register(print, 'bye')", "check")
        assert "bye" == ran.stdout.splitlines()[-1]

    def test_threads_are_waited_for(self, project: Path) -> None:
        thread = "import threading, time; threading.Thread(target=lambda: (time.sleep(8), print('done'))).start()"
        assert "done" == self.run(project, thread, "check").stdout.splitlines()[-1]

    def test_other_commands_end_as_usual(self, project: Path) -> None:
        ran = self.run(project, "", "version")
        assert (0, "torchlint ") == (ran.returncode, ran.stdout[:10])

    def test_mistakes_have_their_exit_code(self, project: Path) -> None:
        assert 2 == self.run(project, "", "check", "missing.py").returncode
        assert 2 == self.run(project, "", "check", "--no-such-option").returncode

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
    def test_a_full_disk_is_no_success(self, project: Path) -> None:
        (project / "a.py").write_text(CLEAN)
        with open("/dev/full", "w") as full:
            ran = subprocess.run(
                [sys.executable, "-m", "torchlint", "check"],
                cwd=project,
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert 0 != ran.returncode
