"""Profiles of real runs: read, joined to lines, and told."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.evidence.confirm import confirm
from torchlint.evidence.profile import Profile, profile
from torchlint.evidence.profile_file import read
from torchlint.messages.event import Event
from torchlint.system.failure import Failure
from torchlint.text.finding import Finding

from .profiles import PROGRAM, Made, one_step, training


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def read_in(made: Made) -> Profile:
    return profile(read(str(made.write(Path("trace.json")))), [Path("train.py")])


def told(found: Profile, *kinds: str, step: int = 2) -> list[tuple[object, ...]]:
    """Kind, name, line or possible lines, count and microseconds of the events of a step."""
    events = (
        (event.kind, event.name, (event.data or {}).get("lines", event.line), event.count, _us(event))
        for event in found.events
        if event.kind in kinds and event.step == step
    )
    return sorted(events, key=str)


def _us(event: Event) -> float:
    return round(float(str((event.data or {}).get("seconds", 0))) * 1e6, 3)


# --- lines -------------------------------------------------------------------------------------------------------


def test_waits_and_copies_have_their_lines_and_times() -> None:
    found = read_in(training())

    assert (3, "NVIDIA A100-SXM4-80GB", True, True) == (found.steps, found.device, found.stacks, found.gpu)
    for step in (2, 3, 4):
        assert told(found, "sync", "synchronize", "h2d", "d2h", "data", step=step) == [
            ("data", "fetch", 4, 1, 98.0),
            ("h2d", "to", 5, 1, 200.0),
            ("sync", "bool", 10, 1, 50.0),
            ("sync", "item", 9, 1, 510.0),
        ]


def test_kernels_of_the_backward_pass_are_of_its_line() -> None:
    found = read_in(training())
    device = {
        event.line: round(float(str((event.data or {})["device"])) * 1e6)
        for event in found.events
        if event.kind == "time" and event.step == 2 and (event.data or {}).get("launches")
    }
    assert {6: 300, 7: 600, 8: 40, 10: 2} == device


def test_without_python_functions_there_are_times_and_no_lines() -> None:
    made = training()
    made.events = [event for event in made.events if event["cat"] != "python_function"]
    found = read_in(made)

    assert not found.stacks
    assert [("data", "fetch", 0, 1, 98.0), ("h2d", "to", 0, 1, 200.0)] == told(found, "h2d", "data")
    assert {"Optimizer.step#SGD.step"} == {
        event.via for event in found.events if event.via and event.kind == "time"
    } - {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"}


def test_the_wait_of_the_profiler_itself_is_none_of_the_program() -> None:
    made = Made()
    with made.python("train.py(12): <module>"), made.python("train.py(3): train"):
        one_step(made)
    made.wait(30, "cudaDeviceSynchronize")
    assert [] == told(read_in(made), "synchronize", step=0)


def test_what_two_lines_can_have_done_is_of_neither() -> None:
    Path("train.py").write_text("def f(a, b, c):\n    if c:\n        a.item()\n    else:\n        b.item()\n")
    made = Made()
    with made.step(1), made.python("train.py(1): f"), made.method("item"):
        made.item(100)
    assert [("sync", "item", [3, 5], 1, 110.0)] == told(read_in(made), "sync")


def test_the_calls_around_it_tell_which_line_it_was() -> None:
    Path("train.py").write_text(
        "def f(a, b, g):\n    for _ in range(2):\n        a.item()\n        g.half()\n        b.item()\n        g.cos()\n"
    )
    made = Made()
    with made.step(1), made.python("train.py(1): f"):
        for _ in range(2):
            with made.method("item"):
                made.item(100)
            with made.method("half"):
                pass
            with made.method("item"):
                made.item(200)
            with made.method("cos"):
                pass
    assert [("sync", "item", 3, 2, 220.0), ("sync", "item", 5, 2, 420.0)] == told(read_in(made), "sync")


def test_a_branch_that_was_left_out_does_not_move_a_wait_to_another_line() -> None:
    """Between `half` of one round and `cos` of the next are two reads, and one place: they are of neither line."""
    Path("train.py").write_text(
        "def f(a, b, c):\n    for x in c:\n        a.item()\n        if x:\n            a.half()\n            continue\n"
        "        b.item()\n        a.cos()\n"
    )
    made = Made()
    with made.step(1), made.python("train.py(1): f"):
        with made.method("item"):
            made.item(1)
        with made.method("half"):
            pass
        for _ in range(2):
            with made.method("item"):
                made.item(100)
        with made.method("cos"):
            pass
    assert [("sync", "item", 3, 1, 11.0), ("sync", "item", [3, 7], 2, 220.0)] == told(read_in(made), "sync")


def test_a_function_that_is_not_there_any_more_is_named() -> None:
    Path("train.py").write_text("x = 1\n")
    found = read_in(training())
    assert (str(Path("train.py").resolve()),) == found.moved
    assert [0] == sorted({event.line for event in found.events if event.kind == "sync"})


def test_a_file_of_a_library_is_no_file_of_the_project() -> None:
    Path("nn").mkdir()
    Path("nn/functional.py").write_text("def relu(x):\n    return x.item()\n")
    for name in (
        "torch/nn/functional.py(1): relu",
        "/usr/lib/python3.11/site-packages/torch/nn/functional.py(1): relu",
    ):
        made = Made()
        with made.step(1), made.python(name), made.method("item"):
            made.item(100)
        found = profile(read(str(made.write(Path("trace.json")))), [Path("nn/functional.py")])
        assert [("sync", "item", 0, 1, 110.0)] == told(found, "sync")


# --- verdicts ----------------------------------------------------------------------------------------------------


def finding(line: int, code: str = "TL101") -> Finding:
    return Finding("train.py", line, 1, line, 9, code, "a-name", "a message", "warning", statement=(line, line))


def test_verdicts_have_measured_milliseconds() -> None:
    found = confirm([finding(9), finding(7), finding(2)], read_in(training()).events, {"TL101": ("sync", "d2h")})
    said = [(one.evidence.verdict, one.evidence.detail) for one in found if one.evidence]

    assert said == [
        ("confirmed", "`item`, 1 a step (3 of 3 steps), 0.51 ms measured"),
        ("refuted", "ran in 3 steps without a device-to-host copy or host-device synchronization"),
        ("not reached", "the profile does not show this line"),
    ]
    assert found[0].evidence is not None
    measured = found[0].evidence.measured
    assert measured is not None
    assert 0.00051 == pytest.approx(measured.seconds)
    assert 0.5 < measured.share < 0.6


def test_what_is_not_known_is_no_verdict() -> None:
    Path("train.py").write_text("def f(a, b, c):\n    if c:\n        a.item()\n    else:\n        b.item()\n")
    made = Made()
    with made.step(1), made.python("train.py(1): f"), made.method("item"):
        made.item(100)
    (one,) = confirm([finding(5)], read_in(made).events, {"TL101": ("sync",)})
    assert one.evidence is not None
    assert "not reached" == one.evidence.verdict
    assert "it is not known which line it was: `item`, 1 a step (1 of 1 steps), 0.11 ms measured, on line 3 or 5" == (
        one.evidence.detail
    )


def test_without_a_gpu_nothing_is_refuted() -> None:
    made = training()
    made.events = [event for event in made.events if event["cat"] in ("python_function", "cpu_op", "user_annotation")]
    (one,) = confirm([finding(9)], read_in(made).events, {"TL101": ("sync",)})
    assert one.evidence is not None
    assert ("not reached", "the profile saw no GPU at work") == (one.evidence.verdict, one.evidence.detail)


# --- files -------------------------------------------------------------------------------------------------------


def test_a_packed_file_and_older_spellings_are_read() -> None:
    whole = read(str(training().write(Path("trace.json"))))
    assert whole == read(str(training().write(Path("trace.json.gz"))))
    made = training()
    old = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel", "gpu_memcpy": "Memcpy"}
    for event in made.events:
        event["cat"] = old.get(event["cat"], event["cat"])
        event["ts"] = str(event["ts"])
    assert whole == read(str(made.write(Path("trace.json"))))


def test_a_bare_list_of_events_is_a_trace() -> None:
    Path("trace.json").write_text(json.dumps(training().events))
    assert "" == read("trace.json").device
    assert len(training().events) == len(read("trace.json").spans)


TEXT = training(1).text()
BROKEN = {
    "empty": (b"", "the trace is cut off: it ends within its events or before them"),
    "cut off": (TEXT[: len(TEXT) // 2].encode(), "the trace is cut off: it ends within its events or before them"),
    "no json": (b"hello", "no Chrome trace: it is not JSON"),
    "another file": (b'{"a": [1, 2]}', "no Chrome trace of torch.profiler: it holds no traceEvents"),
    "no events": (
        b'{"traceEvents": []}',
        "the trace holds no events; did the profiled block run, and did prof.step() come often?",
    ),
    "only odd events": (
        b'{"traceEvents": [1, null, {"ph": "X"}, {"ph": "X", "name": "a", "cat": "cpu_op", "ts": NaN, "dur": 1}]}',
        "the trace holds no events; did the profiled block run, and did prof.step() come often?",
    ),
    "bad json": (b'{"traceEvents": [{"ph": "X"} {"ph": "X"}]}', 'no valid JSON near \'{"ph": "X"}]}\''),
    "too deep": (b'{"traceEvents": [' + b"[" * 200_000, "no Chrome trace of torch.profiler: it is nested too deeply"),
    "packed and cut off": (gzip.compress(TEXT.encode())[:-200], "the compressed file is damaged or cut off"),
    "packed and damaged": (b"\x1f\x8b" + b"x" * 100, "the compressed file is damaged or cut off"),
    "binary": (bytes(range(256)), "no Chrome trace: it is not JSON"),
}


@pytest.mark.parametrize("which", BROKEN)
def test_a_broken_file_is_told_in_a_sentence(which: str) -> None:
    data, message = BROKEN[which]
    Path("trace.json").write_bytes(data)
    with pytest.raises(Failure) as error:
        read("trace.json")
    assert f"trace.json: {message}" == str(error.value)


def test_a_missing_file_is_told() -> None:
    with pytest.raises(Failure, match=r"^none\.json: No such file or directory$"):
        read("none.json")


def test_more_events_than_fit_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchlint.evidence.profile_file._MOST", 5)
    with pytest.raises(Failure, match=r"more than 5 events; profile fewer steps"):
        read(str(training().write(Path("trace.json"))))


def test_pieces_of_any_length_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(str(training(1).write(Path("trace.json"))))
    for length in (1, 7, 64):
        monkeypatch.setattr("torchlint.evidence.profile_file._CHUNK", length)
        assert whole == read("trace.json")


# --- a profile that torch writes -----------------------------------------------------------------------------------

RECORDED = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

def log(loss):
    return f"{loss.item():.3f}"

def train(model, loader, profiler):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        x = x.double().float()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss > 100:
            break
        log(loss.detach())
        profiler.step()

loader = DataLoader(TensorDataset(torch.randn(24, 4), torch.randint(2, (24,))), batch_size=4)
plan = torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1)
write = lambda profiler: profiler.export_chrome_trace("trace.json")
with torch.profiler.profile(schedule=plan, on_trace_ready=write, with_stack=True) as profiler:
    train(torch.nn.Linear(4, 2), loader, profiler)
"""


@pytest.mark.torch
def test_each_line_of_a_real_profile_is_found(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(RECORDED)
    subprocess.run([sys.executable, "train.py"], cwd=tmp_path, check=True, capture_output=True)
    found = profile(read("trace.json"), [Path("train.py")])

    assert (3, True, False) == (found.steps, found.stacks, found.gpu)
    for step in (2, 3, 4):
        at = {event.line for event in found.events if event.kind == "time" and event.step == step}
        assert {5, 9, 10, 11, 12, 13, 14, 15, 17, 18} >= at >= {5, 9, 10, 11, 12, 13, 14, 15}
        assert [9] == [event.line for event in found.events if event.kind == "data" and event.step == step]
        assert not [event for event in found.events if (event.data or {}).get("lines") and event.step == step]
