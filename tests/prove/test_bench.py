"""`torchlint bench`: what it measures, with what it compares, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from torchlint import cli
from torchlint.messages.order import Done
from torchlint.prove.bench import Bench, Kept, Row, worse
from torchlint.prove.bench_report import text
from torchlint.prove.race import Races, Round, track

from .test_optimize import BEFORE, PATCH

SERVE = """\
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU()).eval()
with torch.inference_mode():
    for request in range(12):
        answer = model(torch.randn(4, 16))
print(f"{answer.sum():.3f}")
"""


class TestComparing:
    KEPT = Kept((0.010, 0.011, 0.010), 1000, 0, "exact")

    @pytest.mark.parametrize(
        ("seconds", "peak", "breaks", "said"),
        [
            ((0.010, 0.011, 0.010), 1000, 0, []),
            ((0.0103, 0.0104, 0.0103), 1000, 0, []),
            ((0.008, 0.030, 0.006), 1000, 0, []),
            ((0.020, 0.021, 0.020), 1000, 0, ["a step takes 1.97 times as long"]),
            ((0.010, 0.011, 0.010), 1051, 0, ["its memory is 1.05 times as much"]),
            ((0.010, 0.011, 0.010), 1000, 2, ["2 graph breaks, 0 before"]),
            ((0.001, 0.001, 0.001), 10, 0, []),
        ],
    )
    def test_only_what_is_worse_for_certain_and_beyond_the_tolerance_is_said(
        self, seconds: tuple[float, ...], peak: int, breaks: int, said: list[str]
    ) -> None:
        row = Row("eager", Done("stopped", breaks=breaks), seconds, peak=peak)
        assert said == worse(row, self.KEPT, 0.05)


def test_start_and_compiling_are_told_apart() -> None:
    row = Row("default", Done("stopped", wall=(7.0, 0.1), compiling=5.0, compiled_at=(1,)))
    assert (2.0, 5.0) == (row.starting, row.compiling)


def test_percentiles_are_of_turns() -> None:
    found = Row("eager", times=tuple(number / 1000 for number in range(101))).percentiles
    assert {50: 0.05, 90: 0.09, 99: 0.099} == {at: round(value, 6) for at, value in found.items()}


def bench(*modes: str, cuda: bool = False) -> Bench:
    rows = [Row(name, Done("stopped", wall=(1.0,), cuda=cuda), (0.01, 0.011, 0.01), (0.01,)) for name in modes]
    return Bench("train.py", tuple(rows), track(Done("stopped", ticks=20, wall=(1.0, *20 * (0.1,))), "cpu"), False)


@pytest.mark.parametrize(
    ("modes", "said"),
    [
        (["eager", "default"], []),
        (["eager", "max-autotune"], ["and max-autotune does what default does"]),
        (["eager", "reduce-overhead", "max-autotune"], ["and reduce-overhead and max-autotune do what default does"]),
    ],
)
def test_what_modes_for_a_gpu_do_without_one_is_said(modes: list[str], said: list[str]) -> None:
    lines = [line for line in text(bench(*modes)).splitlines() if line.startswith("no GPU was used")]
    assert [f"no GPU was used: CUDA graphs and a search for kernels are for one, {one}" for one in said] == lines
    assert "no GPU was used" not in text(bench(*modes, cuda=True))


class TestTrack:
    DONE = Done("stopped", ticks=20, wall=(1.0, *20 * (0.0001,)))

    def test_steps_in_which_something_is_compiled_do_not_count(self) -> None:
        slow = Done("stopped", ticks=20, wall=(1.0, *20 * (0.1,)))
        assert (2, 4) == (track(slow, "cpu").warm, track(slow, "cpu", compiled=[1, 2, 4]).warm)

    def test_what_is_compiled_late_does(self) -> None:
        assert 2 == track(self.DONE, "cpu", compiled=[15]).warm

    def test_each_call_of_a_program_that_serves_is_a_turn(self) -> None:
        assert (5, 1) == (track(self.DONE, "cpu").block, track(self.DONE, "cpu", single=True).block)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").write_text(BEFORE.replace("range(200)", "range(20)"))
    (tmp_path / "slow.patch").write_text(
        PATCH.format(400).replace("-        for _ in range(200)", "-        for _ in range(20)")
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that no load disturbs: in a race each turn of the last version takes 20 ms, each of the others 1 ms."""
    count = Races._counted

    def counted(races: Races, done: Sequence[Done]) -> Round | str:
        turns = [(0.001,) * len(one.cpu) for one in done[:-1]] + [(0.020,) * len(done[-1].cpu)]
        return count(races, [replace(one, cpu=cpu) for one, cpu in zip(done, turns, strict=True)])

    monkeypatch.setattr(Races, "_counted", counted)


@pytest.mark.torch
@pytest.mark.usefixtures("warm")
class TestRuns:
    @pytest.mark.usefixtures("steady")
    def test_a_slower_version_ends_with_1_and_so_does_what_is_worse_than_before(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run = ["bench", "train.py", "--steps", "8", "--seconds", "1"]
        assert 1 == cli.main([*run, "--against", "slow.patch", "--save", "kept.json", "--plot", "plot.svg"])
        captured = capsys.readouterr()
        assert captured.err.startswith("error: slow.patch is slower than eager: 0.05")
        lines = captured.out.splitlines()
        assert "train.py: CPU seconds of this machine, 3 rounds, in lock-step" == lines[0]
        assert ["eager", "slow.patch"] == [line.split()[0] for line in lines[3:5]]
        assert "exact" == lines[4].split()[-1]
        assert (home / "plot.svg").read_text().startswith("<svg ")

        kept = json.loads((home / "kept.json").read_text())
        for one in kept["candidates"]:
            one["seconds"] = [second / 50 for second in one["seconds"]]
        (home / "kept.json").write_text(json.dumps(kept))
        assert 1 == cli.main([*run, "--compare", "kept.json", "--output-format", "json"])
        captured = capsys.readouterr()
        assert "eager" == json.loads(captured.out)["candidates"][0]["name"]
        slower, gone = captured.err.splitlines()
        assert slower.startswith("error: worse than before: eager: a step takes ")
        assert "error: worse than before: slow.patch: it was measured before, and is not now" == gone

    def test_a_program_that_serves_has_its_calls_measured_and_compiled(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (home / "serve.py").write_text(SERVE)
        command = ["bench", "serve.py", "--seconds", "1", "--backends", "aot_eager,missing"]
        assert 0 == cli.main([*command, "--output-format", "json"])
        found = json.loads(capsys.readouterr().out)
        eager, compiled, missing = found["candidates"]
        assert (True, 1) == (found["latency"], found["track"]["block"])
        assert (0, 0, "") == (eager["compile"], eager["breaks"], eager["numbers"])
        assert ("aot_eager", "", 0) == (compiled["name"], compiled["failure"], compiled["breaks"])
        assert compiled["compile"] > 0
        assert compiled["numbers"] in ("exact", "rounding")
        assert eager["percentiles"]["50"] <= eager["percentiles"]["99"]
        assert missing["failure"].startswith("missing does not run: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "what is to be run? Give one ENTRY"),
        (["missing.py", "--modes", "eager,default"], "missing.py: no such script"),
        (["train.py", "--compare", "missing.json"], "missing.json: No such file or directory"),
        (["train.py", "--compare", "train.py"], "train.py holds no measurement of torchlint bench"),
    ],
)
def test_what_can_not_be_done_is_said(
    arguments: list[str], said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == cli.main(["bench", *arguments])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--modes=fast", "there is no mode 'fast'; there are eager, program, "),
        ("--backends=../x", "'../x' is no name of a backend"),
        ("--tolerance=5", "'5' is no share; write 5%"),
    ],
)
def test_options_are_checked(given: str, said: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["bench", "train.py", given])
    assert said in capsys.readouterr().err
