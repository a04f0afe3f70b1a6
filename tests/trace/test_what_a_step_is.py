"""What counts as a step of a program, and what is told of it while it still lives; in this process, without a child."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("torch")

import torch

import torchlint
from tests.trace.programs import Traced
from torchlint.messages.event import Event
from torchlint.trace.compiled.recording import compiled_code
from torchlint.trace.eager.observe import DistributedFacts
from torchlint.trace.program.entry import trains
from torchlint.trace.program.reach import reached
from torchlint.trace.program.recorder import Recorder
from torchlint.trace.program.stop import CALLS_BEFORE_TRAINING, Budget, Steps, Stop, count_steps

pytestmark = pytest.mark.torch

INFERENCE = """\
import torch, torchlint
model, head = torch.nn.Sequential(torch.nn.Linear(4, 4)), torch.nn.Linear(4, 1)
model(torch.ones(2, 4))
for batch in range(3):
    x = model(torch.ones(2, 4))
    for part in x: head(part)
    pass
"""
TRAINING = """\
import torch, torchlint
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in range(3):
    for view in range(2): loss = model(torch.ones(2, 4)).sum()
    loss.backward()
    optimizer.step()
"""

Told = list[tuple[str, str]]
Stepped = Callable[..., Told]


@pytest.fixture
def steps_of(tmp_path: Path) -> Stepped:
    """The steps of a program, each with what it is and the line where that is told."""

    def run(source: str, step_at: int | None = None) -> Told:
        script = tmp_path / "train.py"
        script.write_text(dedent(source))
        told: Told = []
        steps = Steps(lambda what, where: told.append((what, where.rpartition("/")[2])), explicit=step_at is not None)
        at = None if step_at is None else (str(script), step_at)
        recorder = Recorder(tmp_path / "events.jsonl")
        with count_steps(steps), reached(recorder, {}, at, lambda: steps.told("line")):
            runpy.run_path(str(script), run_name="__main__")
        recorder.close()
        return told

    return run


def test_calls_of_modules_are_no_steps_of_a_program_that_trains(steps_of: Stepped) -> None:
    assert [("", "")] * 3 == steps_of(TRAINING)


def test_the_first_backward_pass_ends_the_counting_of_calls(steps_of: Stepped) -> None:
    source = TRAINING.replace("optimizer = torch.optim.SGD(model.parameters(), lr=0.1)", "")

    assert [("call", "train.py:5"), *[("backward", "")] * 3] == steps_of(source.replace("    optimizer.step()\n", ""))


def test_without_training_the_loop_whose_module_is_called_again_first_counts(steps_of: Stepped) -> None:
    assert [("call", "train.py:6")] * 5 == steps_of(INFERENCE)


def test_of_a_program_that_trains_only_the_first_calls_count() -> None:
    told: Told = []
    steps = Steps(lambda what, where: told.append((what, where)), trains=True)
    model = torch.nn.Linear(2, 2)
    with count_steps(steps):
        for _ in range(2 * CALLS_BEFORE_TRAINING):
            model(torch.ones(2))
        model(torch.ones(2)).sum().backward()

    assert ["call"] * CALLS_BEFORE_TRAINING + ["backward"] == [what for what, _ in told]


def test_an_optimizer_that_is_made_anew_goes_on_counting(steps_of: Stepped) -> None:
    warm_up = TRAINING.replace(
        "    optimizer.step()\n",
        "    optimizer.step()\n    if batch == 1: optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n",
    )
    folds = "def fold():\n" + "".join(f"    {line}\n" for line in TRAINING.splitlines()) + "for _ in range(2): fold()\n"

    assert steps_of(warm_up) == [("", "")] * 3
    assert steps_of(folds) == [("", "")] * 6


def test_two_optimizers_that_stay_take_one_step_together(steps_of: Stepped) -> None:
    both = TRAINING.replace(
        "    optimizer.step()\n", "    optimizer.step()\n    if batch: other.step()\n    other.step()\n"
    )
    both = both.replace("for batch", "other = torch.optim.SGD(model.parameters(), lr=0.1)\nfor batch", 1)

    assert steps_of(both) == [("", "")] * 5


def test_a_module_inside_a_module_is_none_of_its_own(steps_of: Stepped) -> None:
    assert [] == steps_of(
        "import torch\nlayer = torch.nn.Linear(2, 2)\ntorch.nn.Sequential(layer, layer)(torch.ones(2))\n"
    )


def test_from_the_first_told_step_on_only_told_ones_count(steps_of: Stepped) -> None:
    told = steps_of(TRAINING.replace("    optimizer.step()", "    optimizer.step(); torchlint.step()"))

    assert [("", ""), *[("torchlint.step", "")] * 3] == told


def test_a_line_that_is_reached_is_the_only_step(steps_of: Stepped) -> None:
    assert [("line", "")] * 3 == steps_of(INFERENCE, step_at=7)
    assert [("line", "")] * 3 == steps_of(TRAINING, step_at=6)


def test_told_steps_do_nothing_outside_a_traced_run() -> None:
    torchlint.step()


# --- how many are enough -----------------------------------------------------------------------------------------


def steps_until_stopped(recorder: Recorder, kinds: Iterable[str], *, trains: bool) -> int:
    """How many of these steps a program takes that is stopped after two."""
    budget = Budget(recorder, 2, 60.0, lambda why: None, trains=trains)
    try:
        for kind in kinds:
            recorder.end_step(kind)
            budget.check(kind)
    except Stop:
        pass
    finally:
        budget.end()
    return recorder.step


def test_calls_end_a_program_that_does_not_train(recorder: Recorder) -> None:
    assert 2 == steps_until_stopped(recorder, ["call"] * 5, trains=False)


def test_calls_before_training_are_not_what_a_program_is_about(recorder: Recorder) -> None:
    assert 7 == steps_until_stopped(recorder, [*["call"] * 5, *["backward"] * 5], trains=True)


def test_steps_of_another_kind_begin_the_count_anew(recorder: Recorder) -> None:
    assert 3 == steps_until_stopped(recorder, ["", "torchlint.step", "torchlint.step"], trains=False)


def test_a_script_says_that_it_trains(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAINING)
    assert trains(str(script))
    script.write_text(INFERENCE)
    assert not trains(str(script))
    assert not trains("package.module:train")


# --- what is told while the program lives ------------------------------------------------------------------------


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    made = Recorder(tmp_path / "events.jsonl")
    yield made
    made.close()


def events_of(recorder: Recorder) -> list[Event]:
    return [Event.from_json(line) for line in recorder.path.read_text().splitlines()]


def test_what_is_compiled_is_told_once_and_when_it_is_called(recorder: Recorder) -> None:
    with torch.compiler.set_stance("force_eager"), compiled_code(recorder):
        double = torch.compile(lambda x: x * 2)
        assert [] == events_of(recorder)
        double(double(torch.ones(1)))

    assert ["compiles"] == [event.kind for event in events_of(recorder)]


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")
def test_ddp_that_is_gone_at_the_end_has_said_what_it_is(apart: Callable[..., Traced], tmp_path: Path) -> None:
    program = apart(
        f"""
        from pathlib import Path
        import torch
        import torch.distributed as dist
        from torchlint.trace.program.recorder import Recorder
        from {DistributedFacts.__module__} import DistributedFacts
        recorder = Recorder(Path({str(tmp_path / "events.jsonl")!r}))
        facts = DistributedFacts(recorder)
        with facts.observed():
            dist.init_process_group("gloo", store=torch._C._distributed_c10d.HashStore(), rank=0, world_size=1)
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4), find_unused_parameters=True)
            model(torch.ones(2, 4)).sum().backward()
            facts.ask()
            del model
            dist.destroy_process_group()
        recorder.close()
        """,
        virtual=False,
    )

    [event] = program.events
    assert event.data is not None
    assert ("ddp", "Linear", True) == (event.kind, event.name, event.data["find_unused_parameters"])
