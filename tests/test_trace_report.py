"""The report of a traced run, for people and for machines."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from torchlint.evidence.confirm import confirm, discover
from torchlint.evidence.tracing import Child, Trace
from torchlint.messages.event import Event
from torchlint.messages.job import Job
from torchlint.report import Look
from torchlint.report.trace import Report, as_json, text
from torchlint.text.finding import Evidence, Finding

PROGRAM = "import torch\nfor x in data:\n    x = x.to(device)\n    print(loss.item())\n"
START = Event("start", name="virtual", detail="2.13.0+cpu", data={"python": "3.11.7", "triton": ""})


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def at(line: int, kind: str, name: str, step: int, **more: object) -> Event:
    return Event(kind, str(Path("train.py").resolve()), line, "<module>", name, step=step, **more)  # type: ignore[arg-type]


def report(
    eager: list[Event], compiled: list[Event] | None = None, findings: tuple[Finding, ...] = (), **child: object
) -> Report:
    """A run of four steps."""
    steps = [Event("step", step=step) for step in range(1, 5)]
    end = [] if child else [Event("end", name="stopped", detail="after 4 steps")]
    fields: dict[str, object] = {"returncode": 0, "output": "", "errors": "", "seconds": 1.0, **child}
    children = [Child("eager", (START, *steps, *eager, *end), **fields)]  # type: ignore[arg-type]
    if compiled is not None:
        children.append(Child("compile", (START, *steps, *compiled, *end), **fields))  # type: ignore[arg-type]
    trace = Trace(Job("train.py", ("--lr", "3"), "eager", ""), tuple(children))
    judged = confirm(findings, trace.events, {"TL101": ("sync:item",)})
    return Report(trace, tuple(judged), tuple(discover(trace.events, judged, "train.py")))


def test_a_quiet_run() -> None:
    assert text(report([]), Look()).splitlines() == [
        "train.py --lr 3: 4 steps, stopped after 4 steps",
        "torch 2.13.0+cpu, Python 3.11.7",
        "device: a virtual sm_90; predicted for sm_90, torch 2.13: no GPU was used",
        "",
        "Steady state, per step, over steps 3 to 4",
        "  0  host-device synchronizations",
        "  0  copies that the host waits for",
        "  0  copies that it does not wait for",
    ]


def test_a_full_run() -> None:
    pinned = {"pinned": True, "blocking": True}
    eager = [at(4, "sync", "item", step) for step in range(4)]
    eager += [at(3, "h2d", "to", step, size=4096, detail="pinned, blocking", data=pinned) for step in range(4)]
    eager += [at(4, "unsupported", "flash_attn", 0, detail="a CUDA extension")]
    compiled = [
        at(2, "graph_break", "GB0059", 0, detail="print", data={"frame_skipped": True, "hint": "Remove it."}),
        at(2, "recompile", "size mismatch", 2),
        *(at(2, "graph", "0/0", step, data={"triton": 3, "extern": 2}) for step in range(4)),
    ]
    finding = Finding("train.py", 4, 11, 4, 22, "TL101", "item", "`loss.item()` waits", "warning", statement=(4, 4))

    assert text(report(eager, compiled, (finding,)), Look()).splitlines()[4:] == [
        "Primary bottleneck: skipped compilation",
        "  A graph break makes 1 compiled function run eagerly.",
        "  Compiled again once after the warm-up.",
        "  The host waits for the device once a step, on 1 line.",
        "",
        "  High    train.py:2: GB0059: print",
        "  High    train.py:2: Keep this guard from failing: size mismatch",
        "  High    train.py:4: Keep what `item` reads on the device, or read it every few steps.",
        "  Medium  train.py:3: Copy with non_blocking=True: the batch is pinned already.",
        "",
        "Steady state, per step, over steps 3 to 4",
        "    1  host-device synchronizations",
        "    1  copies that the host waits for                 4.0 KiB",
        "    0  copies that it does not wait for",
        "    1  graph breaks in the whole run                  1 with a function skipped whole",
        "    1  recompiles in the whole run",
        "  3+2  Triton and library kernels launched by graphs",
        "",
        "Synchronizations and copies",
        "  count  steps    bytes  what                     where       line",
        "      1    2/2  4.0 KiB  h2d to pinned, blocking  train.py:3  x = x.to(device)",
        "      1    2/2           sync item                train.py:4  print(loss.item())",
        "",
        "Graph breaks",
        "  GB0059  train.py:2 in <module>  the whole function runs eagerly",
        "          for x in data:",
        "          print",
        "          Remove it.",
        "",
        "Recompiles",
        "  train.py:2  recompile  size mismatch",
        "",
        "Kernel launches of each graph, predicted for sm_90, torch 2.13",
        "  Triton  library  runs  graph  where",
        "       3        2     1  0/0    train.py:2  <module>",
        "",
        "Not supported by the traced run",
        "  flash_attn  train.py:4  a CUDA extension",
        "",
        "Verdicts",
        "  confirmed    train.py:4:11  TL101 `loss.item()` waits",
        "               `item`, 1 a step (2 of 2 steps)",
        "",
        "Look at these first",
        "  train.py:2:1: TLT02 Graph break GB0059: print. The whole function runs eagerly. Remove it.",
        "  train.py:2:1: TLT03 Recompiled: size mismatch.",
        "  train.py:3:5: TLT06 The host waits for a copy: `to` (pinned, blocking), 1 a step (2 of 2 steps), ...",
    ]


def test_verdicts_are_ordered_by_impact() -> None:
    """TL109 has low impact, TL402 medium, TL101 high."""
    codes = ("TL109", "TL402", "TL101")
    findings = [Finding("train.py", 1, 1, 1, 2, code, "x", "x", "info") for code in codes]
    judged = [replace(one, evidence=Evidence("not reached", "")) for one in findings]
    later = replace(judged[0], line=2, evidence=Evidence("confirmed", "once"))

    assert [one.code for one in replace(report([]), judged=(findings[0], *judged, later)).verdicts] == [
        "TL109", "TL101", "TL402", "TL109",
    ]  # fmt: skip


def test_a_crash_says_how_and_keeps_what_was_seen() -> None:
    crashed = report([at(4, "sync", "item", 3)], returncode=-11, errors="Fatal Python error\n")

    assert text(crashed, Look()).splitlines()[4:7] == [
        "The eager pass died: SIGSEGV, after 4 steps; what was seen until then is below",
        "  | Fatal Python error",
        "",
    ]


def test_colours_only_when_asked() -> None:
    assert "\x1b[" not in text(report([]), Look())
    assert "\x1b[1m" in text(report([]), Look(color=True))


def test_no_speed_up_is_promised() -> None:
    words = text(report([at(4, "sync", "item", step) for step in range(4)]), Look()).lower()

    assert not {"faster", "speedup", "speed-up", "%", "times as fast"} & set(words.split())


def test_json_holds_the_same() -> None:
    document = json.loads(as_json(report([at(4, "sync", "item", step) for step in range(4)]), Look()))

    assert (document["torch"], document["device"], document["predicted"]) == ("2.13.0+cpu", "virtual", True)
    assert document["steady"] == {"first": 2, "last": 4, "whole": False}
    assert [(row["line"], row["name"], row["count"]) for row in document["device_events"]] == [(4, "item", 1.0)]
    assert [(one["code"], one["line"]) for one in document["findings"]] == [("TLT01", 4)]
    assert document["passes"][0]["end"] == "stopped"
