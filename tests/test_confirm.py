"""Findings and events: what a traced run proves, refutes and finds by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from torchlint.evidence.confirm import (
    bytes_text,
    confirm,
    discover,
    launches,
    matches,
    memory_slope,
    number,
    rows,
)
from torchlint.evidence.steady import Steady
from torchlint.messages.event import Event
from torchlint.text.finding import Evidence, Finding

PROOFS = {
    "TL101": ("sync:item",),
    "TL201": ("graph_break:GB0124",),
    "TL402": ("h2d:pinned-blocking", "h2d:pageable"),
    "TL706": ("optimizer:single", "optimizer:foreach", "operator"),
    "TL901": ("warning:FutureWarning",),
}


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train.py"
    script.write_text("import torch\n\nfor x in data:\n    loss = step(x)\n    log(loss.item())\n")
    return script


def finding(code: str = "TL101", line: int = 5, **more: object) -> Finding:
    plain = Finding("train.py", line, 9, line, 20, code, "a-rule", "Slow.", "warning", statement=(line, line))
    return replace(plain, **more)  # type: ignore[arg-type]


def at(line: int, kind: str = "sync", name: str = "item", step: int = 2, **more: object) -> Event:
    return Event(kind, str(Path("train.py").resolve()), line, "<module>", name, step=step, **more)  # type: ignore[arg-type]


def steps(count: int) -> list[Event]:
    return [Event("step", step=number) for number in range(1, count + 1)]


def ran(line: int, *in_steps: int) -> list[Event]:
    return [at(line, "line", "", step) for step in in_steps]


def verdict(finding: Finding, *events: Event, done: int = 8) -> Evidence | None:
    (judged,) = confirm([finding], [*steps(done), *events], PROOFS)
    return judged.evidence


# --- not proved --------------------------------------------------------------------------------------------------


def test_a_rule_without_a_proof_gets_no_verdict() -> None:
    assert verdict(finding("TL704"), at(5)) is None


def test_an_event_on_another_line_or_in_another_file_proves_nothing() -> None:
    elsewhere = replace(at(5), file="/somewhere/train.py")

    assert verdict(finding(), at(4), elsewhere, *ran(5, 2)) == Evidence(
        "refuted", "ran in 1 step without a host-device synchronization"
    )


def test_an_event_of_another_kind_or_name_proves_nothing() -> None:
    other = [at(5, "h2d"), at(5, name="nonzero"), at(5, "graph_break", "GB0124")]

    assert verdict(finding(), *other, *ran(5, 2, 3)) == Evidence(
        "refuted", "ran in 2 steps without a host-device synchronization"
    )


def test_the_warm_up_proves_nothing() -> None:
    assert verdict(finding(), at(5, step=0), at(5, step=1), *ran(5, 0, 1)) == Evidence(
        "not reached", "ran only in the first steps"
    )


def test_a_line_that_never_ran_is_not_reached() -> None:
    assert verdict(finding()) == Evidence("not reached", "the traced run did not come here")


def test_a_graph_break_is_not_refuted_where_nothing_was_compiled() -> None:
    assert verdict(finding("TL201"), *ran(5, 2)) == Evidence(
        "not reached", "nothing was compiled in this run (try --compile)"
    )


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("single", Evidence("confirmed", "AdamW: 80 parameters", 1.0)),
        ("foreach", Evidence("confirmed", "AdamW: 80 parameters", 1.0)),
        ("fused", Evidence("refuted", "AdamW: 80 parameters")),
        ("few", Evidence("refuted", "AdamW: 80 parameters")),
    ],
)
def test_an_optimizer_tells_where_it_was_made_how_it_takes_its_parameters(how: str, expected: Evidence) -> None:
    made = at(5, "optimizer", "AdamW", 0, detail="80 parameters", data={"how": how, "parameters": 80})
    assert expected == verdict(finding("TL706"), made, *ran(5, 0))


def test_an_optimizer_that_took_no_step_is_not_refuted() -> None:
    unknown = Evidence("not reached", "no optimizer that is made here took a step")
    assert unknown == verdict(finding("TL706"), *ran(5, 0))
    assert unknown == verdict(finding("TL706"), *ran(5, 0), done=0)
    assert Evidence("not reached", "the traced run did not come here") == verdict(finding("TL706"))


def test_an_update_by_hand_runs_operators() -> None:
    told = verdict(finding("TL706"), *(at(5, "operator", "", step, count=80) for step in range(8)), *ran(5, 2, 3))
    assert told is not None
    assert ("confirmed", 80.0) == (told.verdict, told.count)
    on_the_host = verdict(finding("TL706"), *ran(5, 2, 3))
    assert on_the_host is not None
    assert "refuted" == on_the_host.verdict


def test_a_refuted_finding_drops_to_info() -> None:
    (judged,) = confirm([finding()], [*steps(4), *ran(5, 2)], PROOFS)

    assert judged.severity == "info"


# --- proved ------------------------------------------------------------------------------------------------------


def test_a_synchronization_every_step() -> None:
    events = [at(5, step=step) for step in range(8)]

    assert verdict(finding(), *events) == Evidence("confirmed", "`item`, 1 a step (6 of 6 steps)", 1.0)


def test_counts_are_per_step() -> None:
    assert verdict(finding(), at(5, step=3, count=3)) == Evidence("confirmed", "`item`, 0.5 a step (1 of 6 steps)", 0.5)


def test_any_line_of_the_statement_counts() -> None:
    assert verdict(finding(line=3, statement=(3, 5)), at(5)) == Evidence(
        "confirmed", "`item`, 0.17 a step (1 of 6 steps)", 1 / 6
    )


def test_the_library_line_is_told() -> None:
    event = at(5, data={"via": "torch/nn/functional.py:10 f"})

    assert verdict(finding(), event, done=3) == Evidence(
        "confirmed", "`item`, 1 a step (1 of 1 steps), inside torch/nn/functional.py:10 f", 1.0
    )


def test_each_library_line_behind_a_line_has_its_own_count() -> None:
    """A `fit()` hides all of its loop behind one line of the user's."""
    rare, hot = {"via": "lib/loop.py:8 rare"}, {"via": "lib/loop.py:12 hot"}
    events = [*steps(3), at(5, data=rare), at(5, data=hot, count=9), at(5)]

    assert [(row.count, row.via) for row in rows(events, Steady.of(events), {"sync"})] == [
        (9, "lib/loop.py:12 hot"),
        (1, "lib/loop.py:8 rare"),
        (1, ""),
    ]


def test_a_break_inside_a_library_is_not_the_users_to_remove() -> None:
    inside = {"via": "lib/loop.py:8 rare", "hint": "Remove the print."}

    assert found(
        at(5, "graph_break", "GB0059", detail="print.", data=inside),
        at(5, "graph_break", "GB0059", detail="print.", data={"hint": "Remove the print."}),
    ) == [
        (
            "TLT02",
            5,
            "warning",
            (
                "Graph break GB0059: print. It is inside lib/loop.py:8 rare: call it outside the compiled function, "
                "or see whether the library can avoid it."
            ),
        ),
        ("TLT02", 5, "warning", "Graph break GB0059: print. Remove the print."),
    ]


def test_what_follows_the_last_step_is_no_part_of_any() -> None:
    assert verdict(finding(), at(5, step=8, count=4)) == Evidence("confirmed", "`item`, 4 times after the last step")


def test_a_run_without_steps_is_counted_whole() -> None:
    assert verdict(finding(), at(5, step=0, count=4), done=0) == Evidence("confirmed", "`item`, 4 in all", 4.0)


@pytest.mark.parametrize(
    ("pinned", "blocking", "proves"),
    [(True, True, True), (False, True, True), (False, False, True), (True, False, False)],
)
def test_a_copy_is_told_by_its_two_properties(pinned: bool, blocking: bool, proves: bool) -> None:
    copy = at(5, "h2d", ".to()", data={"pinned": pinned, "blocking": blocking})

    assert matches(copy, PROOFS["TL402"]) is proves


def test_a_graph_break_or_a_warning_happens_once() -> None:
    gap = at(5, "graph_break", "GB0124", 0, detail="print")
    old = at(5, "warning", "FutureWarning", 0, detail="use torch.amp")

    assert verdict(finding("TL201"), gap) == Evidence("confirmed", "GB0124: print", 1.0)
    assert verdict(finding("TL901"), old) == Evidence("confirmed", "FutureWarning: use torch.amp", 1.0)


def test_a_graph_break_is_refuted_where_something_was_compiled() -> None:
    assert verdict(finding("TL201"), Event("graph"), *ran(5, 2)) == Evidence(
        "refuted", "ran in 1 step without a graph break"
    )


# --- steady state ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("done", "expected"),
    [(0, Steady(0, 1, True)), (1, Steady(0, 1, True)), (2, Steady(1, 2)), (3, Steady(2, 3)), (8, Steady(2, 8))],
)
def test_the_steps_that_count(done: int, expected: Steady) -> None:
    assert Steady.of(steps(done)) == expected


def test_steps_of_another_kind_come_before_those_that_count() -> None:
    calls = [Event("step", name="call", step=number) for number in range(1, 6)]

    def taken(count: int) -> list[Event]:
        return [*calls, *(Event("step", step=number) for number in range(6, 6 + count))]

    assert Steady.of(taken(4)) == Steady(7, 9)
    assert Steady.of(taken(2)) == Steady(6, 7)
    assert Steady.of(taken(1)) == Steady(2, 6)  # one step has no warm-up: all of them count
    assert Steady.of(calls) == Steady(2, 5)


def test_rows_come_most_frequent_first() -> None:
    events = [*steps(4), at(4, step=2, size=10), at(5, step=2, count=5), at(5, step=3, count=5), at(5, step=1)]
    found = rows(events, Steady.of(events), ["sync"])

    assert [(row.event.line, row.count, row.size, row.steps) for row in found] == [(5, 5.0, 0.0, 2), (4, 0.5, 5.0, 1)]


def test_launches_are_counted_by_executions() -> None:
    events = [*steps(4)]
    events += [Event("graph", name="0/0", step=step, count=3, data={"triton": 2, "extern": 1}) for step in range(4)]

    assert launches(events) == (6.0, 3.0)


def test_the_launches_of_a_compiled_function() -> None:
    data = {"triton": 2, "extern": 1}
    graphs = [at(3, "graph", name, step, data=data) for step in range(8) for name in ("0/0", "0/0 backward")]
    (one,) = discover([*steps(8), *graphs])

    assert (one.code, one.line, one.severity) == ("TLT04", 3, "info")
    assert one.message == "`<module>` launches 4 Triton and 2 library kernels a step when compiled."


@pytest.mark.parametrize(
    ("sizes", "slope"),
    [
        ([100, 100, 100, 100, 100, 100, 100, 100], 0.0),
        ([1, 2, 3, 4, 5, 6, 7, 7], 0.0),
        ([10, 90, 100, 110, 120, 130, 140, 150], 10.0),
        ([10, 20, 30], 0.0),
    ],
)
def test_memory_leaks_only_if_it_grows_every_step(sizes: list[int], slope: float) -> None:
    events = steps(len(sizes)) + [Event("memory", size=size, step=step) for step, size in enumerate(sizes, 1)]

    assert memory_slope(events, Steady.of(events)) == slope


# --- its own findings --------------------------------------------------------------------------------------------


def found(*events: Event, findings: Iterator[Finding] | list[Finding] | None = None) -> list[tuple[str, int, str, str]]:
    return [
        (one.code, one.line, one.severity, one.message)
        for one in discover([*steps(8), *events], findings or [], "train.py")
    ]


def test_nothing_is_found_in_a_quiet_run() -> None:
    overlapped = at(5, "h2d", ".to()", data={"pinned": True, "blocking": False})
    nowhere = replace(at(5), file="", line=0)

    assert found(overlapped, nowhere, at(5, step=0), at(5, step=8), *ran(5, 3)) == []


def test_what_a_confirmed_finding_tells_is_not_told_again() -> None:
    judged = confirm([finding()], [*steps(8), at(5)], PROOFS)

    assert found(at(5), findings=judged) == []


def test_worst_first() -> None:
    events = [
        at(5, count=1),
        at(4, count=6),
        at(3, "recompile", "size mismatch"),
        at(4, "graph_break", "GB0124", detail="print.", data={"hint": "Remove it."}),
        at(3, "graph_break", "GB0170", detail="branch", data={"frame_skipped": True}),
        at(1, "d2h", ".cpu()", count=6, size=4096, data={"blocking": True}),
        at(1, name="copy", count=6),
    ]

    assert found(*events) == [
        ("TLT02", 3, "warning", "Graph break GB0170: branch. The whole function runs eagerly."),
        ("TLT02", 4, "warning", "Graph break GB0124: print. Remove it."),
        ("TLT03", 3, "warning", "Recompiled: size mismatch."),
        ("TLT01", 4, "warning", "The host waits for the device: `item`, 1 a step (1 of 6 steps)."),
        ("TLT06", 1, "warning", "The host waits for a copy: `.cpu()`, 1 a step (1 of 6 steps), 683 B."),
        ("TLT01", 5, "info", "The host waits for the device: `item`, 0.17 a step (1 of 6 steps)."),
    ]


def test_a_recompile_of_the_warm_up_is_small() -> None:
    assert found(at(3, "recompile", "size mismatch", 1)) == [("TLT03", 3, "info", "Recompiled: size mismatch.")]


def test_many_shapes_at_one_call() -> None:
    shapes = [at(4, "shape", "Net", step, detail=f"float32[{step}]") for step in range(4)]

    assert found(*shapes) == [("TLT14", 4, "warning", "Net is called with 4 different input shapes.")]
    assert found(*shapes[:3]) == []


def test_a_leak_is_told_at_the_entry() -> None:
    memory = [Event("memory", size=1024 * step, step=step) for step in range(1, 9)]

    assert found(*memory) == [("TLT09", 1, "warning", "Memory held on the device grows by 1.0 KiB every step.")]


def test_the_place_is_that_of_the_code() -> None:
    (one,) = discover([*steps(8), at(5)])

    assert (one.path, one.line, one.column, one.end_line, one.end_column) == ("train.py", 5, 5, 5, 21)


# --- texts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (3.0, "3"), (0.5, "0.5"), (1 / 6, "0.17"), (12.345, "12"), (1234.5, "1234")]
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (200 * 1024, "200 KiB"), (5 * 2**40, "5120 GiB")],
)
def test_sizes(size: float, text: str) -> None:
    assert bytes_text(size) == text


def test_a_finding_that_no_event_can_show_gets_no_verdict() -> None:
    ran = [*steps(8), *(at(5, "line", "", step) for step in range(8))]
    unprovable = finding("TL112", provable=False)

    assert [unprovable] == confirm([unprovable], ran, {"TL112": ("synchronize",)})
    (refuted,) = confirm([finding("TL112")], ran, {"TL112": ("synchronize",)})
    assert refuted.evidence is not None
    assert "refuted" == refuted.evidence.verdict
