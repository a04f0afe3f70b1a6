"""`torchlint optimize`: what it decides, what it leaves, and that the tree is as it was until it is told otherwise."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from torchlint import cli
from torchlint.prove import report
from torchlint.prove.candidates import Candidate, Finder
from torchlint.prove.decide import after_numbers, after_race, by_counts
from torchlint.prove.history import History
from torchlint.prove.intervals import Interval
from torchlint.prove.lab import Lab
from torchlint.prove.numbers import Judgement
from torchlint.prove.race import Raced, Round, Track
from torchlint.prove.tried import Tried
from torchlint.prove.workspace import Project

from .conftest import version

BEFORE = """\
import torch
torch.manual_seed(0)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    x = torch.randn(64, 64)
    with torch.no_grad():
        for _ in range(200):
            model(x)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
"""
FAST = BEFORE.replace("range(200)", "range(20)")
PATCH = """\
--- a/train.py
+++ b/train.py
@@ -6,4 +6,4 @@
     x = torch.randn(64, 64)
     with torch.no_grad():
-        for _ in range(200):
+        for _ in range({}):
             model(x)
"""
WRONG = """\
--- a/train.py
+++ b/train.py
@@ -9,3 +9,3 @@
             model(x)
-    loss = model(x).square().mean()
+    loss = model(x).abs().mean()
     optimizer.zero_grad()
"""


def raced(verdict: str, low: float, middle: float, high: float) -> Raced:
    interval = Interval(math.log(middle), math.log(low), math.log(high))
    return Raced(verdict, Track(), (Round(1.0, 1.0, 1.0, 8),), 1.0, interval, Interval(0.0, -0.01, 0.01))  # type: ignore[arg-type]


class TestDecisions:
    @pytest.mark.parametrize(
        ("name", "allowed", "status"),
        [
            ("broken", "rounding", "Rolled back"),
            ("unknown", "rounding", "Not applied"),
            ("precision", "rounding", "Rolled back"),
            ("changed", "rounding", "Rolled back"),
            ("rounding", "exact", "Rolled back"),
            ("init", "rounding", "Rolled back"),
        ],
    )
    def test_numbers_beyond_what_is_allowed_end_it(self, name: str, allowed: str, status: str) -> None:
        decision = after_numbers(Judgement(name, ("why",)), allowed)  # type: ignore[arg-type]
        assert decision is not None
        assert (status, True) == (decision.status, "why" in decision.reason)

    @pytest.mark.parametrize(("name", "allowed"), [("exact", "exact"), ("rounding", "rounding"), ("init", "init")])
    def test_numbers_within_it_leave_it_to_the_race(self, name: str, allowed: str) -> None:
        assert after_numbers(Judgement(name, ("why",)), allowed) is None  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("race", "status", "reason"),
        [
            (raced("faster", 1.1, 1.2, 1.3), "Applied", "faster: 1.20x, between 1.10 and 1.30"),
            (raced("slower", 0.8, 0.9, 0.95), "Rolled back", "slower: 0.90x, between 0.80 and 0.95"),
            (raced("no gain", 0.8, 0.9, 1.02), "Rolled back", "slower: 0.90x, between 0.80 and 1.02"),
            (raced("no gain", 0.99, 1.0, 1.02), "Not applied", "no gain: 1.00x, between 0.99 and 1.02"),
            (raced("undecided", 0.9, 1.05, 1.2), "Not applied", "no gain shown: 1.05x, between 0.90 and 1.20"),
            (raced("too noisy", 0.5, 1.05, 2.0), "Not applied", "the machine is too noisy: the program beats itself"),
        ],
    )
    def test_a_race_decides_the_rest(self, race: Raced, status: str, reason: str) -> None:
        decision = after_race(race)
        assert (status, reason) == (decision.status, decision.reason)

    def test_counts_alone_never_apply_anything(self) -> None:
        better = by_counts({"h2d": 3.0, "syncs": 1.0}, {"h2d": 2.0, "syncs": 1.0})
        assert ("Not applied", "counts are better (h2d 3 to 2 a step), time was not measured") == (
            better.status,
            better.reason,
        )
        assert "Not applied" == by_counts({"h2d": 2.0}, {"h2d": 2.0}).status


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").write_text(BEFORE)
    (tmp_path / "fast.patch").write_text(PATCH.format(20))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def state(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".torchlint" not in path.parts)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.torch
@pytest.mark.usefixtures("warm")
class TestRuns:
    def test_a_patch_that_pays_is_kept_applied_and_taken_back(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = state(home)
        command = ["optimize", "train.py", "--patch", "fast.patch", "--steps", "8", "--goal", "1.3"]
        assert 0 == cli.main([*command, "--out", "first"])

        out = capsys.readouterr().out
        assert out.startswith(
            "## Optimization Summary\n\n**Goal**: 1.30x, or 23% less latency, in CPU seconds of this machine a step\n"
        )
        assert "| 1 | patch fast.patch | train.py | " in out
        assert "APPROVED; the report is in first\n" == out.splitlines(keepends=True)[-1]
        made = {path.relative_to(home / "first").as_posix() for path in (home / "first").rglob("*") if path.is_file()}
        assert {
            "report.md", "report.html", "certificate.md", "results.json", "plot.svg", "change.patch", "backup.patch",
            "traces/before.json", "traces/after.json",
        } == made  # fmt: skip
        page = (home / "first" / "report.html").read_text()
        assert made - {"plot.svg", "report.html"} == set(re.findall(r'<a href="([^"]+)">', page))
        assert "<svg " in page
        assert before == {path: digest for path, digest in state(home).items() if "/first/" not in path}
        self.check_report((home / "first" / "report.md").read_text())
        found = json.loads((home / "first" / "results.json").read_text())
        assert (1, "goal reached", "exact") == (found["schema"], found["outcome"], found["final_numbers"]["name"])
        assert found["final"]["low"] >= 1.3

        assert 0 == cli.main([*command, "--out", "second", "--resume", "--apply", "--certificate", "held"])
        captured = capsys.readouterr()
        assert "written: train.py\n" == captured.out.splitlines(keepends=True)[-1]
        assert "(known from an earlier run)" in captured.err
        assert (home / "train.py").read_text() == FAST
        (held,) = (home / "held").iterdir()
        assert re.fullmatch(r"optimize_train_\d{8}_\d{6}\.md", held.name)
        assert held.read_text() == (home / "second" / "certificate.md").read_text()
        assert 0 == cli.main(["certificate", "verify", "second/certificate.md"])
        assert 0 == cli.main(["optimize", "--undo", "second"])
        assert (home / "train.py").read_text() == BEFORE
        assert 1 == cli.main(["certificate", "verify", "second/certificate.md"])
        assert "train.py has changed\n" in capsys.readouterr().out
        assert 2 == cli.main(["optimize", "--undo", "second"])

    def check_report(self, text: str) -> None:
        headings = [line for line in text.splitlines() if line.startswith("#")]
        assert [
            "## Optimization Summary",
            "### Optimizations Applied (in order)",
            "### Cumulative Results",
            "### Remaining Opportunities",
            "## Optimization Applied: patch fast.patch",
            "### Prerequisites Checked",
            "### Implementation",
            "### Validation",
            "### Result",
        ] == headings

    def test_a_wrong_patch_is_rolled_back_and_not_tried_again(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (home / "wrong.patch").write_text(WRONG)
        before = state(home)
        for said in ("numbers: ", "(known from an earlier run)"):
            assert 1 == cli.main(
                ["optimize", "train.py", "--patch", "wrong.patch", "--steps", "8", "--out", ".torchlint/x"]
            )
            captured = capsys.readouterr()
            assert captured.err.startswith("Rolled back: patch wrong.patch at train.py: numbers: ")
            assert said in captured.err
            assert "DO_NOT_RECOMMEND; the report is in .torchlint/x\n" in captured.out
        assert before == state(home)

    @pytest.mark.parametrize(
        ("source", "code", "said"),
        [
            (
                "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\np.parse_args()",
                2,
                "train.py does not run: exit code 2; its own arguments come after --",
            ),
            ("raise ValueError('no data')", 2, "train.py does not run: ValueError: no data, at train.py:1"),
            ("open('/outside.txt', 'w')", 2, "train.py writes to /outside.txt, outside of its copy"),
            (
                "import torch\ntry:\n    torch.save({}, '/outside.pt')\nexcept BaseException:\n    pass",
                2,
                "train.py writes to /outside.pt, outside of its copy",
            ),
            ("import sys\nprint('x')", 0, "ADVISORY_ONLY"),
        ],
    )
    def test_a_hard_program_ends_with_a_sentence_and_the_tree_as_it_was(
        self, source: str, code: int, said: str, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (home / "train.py").write_text(source + "\n")
        before = state(home)
        assert code == cli.main(["optimize", "train.py"])
        captured = capsys.readouterr()
        assert said in captured.out + captured.err
        assert before == state(home)

    def test_a_patch_that_does_not_apply_is_said(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (home / "old.patch").write_text(PATCH.format(20).replace("range(200)", "range(300)"))
        assert 1 == cli.main(["optimize", "train.py", "--patch", "old.patch", "--steps", "4"])
        assert "Not applied: patch old.patch: the patch does not apply: " in capsys.readouterr().err

    def test_what_there_was_no_time_for_is_not_called_tried(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        command = ["optimize", "train.py", "--patch", "fast.patch", "--steps", "2", "--seconds", "0.1", "--out", "late"]
        assert 3 == cli.main(command)
        late = "it was not tried: the time was over"
        captured = capsys.readouterr()
        assert f"Not applied: patch fast.patch at train.py: {late}\n" == captured.err
        assert "| 1 | patch fast.patch | train.py | not raced | - | Not applied |" in captured.out
        assert f"{late}. Next: give it more time (--seconds)." in captured.out
        assert "NEEDS_FURTHER_REVIEW" in captured.out
        assert not (home / ".torchlint" / "history.jsonl").exists()

    def test_a_program_that_differs_from_itself_forks_and_catches_everything_is_not_decided(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        head = "import os\nif os.fork() == 0:\n    import time\n    time.sleep(60)\n"
        loop = BEFORE.replace("manual_seed(0)", "manual_seed(int.from_bytes(os.urandom(4), 'big'))")
        caught = "\n".join(f"    {line}" for line in loop.replace("range(8)", "range(10 ** 9)").splitlines())
        (home / "train.py").write_text(f"{head}try:\n{caught}\nexcept BaseException:\n    pass\n")
        (home / "fast.patch").write_text(
            "--- a/train.py\n+++ b/train.py\n@@ -13,3 +13,3 @@\n         with torch.no_grad():\n"
            "-            for _ in range(200):\n+            for _ in range(20):\n                 model(x)\n"
        )
        before = state(home)
        assert 3 == cli.main(["optimize", "train.py", "--patch", "fast.patch", "--steps", "4"])
        captured = capsys.readouterr()
        assert "the numbers can't be judged: the program differs from itself when it is run again" in captured.err
        assert "NEEDS_FURTHER_REVIEW" in captured.out
        assert before == state(home)

    @pytest.mark.parametrize("command", [["optimize", "train.py"], ["compare", "train.py", "train.py"]])
    def test_a_full_disk_is_said(
        self, command: list[str], home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(source: object, target: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device", str(target))

        before = state(home)
        monkeypatch.setattr("shutil.copy2", full)
        assert 2 == cli.main(command)
        assert capsys.readouterr().err.endswith(": No space left on device\n")
        assert before == state(home)


def test_a_file_of_the_report_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    report.put(tmp_path / "report.md", b"whole")
    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match=re.escape(f"No space left on device: '{tmp_path / 'certificate.md'}'")):
        report.put(tmp_path / "certificate.md", b"half")
    assert ["report.md"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("free", "code", "said"),
    [
        (65535, 70, "no space is left on the device of /tmp/runs, where runs write"),
        (65536, 70, "exit code 70"),
        (10**9, -9, "SIGKILL"),
    ],
)
def test_a_run_that_filled_the_disk_left_no_word(
    free: int, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from torchlint.runner import server

    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=free))
    assert said == server._last_word(code, "/tmp/runs/one")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "what is to be run? Give one ENTRY"),
        (["missing.py"], "missing.py: no such script (a function is written pkg.module:function)"),
        (["missing.py", "--seconds", "5", "--", "--epochs", "1"], "missing.py: no such script"),
        (["--undo", "nowhere"], "nowhere is no folder of an optimization: it has no backup.patch"),
    ],
)
def test_what_can_not_be_done_is_said(
    arguments: list[str], said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == cli.main(["optimize", *arguments])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("given", "said"), [("--goal=0.9", "is no gain"), ("--latency=20%", "write --latency=-20%")])
def test_goals_are_gains(given: str, said: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["optimize", "train.py", given])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verdict", "known"), [("no gain", True), ("slower", True), ("undecided", False), ("too noisy", False)]
)
def test_what_was_not_decided_is_tried_again(verdict: str, known: bool, tmp_path: Path) -> None:
    candidate = Candidate("TL501 x", "train.py:1", "", "", "safe", "exact", {}, "-a\n+b\n")
    race = raced(verdict, 0.9, 1.0, 1.1)
    tried = Tried(candidate, after_race(race), raced=race)
    path = tmp_path / "history.jsonl"
    History(path, "first").add("state", candidate, tried)
    assert (tried.decision if known else None) == History.read(path, "second").known("state", candidate)


class TestCandidates:
    CHECKED = BEFORE.replace(
        "torch.manual_seed(0)\n", "torch.manual_seed(0)\ntorch.autograd.set_detect_anomaly(True)\n"
    )

    NORMED = "import torch\nmodel = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.BatchNorm2d(8))\n"

    def found(
        self, lab: Lab, project: Project, suggestions: bool = False, source: str = CHECKED, select: str = ""
    ) -> list[Candidate]:
        tried = version(project, source.replace("zero_grad()", "zero_grad(set_to_none=False)"))
        finder = Finder(lab.space, tried, [], "rounding", select, suggestions=suggestions)
        return list(finder.fixes(tried.overlay))

    def test_rules_in_preview_are_tried_where_they_are_named(self, lab: Lab, project: Project) -> None:
        assert [] == self.found(lab, project, source=self.NORMED)
        (named,) = self.found(lab, project, source=self.NORMED, select="TL704")
        assert ("TL704 conv-bias-before-batchnorm", "init") == (named.name, named.allowed)

    def test_suggestions_are_left_alone(self, lab: Lab, project: Project) -> None:
        (only,) = self.found(lab, project, False)
        assert ("TL501 grads-filled-with-zeros", "unsafe") == (only.name, only.risk)

    def test_they_are_tried_where_that_is_asked_for_after_all_fixes(self, lab: Lab, project: Project) -> None:
        fix, suggestion = self.found(lab, project, True)
        assert "TL501 grads-filled-with-zeros" == fix.name
        assert ("TL504 debug-mode-left-on", "train.py:3", "suggestion") == (
            suggestion.name,
            suggestion.place,
            suggestion.risk,
        )
        changed = [line for line in suggestion.diff.splitlines() if line[0] in "+-"][2:]
        assert ["-torch.autograd.set_detect_anomaly(True)"] == changed
