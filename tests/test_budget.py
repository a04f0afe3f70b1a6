"""Budgets: limits that are set, and those of an earlier run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from torchlint.evidence.budget import (
    Baseline,
    Measure,
    Part,
    Verdict,
    check,
    compare,
    from_json,
    measure,
    parse,
    to_json,
)
from torchlint.messages.event import Event
from torchlint.report import Look
from torchlint.report.budget import as_json, text
from torchlint.system.failure import Failure

MADE_WITH = {"entry": "train.py", "torch": "2.13.0", "device": "virtual", "target": "sm_90"}


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import torch\nfor x in data:\n    x = x.to(device)\n    print(loss.item())\n")


def at(line: int, kind: str, name: str, step: int, **more: object) -> Event:
    return Event(kind, str(Path("train.py").resolve()), line, "<module>", name, step=step, **more)  # type: ignore[arg-type]


def run(*events: Event, steps: int = 4) -> list[Event]:
    return [*(Event("step", step=step) for step in range(1, steps + 1)), *events]


def number(name: str, value: float, *parts: Part) -> Measure:
    return Measure(name, value, parts)


# --- what is written as a budget ---------------------------------------------------------------------------------


def test_limits_by_name() -> None:
    assert {"syncs": 1.0, "kernels": 40.0, "h2d": 0.5} == parse("syncs=1, kernels=40,h2d=.5")


def test_sizes_have_units() -> None:
    assert {"memory": 2.0 * 2**30, "bytes": 1500.0} == parse("memory=2GiB,bytes=1.5KB")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "a budget is NAME=LIMIT,..., such as syncs=1,breaks=0"),
        ("syncs", "`syncs` is no budget; write NAME=LIMIT, such as syncs=1"),
        ("sync=1", "there is no budget `sync`; did you mean `syncs`?"),
        ("syncs=many", "the budget `syncs` has to be a number from 0 on"),
        ("syncs=-1", "the budget `syncs` has to be a number from 0 on"),
        ("syncs=nan", "the budget `syncs` has to be a number from 0 on"),
        ("syncs=1KiB", "the budget `syncs` has to be a number from 0 on"),
        ("memory=big", "the budget `memory` has to be a number from 0 on, or a size such as 2GiB"),
    ],
)
def test_what_is_no_budget_is_named(written: str, message: str) -> None:
    with pytest.raises(Failure) as failure:
        parse(written)

    assert message == str(failure.value)


# --- what is measured --------------------------------------------------------------------------------------------


def test_a_quiet_run_measures_nothing() -> None:
    values = {name: (each.value, each.missing) for name, each in measure(run()).items()}

    assert {**dict.fromkeys(values, (0.0, "")), "kernels": (0.0, "nothing was compiled")} == values


def test_each_number_with_its_lines() -> None:
    pinned = {"pinned": True, "blocking": True}
    events = [at(4, "sync", "item", step, count=2) for step in range(4)]
    events += [at(3, "h2d", "to", step, size=4096, data=pinned) for step in range(4)]
    events += [at(4, "d2h", "cpu", 3, size=8, data=pinned)]
    events += [at(2, "graph_break", "GB0059", step) for step in (0, 1)]
    events += [at(2, "recompile", "size", 1), at(2, "recompile", "size", 2)]
    events += [at(2, "graph", "0/0", step, data={"triton": 3, "extern": 2}) for step in range(4)]
    events += [at(4, "operator", "", step, count=6, size=600) for step in range(4)]
    events += [Event("memory", size=10, step=3, data={"peak": 4096})]
    item, to, loop = "print(loss.item())", "x = x.to(device)", "for x in data:"

    assert {
        "syncs": number("syncs", 2.0, Part("train.py", 4, item, 2.0)),
        "h2d": number("h2d", 1.0, Part("train.py", 3, to, 1.0)),
        "d2h": number("d2h", 0.5, Part("train.py", 4, item, 0.5)),
        "bytes": number("bytes", 4100.0, Part("train.py", 3, to, 4096.0), Part("train.py", 4, item, 4.0)),
        "memory": number("memory", 4096.0),
        "breaks": number("breaks", 1, Part("train.py", 2, loop, 1)),
        "recompiles": number("recompiles", 2, Part("train.py", 2, loop, 2)),
        "kernels": number("kernels", 5.0, Part("train.py", 2, loop, 5.0)),
        "operators": number("operators", 6.0, Part("train.py", 4, item, 6.0)),
        "traffic": number("traffic", 600.0, Part("train.py", 4, item, 600.0)),
    } == measure(run(*events))


def test_what_was_not_measured_is_over() -> None:
    measures = measure(run(), lambda name: "the compile pass failed" if name == "breaks" else "")

    assert [("syncs", False), ("breaks", True)] == [
        (verdict.measure.name, verdict.over) for verdict in check(measures, {"breaks": 9, "syncs": 0})
    ]


@pytest.mark.parametrize(
    ("event", "missing"),
    [
        (
            at(2, "unsupported", "Triton code generation", 0, detail="LoweringException"),
            {"kernels": "the code of the graph at train.py:2 could not be generated"},
        ),
        (
            at(2, "graph", "0/1", 0, data={"backend": "aot_eager"}),
            {"kernels": "the graph at train.py:2 has no code of `aot_eager` that could be counted"},
        ),
        (
            at(2, "unsupported", "torch.compile: InternalTorchDynamoError", 0),
            dict.fromkeys(
                ("breaks", "recompiles", "kernels"),
                "the function at train.py:2 could not be analysed (InternalTorchDynamoError)",
            ),
        ),
    ],
)
def test_a_graph_that_could_not_be_analysed_leaves_no_number(event: Event, missing: dict[str, str]) -> None:
    whole = at(2, "graph", "0/0", 3, data={"triton": 1, "extern": 0})
    measured = measure(run(whole, replace(event, file=whole.file)))

    assert missing == {name: one.missing for name, one in measured.items() if one.missing}


def test_a_limit_may_be_reached() -> None:
    assert not Verdict(number("syncs", 2.0), 2.0).over
    assert Verdict(number("syncs", 2.1), 2.0).over


# --- an earlier run ----------------------------------------------------------------------------------------------


def test_a_saved_run_is_read_as_it_was(tmp_path: Path) -> None:
    measures = measure(run(at(4, "sync", "item", 3)))
    path = tmp_path / "baseline.json"
    path.write_text(to_json(measures, MADE_WITH))

    assert Baseline(measures, MADE_WITH) == from_json(path)


def test_only_new_lines_are_marked_new() -> None:
    before = Baseline(measure(run(*(at(4, "sync", "item", step) for step in range(4)))), MADE_WITH)
    moved = "import torch\n\nfor x in data:\n    x = x.to(device)\n    print(loss.item())\n    print(acc.item())\n"
    Path("train.py").write_text(moved)
    from torchlint.evidence.confirm import source_lines

    source_lines.cache_clear()
    now = measure(run(*(at(line, "sync", "item", step) for line in (5, 6) for step in range(4))))
    (syncs,) = [verdict for verdict in compare(now, before) if verdict.measure.name == "syncs"]

    assert (1.0, True) == (syncs.limit, syncs.over)
    assert [(5, False), (6, True)] == [(part.line, part.new) for part in syncs.measure.parts]


def test_what_the_earlier_run_could_not_measure_is_not_compared() -> None:
    before = Baseline(measure(run()), MADE_WITH)

    assert "kernels" not in {verdict.measure.name for verdict in compare(measure(run()), before)}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{", "is no baseline: "),
        ("[]", "is no baseline that --save wrote"),
        ("{}", "is no baseline that --save wrote"),
        ('{"version": 9}', "is a baseline of another version of torchlint; make it again with --save"),
        ('{"version": 1, "measures": [{"name": "syncs"}]}', "is no baseline that --save wrote"),
    ],
)
def test_another_file_is_no_baseline(tmp_path: Path, written: str, message: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(written)
    with pytest.raises(Failure) as failure:
        from_json(path)

    assert f"{path} {message}" in str(failure.value)


def test_a_missing_baseline_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"nothing\.json: No such file"):
        from_json(tmp_path / "nothing.json")


# --- the table ---------------------------------------------------------------------------------------------------


def test_the_table_has_the_lines_of_what_went_over() -> None:
    over = Verdict(
        number("syncs", 2.0, Part("a.py", 4, "x.item()", 1.0), Part("a.py", 9, "y.item()", 1.0, new=True)), 1.0
    )
    kept = Verdict(number("memory", 2048.0), 4096.0)
    unknown = Verdict(Measure("kernels", 0.0, (), "nothing was compiled"), 40.0)

    assert [
        "Budget: 2 of 3 over",
        "  over  syncs       2 a step, limit 1",
        "               1  a.py:9 new  y.item()",
        "               1  a.py:4  x.item()",
        "  ok    memory      2.0 KiB, limit 4.0 KiB",
        "  over  kernels     not measured: nothing was compiled, limit 40",
    ] == text([over, kept, unknown], "Budget", Look()).splitlines()


def test_a_kept_budget_is_one_word() -> None:
    assert text([Verdict(number("breaks", 0), 0)], "Budget", Look()).splitlines()[0] == "Budget: kept"


def test_for_machines() -> None:
    over = Verdict(number("syncs", 2.0, Part("a.py", 4, "x.item()", 2.0)), 1.0)

    assert [
        {
            "name": "syncs",
            "unit": "a step",
            "value": 2.0,
            "limit": 1.0,
            "over": True,
            "missing": None,
            "lines": [{"filename": "a.py", "line": 4, "code": "x.item()", "count": 2.0, "new": False}],
        }
    ] == json.loads(json.dumps(as_json([over])))
