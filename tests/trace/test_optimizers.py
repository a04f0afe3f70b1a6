"""Optimizers of a traced run: how they take their parameters, and what another way would save."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchlint.messages.event import Event, read_events
from torchlint.predict.changes import Lines, in_lists
from torchlint.predict.constants import assumed
from torchlint.predict.estimate import Estimate, operations_of
from torchlint.predict.gpus import GPUS
from torchlint.trace.eager.optimizers import optimizers
from torchlint.trace.eager.virtual import virtual_gpu
from torchlint.trace.eager.work import WorkLog
from torchlint.trace.program.recorder import Recorder

pytestmark = pytest.mark.torch

Command = Callable[..., Any]


@pytest.fixture
def traced(tmp_path: Path) -> Command:
    """What `torchlint trace --findings` says of TL706 in a program, by line."""

    def run(source: str, *options: str) -> dict[int, dict[str, Any]]:
        (tmp_path / "train.py").write_text(source, "utf-8")
        command = [sys.executable, "-m", "torchlint", "trace", "train.py", "--device", "virtual", "--findings"]
        command += ["--output-format", "json", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        verdicts = json.loads(done.stdout)["verdicts"]
        return {one["line"]: one["evidence"] for one in verdicts if one["code"] == "TL706"}

    return run


OPTIMIZERS = """
import torch
layers = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(40))).cuda()
scale = torch.nn.Parameter(torch.ones(1, device="cuda"))
one_by_one = torch.optim.AdamW(
    layers.parameters(), lr=1e-3, foreach=False,
)
of_one = torch.optim.Adam([scale], foreach=False)
def step():
    loss = (layers(torch.ones(8, 64, device="cuda")) * scale).sum()
    for optimizer in (one_by_one, of_one):
        optimizer.zero_grad()
    loss.backward()
    for optimizer in (one_by_one, of_one):
        optimizer.step()
for _ in range(6):
    step()
"""


def test_an_optimizer_that_takes_parameters_one_by_one_is_confirmed_and_priced(traced: Command) -> None:
    """Both are stepped on one line, and each is priced for itself."""
    found = traced(OPTIMIZERS, "--gpu", "h100")

    assert {
        5: ("confirmed", "AdamW: 80 parameters one after the other"),
        8: ("refuted", "Adam: 1 parameter on a device"),
    } == {line: (told["verdict"], told["detail"]) for line, told in found.items()}
    assert 0.5 < found[5]["saves"][1] < 0.9
    assert found[8].get("saves") is None


def test_an_optimizer_on_the_host_is_refuted(traced: Command) -> None:
    source = OPTIMIZERS.replace(".cuda()", "").replace(', device="cuda"', "")
    source = source.replace("import torch", 'import torch\nx = torch.ones(2, device="cuda")')

    assert [f"{kind}: 0 parameters on a device" for kind in ("AdamW", "Adam")] == [
        each["detail"] for each in traced(source).values()
    ]


def test_an_optimizer_that_never_steps_has_no_verdict(traced: Command) -> None:
    source = OPTIMIZERS.replace("optimizer.step()", "pass") + "torch.optim.SGD(layers.parameters()).step()\n"

    assert {"not reached"} == {each["verdict"] for each in traced(source).values()}


BY_HAND = """
import torch
layers = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(40))).cuda()
for x in torch.ones(6, 8, 64):
    layers(x.cuda()).sum().backward()
    for p in layers.parameters():
        p.data.add_(p.grad, alpha=-0.1)
    layers.zero_grad()
    __import__("torchlint").step()
"""


def test_an_update_by_hand_is_confirmed_and_priced(traced: Command) -> None:
    (told,) = traced(BY_HAND, "--gpu", "h100").values()

    assert ("confirmed", 80.0) == (told["verdict"], told["count"])
    assert 0.1 < told["saves"][1] < 0.5


LINES = (4, 6)


@pytest.mark.parametrize(
    ("kind", "given", "other"),
    [
        ("AdamW", "foreach=False", "foreach=True"),
        ("AdamW", "foreach=True", "fused=True"),
        ("Adam", "", "fused=True"),
        ("SGD", "foreach=False", "foreach=True"),
        ("SGD", "momentum=0.9, foreach=False", "momentum=0.9, foreach=True"),
        ("SGD", "momentum=0.9", "momentum=0.9, fused=True"),
        ("SGD", "", "fused=True"),
        ("RMSprop", "foreach=False", "foreach=True"),
    ],
)
def test_what_is_saved_is_what_the_other_optimizer_does_without(
    kind: str, given: str, other: str, tmp_path: Path
) -> None:
    before, after = recorded(kind, given, tmp_path), recorded(kind, other, tmp_path)
    told = before.saving(in_lists(Lines(os.path.realpath(tmp_path / "train.py"), *LINES))).share.middle
    launches = sum(
        one.launches for one in in_lists(Lines(os.path.realpath(tmp_path / "train.py"), *LINES))(before.operations)
    )

    assert 1 - after.step.seconds / before.step.seconds == pytest.approx(told, abs=0.02)
    assert sum(one.launches for one in after.operations) == pytest.approx(launches, abs=12)


def recorded(kind: str, given: str, folder: Path) -> Estimate:
    source = f"""
def train(torch, steps):
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(50))).cuda()
    optimizer = torch.optim.{kind}(
        model.parameters(), lr=1e-3, {given}
    )
    for _ in range(3):
        model(torch.ones(8, 64, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        steps.end_step("", "")
"""
    program: dict[str, Any] = {}
    exec(compile(source, str(folder / "train.py"), "exec"), program)  # noqa: S102 - lines of its own
    recorder = Recorder(folder / "events.jsonl")
    work = WorkLog(recorder)
    with virtual_gpu(recorder, work=work), optimizers(recorder, work):
        program["train"](torch, recorder)
    work.tell()
    recorder.close()
    return Estimate(operations_of(read_events(folder / "events.jsonl")), GPUS["h100"], assumed(GPUS["h100"]))


# --- how an optimizer takes its parameters -----------------------------------------------------------------------


def made(tmp_path: Path, optimizer: Callable[[], Any]) -> list[Event]:
    recorder = Recorder(tmp_path / "events.jsonl")
    with virtual_gpu(recorder), optimizers(recorder, None):
        for _ in range(2):
            optimizer().step()
    recorder.close()
    return [event for event in read_events(tmp_path / "events.jsonl") if event.kind == "optimizer"]


def parameters(*sizes: int) -> list[Any]:
    found = [torch.nn.Parameter(torch.ones(size, device="cuda")) for size in sizes]
    for one in found:
        one.grad = torch.ones_like(one)
    return found


def test_the_largest_group_on_the_device_counts(tmp_path: Path) -> None:
    def optimizer() -> Any:
        groups = [{"params": parameters(1)}, {"params": parameters(2, 3, 4), "foreach": False}]
        return torch.optim.SGD(groups, lr=0.1, foreach=True)

    assert {("SGD", "3 parameters one after the other", "single")} == {
        (event.name, event.detail, str((event.data or {})["how"])) for event in made(tmp_path, optimizer)
    }


def test_parameters_without_gradients_do_not_count(tmp_path: Path) -> None:
    def optimizer() -> Any:
        some = parameters(1, 2, 3)
        some[0].grad = some[1].grad = None
        return torch.optim.Adam(some, foreach=False)

    assert {"1 parameter on a device"} == {event.detail for event in made(tmp_path, optimizer)}


def test_an_optimizer_without_such_a_choice_tells_nothing(tmp_path: Path) -> None:
    class Own(torch.optim.Optimizer):  # type: ignore[misc,name-defined]
        def __init__(self, parameters: Any) -> None:
            super().__init__(parameters, {"lr": 0.1})

        def step(self, closure: Any = None) -> None:
            pass

    assert [] == made(tmp_path, lambda: Own(parameters(1, 2, 3)))


def test_what_a_closure_runs_is_not_the_optimizer_s(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "events.jsonl")
    work = WorkLog(recorder)
    with virtual_gpu(recorder, work=work), optimizers(recorder, work):
        model = torch.nn.Linear(4, 4).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def closure() -> float:
            loss = model(torch.ones(2, 4, device="cuda")).sum()
            loss.backward()
            return float(loss)

        optimizer.step(closure)
        torch.ones(2, device="cuda").add(1)
    work.tell()
    recorder.close()
    owned = {(one.name, bool(one.owner)) for one in operations_of(read_events(tmp_path / "events.jsonl"))}

    assert ("_foreach_add_", True) in owned
    assert {"_foreach_add_"} == {name for name, own in owned if own}
