"""Races: what decides them, how often they are wrong, and how they are run."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from torchlint.messages.order import Done, Order
from torchlint.prove.intervals import Rule, interval, t_quantile
from torchlint.prove.lab import Conditions, Lab
from torchlint.prove.race import Raced, Races, Track, track
from torchlint.prove.runs import Runner
from torchlint.prove.workspace import Project, Workspace

from .conftest import version

POOL: dict[str, list[list[list[float]]]] = json.loads(Path(__file__).with_name("rounds.json").read_text("utf-8"))
"""42 recorded rounds of 16 pairs of programs, on two busy cores: by CPU and by wall clock, the logarithm of the effect and
that of the control."""
CPU, WALL = 0, 1


def decided(effects: Sequence[float], controls: Sequence[float], rule: Rule) -> tuple[str, int]:
    """The verdict, and after how many rounds."""
    at = 0
    for at in rule.looks:
        verdict = rule.judge(effects[:at], controls[:at])
        if verdict != "undecided":
            return verdict, at
    return rule.give_up(effects, controls), at


class TestIntervals:
    @pytest.mark.parametrize(
        ("probability", "freedom", "value"),
        [(0.975, 1, 12.7062), (0.975, 2, 4.3027), (0.975, 10, 2.2281), (0.995, 5, 4.0321), (0.95, 30, 1.6973)],
    )
    def test_quantiles_are_those_of_the_tables(self, probability: float, freedom: int, value: float) -> None:
        assert value == round(t_quantile(probability, freedom), 4)

    def test_an_interval_is_students(self) -> None:
        found = interval([1.0, 2.0, 3.0], 0.05)
        assert (2.0, -0.4841, 4.4841) == tuple(round(value, 4) for value in found)

    def test_one_value_says_nothing(self) -> None:
        assert (1.0, -math.inf, math.inf) == interval([1.0], 0.05)


class TestDecisions:
    @pytest.mark.parametrize("clock", [CPU, WALL])
    def test_a_version_seldom_beats_itself(self, clock: int) -> None:
        """400 series of control rounds with random signs, as if one of two equal versions were the other."""
        chance = random.Random(11)
        verdicts: Counter[str] = Counter()
        for rounds in POOL.values():
            for _ in range(25):
                drawn = [one[clock][1] * chance.choice((1, -1)) for one in chance.sample(rounds, 16)]
                controls = [one[clock][1] * chance.choice((1, -1)) for one in chance.sample(rounds, 16)]
                verdicts[decided(drawn, controls, Rule())[0]] += 1
        assert 400 == verdicts.total()
        assert verdicts["faster"] <= 4

    @pytest.mark.parametrize(
        ("program", "least"), [("rows", 20), ("anomaly", 20), ("mha", 20), ("work30", 19), ("work05", 15)]
    )
    def test_what_is_faster_is_found(self, program: str, least: int) -> None:
        assert self.verdicts(program)["faster"] >= least

    @pytest.mark.parametrize("program", ["foreach", "accum", "workslow"])
    def test_what_is_not_faster_is_never_called_so(self, program: str) -> None:
        assert 0 == self.verdicts(program)["faster"]

    def verdicts(self, program: str) -> Counter[str]:
        """Of twenty series of recorded rounds, in random order, by the CPU clock."""
        chance = random.Random(7)
        found: Counter[str] = Counter()
        for _ in range(20):
            drawn = [one[CPU] for one in chance.sample(POOL[program], 16)]
            found[decided([effect for effect, _ in drawn], [drift for _, drift in drawn], Rule())[0]] += 1
        return found

    def test_a_gain_below_what_the_control_shows_is_none(self) -> None:
        gains = [0.020, 0.021, 0.022]
        assert "faster" == Rule().judge(gains, [0.001, -0.001, 0.0])
        assert "no gain" == Rule().judge(gains, [0.025, 0.024, 0.026])

    def test_a_wild_control_makes_it_too_noisy_to_tell(self) -> None:
        wild = [0.5, -0.5, 0.4, -0.6] * 4
        assert "too noisy" == Rule().give_up(wild, wild)

    def test_what_is_far_beyond_a_wild_control_is_measured_all_the_same(self) -> None:
        wild = [0.2, -0.2, 0.1, -0.1]
        rule = Rule(narrow=True)
        assert "slower" == rule.give_up([-2.0, -2.1, -1.9, -2.0], wild)
        assert "faster" == rule.give_up([2.0, 2.1, 1.9, 2.0], wild)
        assert "too noisy" == rule.give_up([0.3, 0.1, 0.2, 0.2], wild)

    def test_a_race_that_measures_goes_on_until_it_is_narrow(self) -> None:
        assert "undecided" == Rule(narrow=True).judge([0.40, 0.45, 0.35], [0.0, 0.0, 0.001])
        assert "faster" == Rule(narrow=True).judge([0.400, 0.401, 0.399], [0.0, 0.0, 0.001])

    def test_a_goal_is_decided_on_either_side_of_it_or_narrowly(self) -> None:
        rule = Rule(goal=1.3)
        assert "undecided" == rule.judge([0.24, 0.30, 0.27], [0.0, 0.0, 0.001])
        assert "faster" == rule.judge([0.40, 0.41, 0.40], [0.0, 0.0, 0.001])
        assert "faster" == rule.judge([0.260, 0.262, 0.261], [0.0, 0.0, 0.001])
        assert "no gain" == rule.judge([0.001, -0.001, 0.0], [0.0, 0.0, 0.001])


class Simulated(Runner):
    """Runs nothing: a step of each version takes as long as its contents say, give or take."""

    def __init__(self, ticks: int = 10, noise: float = 0.02) -> None:
        self.ticks = ticks
        self.noise = noise
        self.chance = random.Random(3)
        self.asked: list[tuple[int, int]] = []

    def lockstep(self, orders: Sequence[Order], seed: int, block: int = 1) -> list[Done]:
        self.asked.append((len(orders), block))
        common = self.chance.gauss(1, 0.2)
        return [self.run(order, common, block) for order in orders]

    def run(self, order: Order, common: float, block: int) -> Done:
        named = Path(order.top, "train.py").read_text()
        if named.startswith("raise"):
            return Done("error", "ValueError: no, at train.py:1", 1)
        step = float(named) * common
        turns = [step * (block or self.ticks) * self.chance.gauss(1, self.noise) for _ in range(self.ticks)]
        ticks = self.ticks + ("more" in order.entry)
        if not block:
            return Done("stopped", ticks=ticks, wall=(9.0, turns[0]), cpu=(9.0, 0.0), usage=9.0 + turns[0], peak=5)
        return Done("stopped", ticks=ticks, wall=tuple(turns), cpu=tuple(turns), peak=int(named == "1") + 5)


Racing = Callable[..., Raced]


@pytest.fixture
def simulated(tmp_path: Path) -> Iterator[tuple[Simulated, Racing]]:
    runner = Simulated()
    with Workspace() as space:
        project = Project((tmp_path / "home").resolve(), (), ())
        space.freeze(project)
        lab = Lab(space, runner, Conditions())

        def race(before: str, after: str, rule: Rule | None = None, seconds: float = 1e9, **how: object) -> Raced:
            races = Races(lab, Track(**how))  # type: ignore[arg-type]
            return races.race(version(project, before), version(project, after), rule or Rule(), seconds)

        yield runner, race


class TestRaces:
    @pytest.mark.parametrize("how", ["lock-step", "whole runs"])
    def test_the_faster_one_wins(self, how: str, simulated: tuple[Simulated, Racing]) -> None:
        _, race = simulated
        raced = race("1.3", "1", how=how, block=1 if how == "lock-step" else 0)
        assert "faster" == raced.verdict
        assert raced.low < 1.3 < raced.high
        assert abs(raced.control.middle) < 0.05

    def test_equal_ones_do_not(self, simulated: tuple[Simulated, Racing]) -> None:
        assert simulated[1]("1", "1").verdict in ("no gain", "undecided")

    def test_a_slower_one_is_said_to_be(self, simulated: tuple[Simulated, Racing]) -> None:
        raced = simulated[1]("1", "1.3")
        assert "slower" == raced.verdict
        assert raced.speedup < 0.8

    def test_noise_that_all_share_does_not_matter(self, simulated: tuple[Simulated, Racing]) -> None:
        runner, race = simulated
        runner.noise = 0.001
        assert ("faster", 3) == ((raced := race("1.05", "1")).verdict, len(raced.rounds))

    def test_seconds_a_step_and_memory_are_of_the_steps_that_count(self, simulated: tuple[Simulated, Racing]) -> None:
        runner, race = simulated
        runner.noise = 0.0
        raced = race("1.5", "1")
        assert raced.before / raced.after == pytest.approx(1.5)
        assert (8, (5, 6)) == (raced.rounds[0].steps, raced.peaks)

    def test_in_whole_runs_each_version_runs_alone(self, simulated: tuple[Simulated, Racing]) -> None:
        runner, race = simulated
        race("1.3", "1", how="whole runs", block=0)
        assert {(1, 0)} == set(runner.asked)

    def test_it_ends_when_the_time_is_up(self, simulated: tuple[Simulated, Racing]) -> None:
        runner, race = simulated
        runner.noise = 0.05
        raced = race("1.02", "1", seconds=0.0)
        assert (3, "undecided") == (len(raced.rounds), raced.verdict)

    def test_a_version_that_fails_is_said_to(self, simulated: tuple[Simulated, Racing]) -> None:
        raced = simulated[1]("1", "raise")
        assert ("broken", "train.py fails while it is raced: ValueError: no, at train.py:1") == (
            raced.verdict,
            raced.reason,
        )


class TestTrack:
    def of(self, **known: object) -> Track:
        done = Done("stopped", ticks=20, wall=(1.0,) + 20 * (0.01,))
        fields = {name: getattr(done, name) for name in Done.__slots__}
        return track(Done(**fields | known), "auto")

    def test_a_step_is_a_turn(self) -> None:
        assert Track("cpu", "lock-step", 1) == self.of()

    def test_short_steps_are_taken_several_at_a_turn(self) -> None:
        assert 5 == self.of(wall=(1.0,) + 20 * (0.001,)).block

    def test_on_a_gpu_the_device_is_waited_for_seldom(self) -> None:
        assert Track("device", "lock-step", 5) == self.of(cuda=True, wall=(1.0,) + 20 * (0.02,))

    def test_other_processes_and_programs_without_steps_are_raced_whole(self) -> None:
        assert ("whole runs", "the program starts other processes") == ((found := self.of(forks=2)).how, found.why)
        assert ("whole runs", "it takes 1 steps") == ((found := self.of(ticks=1)).how, found.why)

    def test_so_are_programs_that_do_not_fit_three_times(self) -> None:
        done = Done("stopped", ticks=20, cuda=True, peak=40, wall=20 * (0.1,))
        assert "whole runs" == track(done, "auto", device_memory=100).how
        assert "lock-step" == track(done, "auto", device_memory=200).how


WORK = """\
import torch
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1000):
    for _ in range(REPEATS):
        loss = model(torch.ones(64, 64)).sum()
    try:
        loss.backward()
        optimizer.step()
    except BaseException:
        continue
"""
FORKING = """\
import os
if os.fork() == 0:
    for _ in range(REPEATS * 1000):
        sum(range(100))
    os._exit(0)
os.wait()
"""


@pytest.mark.torch
class TestProcesses:
    @pytest.fixture
    def race(self, lab: Lab, project: Project, monkeypatch: pytest.MonkeyPatch) -> Racing:
        monkeypatch.setattr(lab, "conditions", Conditions(steps=12))

        def race(source: str, more: int, less: int, how: Track) -> Raced:
            before, after = (version(project, source.replace("REPEATS", str(count))) for count in (more, less))
            return Races(lab, how).race(before, after, Rule(), 60.0)

        return race

    def test_lock_step_tells_what_is_faster_of_programs_that_can_not_be_stopped(self, race: Racing) -> None:
        raced = race(WORK, 400, 50, Track(block=2))
        assert ("faster", 10) == (raced.verdict, raced.rounds[0].steps)
        assert 1.5 < raced.speedup
        assert all(len(times) == 5 for times in raced.rounds[0].times)

    def test_the_time_of_other_processes_counts_in_whole_runs(self, race: Racing) -> None:
        raced = race(FORKING, 200, 50, Track(how="whole runs", block=0))
        assert "faster" == raced.verdict
