"""`torchlint optimize --metric`: what may change in precision, by how much, and what the command may do."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from torchlint import cli
from torchlint.messages.order import PROFILE
from torchlint.prove.candidates import Candidate
from torchlint.prove.decide import Decision, after_metric, after_numbers
from torchlint.prove.history import History
from torchlint.prove.lab import Asked, Lab
from torchlint.prove.metric import HALF, INT8, Measured, Metric, Metrics, limit
from torchlint.prove.numbers import Judgement
from torchlint.prove.optimize import Optimizer, Plan
from torchlint.prove.race import Races, Track
from torchlint.prove.tried import Tried
from torchlint.prove.versions import Version
from torchlint.prove.workspace import Project
from torchlint.system.failure import Failure

from .conftest import version
from .test_optimize import raced

pytestmark = pytest.mark.torch
FASTER = Decision("Applied", "faster: 1.50x, between 1.40 and 1.60")


class TestDecisions:
    @pytest.mark.parametrize(
        ("before", "after", "better", "loss"),
        [
            ((0.90, 0.92, 0.91), (0.90, 0.92, 0.91), "higher", 0.0),
            ((1.0, 1.0), (0.98, 0.98), "higher", 0.02),
            ((2.0, 2.0), (2.02, 2.02), "lower", 0.01),
            ((2.0, 2.0), (1.0, 1.0), "lower", -0.5),
            ((0.0,), (-1.0,), "higher", math.inf),
        ],
    )
    def test_worse_is_in_proportion_and_by_the_mean_of_the_seeds(
        self, before: tuple[float, ...], after: tuple[float, ...], better: str, loss: float
    ) -> None:
        assert loss == pytest.approx(Measured(before, after, HALF, better).loss)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("added", "most"),
        [
            ("+model = model.half()", HALF),
            ("+model = model.bfloat16()", HALF),
            ("+w = w.to(torch.int8)", INT8),
            ("+model = quantize_dynamic(model)", INT8),
            ("-w = w.to(torch.int8)\n+w = w.half()", HALF),
        ],
    )
    def test_integers_of_8_bits_may_cost_twice_as_much(self, added: str, most: float) -> None:
        assert most == limit(f"--- a/quantized.py\n+++ b/quantized.py\n@@ -1 +1 @@\n{added}\n")

    @pytest.mark.parametrize(("after", "status"), [(0.991, "Applied"), (0.989, "Rolled back")])
    def test_one_percent_is_the_limit_of_half_precision(self, after: float, status: str) -> None:
        assert status == after_metric(Measured((1.0,), (after,), HALF, "higher"), FASTER).status

    @pytest.mark.parametrize("name", ["precision", "unknown"])
    def test_it_decides_on_precision_and_on_what_can_not_be_repeated(self, name: str) -> None:
        assert after_numbers(Judgement(name, ("why",)), "rounding", metric=True) is None  # type: ignore[arg-type]

    @pytest.mark.parametrize("name", ["changed", "broken", "init"])
    def test_it_excuses_nothing_else(self, name: str) -> None:
        decision = after_numbers(Judgement(name, ("why",)), "rounding", metric=True)  # type: ignore[arg-type]
        assert decision is not None
        assert "Rolled back" == decision.status


class TestCommand:
    def measured(self, lab: Lab, project: Project, command: str, pattern: str = "") -> Measured:
        metrics = Metrics(lab, Metric(command, pattern))
        return metrics.compare(version(project, "one\n"), version(project, "two\ntwo\n"), "")

    def test_it_runs_in_a_copy_of_each_version_with_each_seed(self, lab: Lab, project: Project) -> None:
        found = self.measured(lab, project, "echo $(wc -l < train.py)$TORCHLINT_SEED")
        assert ((11.0, 12.0, 13.0), (21.0, 22.0, 23.0)) == (found.before, found.after)

    def test_the_number_is_the_last_one_or_what_the_pattern_says(self, lab: Lab, project: Project) -> None:
        said = "echo 'accuracy 0.5, loss 2e-1'"
        assert 0.2 == self.measured(lab, project, said).before[0]
        assert 0.5 == self.measured(lab, project, said, r"accuracy ([\d.]+)").before[0]

    def test_it_may_write_into_its_copy_and_nowhere_else(self, lab: Lab, project: Project, tmp_path: Path) -> None:
        assert 3.0 == self.measured(lab, project, "echo 3 > here && cat here").before[0]
        with pytest.raises(Failure, match=r"ended with [12]: .*Permission denied"):
            self.measured(lab, project, f"echo 3 > {tmp_path}/there")
        assert not (tmp_path / "there").exists()

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("echo none", "--metric: `echo none` printed no number: none"),
            ("echo nan", "printed no number: nan"),
            ("true", "printed no number: nothing"),
            ("echo gone >&2; exit 3", "ended with 3: gone"),
        ],
    )
    def test_what_gives_no_number_is_said(self, lab: Lab, project: Project, command: str, said: str) -> None:
        with pytest.raises(Failure) as failure:
            self.measured(lab, project, command)
        assert said in str(failure.value)


SLOW = """\
import torch
torch.manual_seed(0)
KIND = torch.float64
model = torch.nn.Linear(64, 64).to(KIND)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    x = torch.randn(64, 64).to(KIND)
    for _ in range(300):
        x.square()
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SINGLE = """\
--- a/train.py
+++ b/train.py
@@ -2,3 +2,3 @@
 torch.manual_seed(0)
-KIND = torch.float64
+KIND = torch.float32
 model = torch.nn.Linear(64, 64).to(KIND)
@@ -7,3 +7,3 @@
     x = torch.randn(64, 64).to(KIND)
-    for _ in range(300):
+    for _ in range(30):
         x.square()
"""


@pytest.mark.usefixtures("warm")
def test_a_faster_precision_is_kept_where_the_metric_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").write_text(SLOW)
    (tmp_path / "single.patch").write_text(SINGLE)
    monkeypatch.chdir(tmp_path)
    command = ["optimize", "train.py", "--patch", "single.patch", "--steps", "8", "--goal", "1.2", "--retry"]
    metric = ["--metric", "grep -c float64 train.py; true"]

    assert 1 == cli.main([*command, *metric, "--out", "worse"])
    assert "metric: the metric goes from 1 to 0 over 3 seeds, 1% worse at most" in capsys.readouterr().err

    assert 0 == cli.main([*command, *metric, "--metric-better", "lower", "--profile", "--out", "better"])
    found = json.loads((tmp_path / "better" / "results.json").read_text())
    assert ("goal reached", "precision") == (found["outcome"], found["final_numbers"]["name"])
    assert [1, 1, 1] == found["final_metric"]["before"]
    report = (tmp_path / "better" / "report.md").read_text()
    assert 2 == report.count("| Metric (at most 1% worse) | 1 | 0 | -100.0% |")
    assert "- the metric goes from 1 to 0" in (tmp_path / "better" / "certificate.md").read_text()
    for name in ("before", "after"):
        assert json.loads((tmp_path / "better" / "traces" / f"{name}.profile.json").read_text())["traceEvents"]


@pytest.mark.parametrize("pattern", ["([", "no group", "(two) (groups)"])
def test_a_pattern_has_one_group(pattern: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["optimize", "train.py", "--metric", "x", "--metric-regex", pattern])
    assert repr(pattern) in capsys.readouterr().err


class TestInteraction:
    """At the end each unsafe change is left out of the whole once."""

    FILE = "a = 1\n" + "#\n" * 8 + "b = 1\n"

    def tried(self, lab: Lab, project: Project, tmp_path: Path, verdicts: list[str]) -> Optimizer:
        """Two changes that were applied; without the first, and without the second, the races end like this."""
        original = version(project, self.FILE)
        optimizer = Optimizer(lab, original, Plan(), History(tmp_path / "history.jsonl", "now"))
        text = self.FILE
        for name in ("a", "b"):
            text = text.replace(f"{name} = 1", f"{name} = 2")
            candidate = Candidate(name, "train.py", "", "", "unsafe", "rounding", {"train.py": text.encode()}, "")
            optimizer._tried.append(Tried(candidate, FASTER))

        class Decided(Races):
            def race(self, version: Version, other: Version, *_: object, **__: object):  # type: ignore[no-untyped-def]
                return raced(verdicts.pop(0), 0.8, 0.9, 0.95)

        optimizer._leave_out_what_harms(Decided(lab, Track()))
        return optimizer

    def test_what_harms_the_others_goes(self, lab: Lab, project: Project, tmp_path: Path) -> None:
        optimizer = self.tried(lab, project, tmp_path, ["slower", "faster"])
        assert ["Rolled back", "Applied"] == [one.decision.status for one in optimizer._tried]
        assert {"train.py": self.FILE.replace("b = 1", "b = 2").encode()} == optimizer._state
        assert "with the other changes it costs time" in (tmp_path / "history.jsonl").read_text()

    def test_what_pays_or_can_not_be_told_stays(self, lab: Lab, project: Project, tmp_path: Path) -> None:
        optimizer = self.tried(lab, project, tmp_path, ["undecided", "faster"])
        assert ["Applied", "Applied"] == [one.decision.status for one in optimizer._tried]
        assert {"train.py": self.FILE.replace("= 1", "= 2").encode()} == optimizer._state


def test_the_profiler_writes_what_it_saw(lab: Lab, project: Project) -> None:
    (record,) = lab.record([Asked(version(project, "import torch\ntorch.ones(3).sum().item()\n"), "profiled")])
    assert json.loads((record.folder / PROFILE).read_text())["traceEvents"]
