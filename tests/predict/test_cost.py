"""What findings cost: the step of a run with and without them, as the reports tell it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from torchlint.evidence.advice import advise
from torchlint.evidence.confirm import discover
from torchlint.evidence.cost import Pricing, cheapness
from torchlint.evidence.tracing import Child, Trace
from torchlint.messages.event import Event, Operation
from torchlint.messages.job import Job
from torchlint.predict.constants import assumed, from_json, to_json
from torchlint.predict.estimate import at_batch, band
from torchlint.predict.gpus import GPUS
from torchlint.report import Look
from torchlint.report.trace import Report, as_json, text
from torchlint.report.trace_html import page
from torchlint.system.failure import Failure

PROGRAM = "import torch\nfor x in loader:\n    x = x.to(device)\n    loss = model(x)\n    print(loss.item())\n"
PAGEABLE: dict[str, object] = {"pinned": False, "blocking": True}


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def run(*, loader: float = 0.0, batch: int = 8, products: int = 10) -> list[Event]:
    """Four steps: a batch of 64 MiB, matrix products of two milliseconds each on an H100, and a read."""
    file = str(Path("train.py").resolve())
    copy = Operation("h2d", "to", "pageable-blocking", bytes=2**26 * batch // 8, launches=0, file=file, line=3)
    product = Operation("matrix", "mm", "float32", flops=10**11 * batch // 8, bytes=10**6, file=file, line=4)
    read = Operation("sync", "item", launches=0, file=file, line=5)
    rows, sequence = [list(copy), list(product), list(read)], [0, *[1] * products, 2]
    return [
        Event("start", name="virtual", detail="2.13.0", data={"python": "3.11"}),
        *(Event("step", step=step, data={"seconds": float(step)}) for step in range(1, 5)),
        *(Event("h2d", file, 3, "", "to", "pageable, blocking", step=n, size=2**26, data=PAGEABLE) for n in range(4)),
        *(Event("sync", file, 5, "", "item", step=n, count=1) for n in range(4)),
        *(Event("data", file, 2, "", "DataLoader", step=n, data={"seconds": loader}) for n in range(4) if loader),
        Event("precision", file, 4, "", "float32"),
        Event("work", step=4, data={"rows": rows, "sequence": sequence, "batch": batch}),
        Event("end", name="stopped", detail="after 4 steps"),
    ]


def report(events: list[Event], pricing: Pricing) -> Report:
    prediction = pricing.predict(events)
    assert prediction is not None
    found = sorted(prediction.priced(discover(events)), key=cheapness)
    trace = Trace(Job("train.py", (), "eager", ""), (Child("eager", tuple(events), 0, "", "", 1.0),))
    return Report(trace, (), tuple(found), predicted_step=prediction)


def test_findings_are_in_the_order_of_what_they_cost() -> None:
    found = report(run(), Pricing.of("h100")).discovered

    assert [("TLT11", "large"), ("TLT06", "large"), ("TLT01", "negligible")] == [
        (one.code, band(one.evidence.saves[1])) for one in found if one.evidence and one.evidence.saves
    ]


def test_what_takes_most_of_the_step_is_the_primary_bottleneck() -> None:
    pricing = Pricing.of("h100")

    def bottleneck(events: list[Event]) -> str:
        prediction = pricing.predict(events)
        assert prediction is not None
        return advise(events, prediction.estimate).bottleneck

    assert "matrix products in float32" == bottleneck(run())
    assert "blocking copies" == bottleneck(run(products=1))
    assert "data loading" == bottleneck(run(loader=0.5))


def test_the_report_says_what_is_assumed_and_tells_no_milliseconds_of_a_finding() -> None:
    lines = text(report(run(), Pricing.of("h100")), Look()).splitlines()
    first = lines.index("Predicted step on NVIDIA H100 80GB SXM (assumed constants)")

    assert [
        "  about 33 ms (20 ms to 52 ms), device-bound",
        "  all that is priced below, mended together: large, over 20 % of a step (savings do not add up)",
    ] == [lines[first + 1], lines[first + 4]]
    assert "    costs: large, over 20 % of a step" in lines
    assert not any("costs" in line and " ms" in line for line in lines)


def test_milliseconds_are_told_of_a_gpu_that_was_measured(tmp_path: Path) -> None:
    measured = replace(assumed(GPUS["h100"]), wide=1.15, calibrated="NVIDIA H100 on 2026-11-20")
    (tmp_path / "h100.json").write_text(to_json(measured, "h100"))
    lines = text(report(run(), Pricing.of("h100", tmp_path / "h100.json")), Look()).splitlines()

    assert "Predicted step on NVIDIA H100 80GB SXM (measured on NVIDIA H100 on 2026-11-20)" in lines
    assert any("costs: large" in line and ", about 18 ms" in line for line in lines)


def test_for_machines() -> None:
    told = json.loads(as_json(report(run(), Pricing.of("h100")), Look()))

    assert ("NVIDIA H100 80GB SXM", "device", None) == tuple(
        told["prediction"][key] for key in ("gpu", "bound", "calibrated")
    )
    assert told["prediction"]["seconds"][0] < told["prediction"]["seconds"][1] < told["prediction"]["seconds"][2]
    assert [3, 3, 3] == [len(one["evidence"]["saves"]) for one in told["findings"]]


def test_the_page_has_a_picture_of_the_two_lanes_and_the_file_one_for_perfetto() -> None:
    made = report(run(), Pricing.of("h100"))
    html = page(made, Look())
    assert made.predicted_step is not None
    trace = json.loads(made.predicted_step.chrome_trace())["traceEvents"]

    assert "<h2>Predicted step on NVIDIA H100 80GB SXM</h2>" in html
    assert "<title>waits: item train.py:5</title>" in html
    assert {"host (predicted)", "device (predicted)"} == {one["args"]["name"] for one in trace if one["ph"] == "M"}
    assert 10 == sum(one["name"] == "mm" and one["tid"] == 2 for one in trace)


# --- another batch -----------------------------------------------------------------------------------------------


def test_another_batch_is_as_if_it_had_been_recorded() -> None:
    pricing = Pricing.of("h100")
    assumed_64, recorded_64 = pricing.predict(run(batch=8), run(batch=16), 64), pricing.predict(run(batch=64))
    assert assumed_64 is not None
    assert recorded_64 is not None

    assert assumed_64.estimate.seconds == recorded_64.estimate.seconds
    assert "batches of 64 in place of 8" == assumed_64.note


@pytest.mark.parametrize(
    ("larger", "batch", "note"),
    [
        (dict[str, int](batch=16, products=9), 8, "batches of 64 can't be assumed: other operators run"),
        (
            dict[str, int](batch=16),
            0,
            "batches of 64 can't be assumed: the program makes no DataLoader with a batch_size",
        ),
    ],
)
def test_a_batch_that_can_not_be_assumed_is_told(larger: dict[str, int], batch: int, note: str) -> None:
    found = Pricing.of("h100").predict(run(batch=batch), run(**larger), 64)
    assert found is not None

    assert note == found.note


def test_operators_that_differ_make_no_step() -> None:
    assert at_batch([Operation("matrix", "mm")], [Operation("matrix", "bmm")], (8, 16), 32) is None


def test_events_keep_what_they_are_priced_with(tmp_path: Path) -> None:
    """So that `check --evidence` prices as the traced run did: with the calibration and the host of that one."""
    measured = replace(assumed(GPUS["h100"]), matrix=0.31, calibrated="NVIDIA H100, 2026-11-20")
    (tmp_path / "h100.json").write_text(to_json(measured, "h100"))
    pricing = Pricing.of("h100", tmp_path / "h100.json", (7.0, 9.0))
    noted = [pricing.noted(event, "h100") for event in run(batch=8)]

    assert pricing == Pricing.of_events([Event.from_json(event.to_json()) for event in noted])
    assert Pricing.of("h100") == Pricing.of_events([replace(e, name="h100") for e in run() if e.kind == "work"])
    assert Pricing.of_events([Event("step", step=1)]) is None


@pytest.mark.parametrize("told", [[], {}, {"matrix": 1}, {"matrix": "fast"}, 3])
def test_constants_of_events_that_are_none_are_told(told: object) -> None:
    with pytest.raises(Failure, match="the events have no constants of h100"):
        Pricing.of_events([Event("work", name="h100", data={"constants": told})])


# --- mistakes ----------------------------------------------------------------------------------------------------


def test_an_unknown_gpu_is_named_with_the_known_ones() -> None:
    with pytest.raises(Failure, match="there are no figures of a GPU `h1000`; there are those of a100"):
        Pricing.of("h1000")


@pytest.mark.parametrize("written", ["", "[]", '{"gpu": "h100"}', '{"gpu": "h100", "matrix": "fast"}'])
def test_a_file_that_is_no_calibration_is_refused(written: str, tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(written)
    with pytest.raises(Failure, match="is no calibration that `torchlint calibrate` wrote"):
        from_json(tmp_path / "own.json")


def test_a_calibration_of_another_gpu_is_refused(tmp_path: Path) -> None:
    (tmp_path / "l4.json").write_text(to_json(assumed(GPUS["l4"]), "l4"))
    with pytest.raises(Failure, match="was measured on l4, not on h100"):
        Pricing.of("h100", tmp_path / "l4.json")


def test_a_run_without_operators_has_no_prediction() -> None:
    assert Pricing.of("h100").predict([Event("step", step=1)]) is None
