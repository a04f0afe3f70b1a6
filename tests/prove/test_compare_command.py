"""`torchlint compare` on the command line: what versions can be, what it says, how it ends, and what stays as it was."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from torchlint import cli

pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("warm")]

BEFORE = """\
import torch
torch.manual_seed(0)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = torch.log(torch.softmax(model(torch.randn(6, 8)), dim=-1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
"""
FUSED = BEFORE.replace(
    "torch.log(torch.softmax(model(torch.randn(6, 8)), dim=-1))", "torch.log_softmax(model(torch.randn(6, 8)), dim=-1)"
)
WRONG = BEFORE.replace("dim=-1", "dim=0")


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose first commit has the wrong program, whose work tree has the right one, and beside it others."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "train.py").write_text(WRONG)
    git(home, "init", "-q")
    git(home, "add", ".")
    git(home, "commit", "-qm", "wrong")
    (home / "train.py").write_text(BEFORE)
    (home / "fused.py").write_text(FUSED)
    monkeypatch.chdir(home)
    return home


def state(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_two_scripts(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = state(project)
    assert 0 == cli.main(["compare", "train.py", "fused.py"])

    out = capsys.readouterr().out.splitlines()
    assert "fused.py against train.py: rounding (the same but for rounding)" == out[0]
    assert out[-2].startswith("  the first that differs: ")
    assert "within --numbers rounding" == out[-1]
    assert before == state(project)


def test_a_revision_against_the_tree(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == cli.main(["compare", "--entry", "train.py", ".", "HEAD", "--output-format", "json"])

    found = json.loads(capsys.readouterr().out)
    assert ("changed", False, "rounding", 3) == (found["class"], found["within"], found["allowed"], found["steps"])
    assert (1, "the loss") == (found["first"]["step"], found["first"]["what"])


def test_a_patch_against_the_tree(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = subprocess.run(
        ["git", "diff", "--no-index", "train.py", "fused.py"], capture_output=True, text=True, check=False
    )
    (project / "fuse.patch").write_text(made.stdout.replace("fused.py", "train.py"))
    assert 1 == cli.main(["compare", ".", "fuse.patch", "--entry", "train.py", "--numbers", "exact"])
    assert "beyond --numbers exact" == capsys.readouterr().out.splitlines()[-1]


def test_two_folders_and_the_arguments_of_the_program(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("old", BEFORE), ("new", FUSED)):
        (project / name).mkdir()
        (project / name / "run.py").write_text("import sys\nassert sys.argv[1:] == ['--epochs', '1']\n" + text)
    assert 0 == cli.main(["compare", "old", "new", "--entry", "run.py", "--", "--epochs", "1"])
    assert capsys.readouterr().out.startswith("new against old: rounding ")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["train.py", "missing.py"], "missing.py is no file, no folder, no patch and no revision: "),
        ([".", "HEAD"], "what is to be run? Give --entry SCRIPT.py or --entry PKG.MODULE:FUNCTION"),
        ([".", "HEAD", "--entry", "missing.py"], "missing.py: no such script"),
        (["--entry", "train.py", ".", "bad.patch"], "the patch does not apply: "),
    ],
)
def test_what_can_not_be_run_is_said(
    project: Path, arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "bad.patch").write_text("--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-import jax\n+import torch\n")
    assert 2 == cli.main(["compare", *arguments])
    assert f"  Cause: {why}" in capsys.readouterr().err


HARD = {
    "raises": ("raise ValueError('no data')", "does not run: ValueError: no data, at train.py:1"),
    "arguments": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\np.parse_args()",
        "error: the following arguments are required: --data",
    ),
    "outside": (
        "open('/outside.txt', 'w')",
        "train.py writes to /outside.txt, outside of its copy; nothing was written there",
    ),
    "outside, caught": (
        "import torch\ntry:\n    torch.save({}, '/outside.pt')\nexcept BaseException:\n    pass",
        "train.py writes to /outside.pt, outside of its copy",
    ),
    "home": ("open('{home}/train.py', 'a')", "train.py writes to "),
}


@pytest.mark.parametrize("name", HARD)
def test_a_hard_program_ends_with_a_sentence_and_the_tree_as_it_was(
    name: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, why = HARD[name]
    (project / "train.py").write_text(source.replace("{home}", str(project)) + "\n")
    before = state(project)

    assert 2 == cli.main(["compare", "train.py", "fused.py"])
    assert why in capsys.readouterr().err
    assert before == state(project)
    assert not os.path.exists("/outside.txt")


def test_a_program_that_can_not_be_pinned_down(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It catches what would stop it, forks, and draws its seed from the system."""
    (project / "train.py").write_text(
        "import os\n"
        "if os.fork() == 0:\n    import time\n    time.sleep(60)\n"
        + BEFORE.replace("manual_seed(0)", "manual_seed(int.from_bytes(os.urandom(4), 'big'))").replace(
            "range(3)", "range(10 ** 9)"
        )
        + "try:\n    raise KeyboardInterrupt\nexcept BaseException:\n    pass\n"
    )
    assert 2 == cli.main(["compare", "train.py", "fused.py", "--steps", "4"])
    out = capsys.readouterr().out.splitlines()
    assert "fused.py against train.py: unknown (it can't be said)" == out[0]
    assert out[1].startswith("  the program differs from itself when it is run again: ")


def test_a_library_may_keep_what_it_wants_to_find_again(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As matplotlib does at its first import, where the environment says."""
    kept = "import os\nos.makedirs(os.environ['MPLCONFIGDIR'], exist_ok=True)\nopen(os.environ['MPLCONFIGDIR'] + '/fonts', 'w')\n"
    (project / "train.py").write_text(kept + BEFORE)
    assert 0 == cli.main(["compare", "train.py", "fused.py"])
    assert "within --numbers rounding" == capsys.readouterr().out.splitlines()[-1]
