"""`torchlint trace --profile` as it is called."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .profiles import PROGRAM, Made, training

MAIN = "\n\ntrain(torch.nn.Linear(3, 3).cuda(), [], None)\n"


@pytest.fixture(autouse=True)
def program(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\n")
    (tmp_path / "train.py").write_text(PROGRAM + MAIN)
    training().write(tmp_path / "trace.json.gz")


def torchlint(where: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torchlint", *args]
    return subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)


def traced(where: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return torchlint(where, "trace", "--profile", "trace.json.gz", *args)


REPORT = """\
trace.json.gz: 3 steps in 2.79 ms
device: NVIDIA A100-SXM4-80GB; measured by torch.profiler

Primary bottleneck: host-device synchronization
  The host waits for the device 2 times a step, on 2 lines. That is 60% of the step, as measured.
  The host waits for 1 copy a step, 1.0 MiB. That is 22% of the step, as measured.
  The program waits for its DataLoader 11% of the time.

  High    train.py:9: Keep what `item` reads on the device, or read it every few steps.
  High    train.py:10: Keep what `bool` reads on the device, or read it every few steps.
  High    train.py:5: Let the DataLoader pin (pin_memory=True) and copy with non_blocking=True.
  Medium  train.py:4: Load with workers (num_workers, persistent_workers) or do less for each sample.

Measured, per step, over 3 steps
  0.929 ms  a step
   0.76 ms  the host waits for the device
  0.944 ms  of kernels and copies on the device, 4 launched
  0.098 ms  in the DataLoader

Time by line, a step
      host    waits    device  launches  where        line
  0.015 ms             0.6 ms         1  train.py:7   loss.backward()
  0.523 ms  0.51 ms                      train.py:9   print(loss.item())
  0.009 ms             0.3 ms         1  train.py:6   loss = model(x, y)
  0.208 ms   0.2 ms  0.002 ms            train.py:5   x = x.to("cuda")
    0.1 ms                               train.py:4   for x, y in loader:
  0.061 ms  0.05 ms  0.002 ms         1  train.py:10  if loss > 3:
  0.011 ms            0.04 ms         1  train.py:8   optimizer.step()

Synchronizations and copies
  count  steps     time    bytes  what                       where        line
      1    3/3   0.2 ms  1.0 MiB  h2d to pageable, blocking  train.py:5   x = x.to("cuda")
      1    3/3  0.51 ms           sync item                  train.py:9   print(loss.item())
      1    3/3  0.05 ms           sync bool                  train.py:10  if loss > 3:

Verdicts
  confirmed    train.py:9:9  TL104 `loss.item()` is read from the device on every training step to be logged
               `item`, 1 a step (3 of 3 steps), 0.51 ms measured
  confirmed    train.py:10:12  TL102 Branch on the tensor `loss > 3`: the host waits for the device on every training step
               `bool`, 1 a step (3 of 3 steps), 0.05 ms measured

Look at these first
  train.py:5:9: TLT06 The host waits for a copy: `to` (pageable, blocking), 1 a step (3 of 3 steps)...
  train.py:4:5: TLT05 The program waits for its DataLoader 11% of the time between steps on this ma...
"""


def test_the_report(tmp_path: Path) -> None:
    done = traced(tmp_path)
    assert (0, "", REPORT) == (done.returncode, done.stderr, done.stdout)


def test_for_programs_and_as_a_page(tmp_path: Path) -> None:
    done = traced(tmp_path, "train.py", "--output-format", "json", "--html", "run.html")
    report = json.loads(done.stdout)

    assert {
        "device": "NVIDIA A100-SXM4-80GB",
        "steps": 3,
        "gpu": True,
        "stacks": True,
        "changed_files": [],
    }.items() <= (report["profile"].items())
    assert report["profile"]["step_seconds"] == pytest.approx(0.000929)
    assert [(7, 0.0006), (9, 0)] == [(line["line"], line["device"]) for line in report["profile"]["lines"][:2]]
    measured = [one["evidence"]["measured_seconds"] for one in report["verdicts"]]
    assert [0.00051, 0.00005] == [pytest.approx(one) for one in measured]
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "<h2>Time by line, a step</h2>" in page
    assert "sync item: 1 a step, 0.51 ms" in page


def test_findings_of_every_format_have_the_milliseconds(tmp_path: Path) -> None:
    assert 0 == traced(tmp_path, "--events", "events.jsonl").returncode
    found = {
        name: torchlint(tmp_path, "check", "--no-cache", "--evidence", "events.jsonl", "--output-format", name).stdout
        for name in ("full", "json", "sarif", "html")
    }
    assert "= confirmed: `item`, 1 a step (3 of 3 steps), 0.51 ms measured" in found["full"]
    assert 0.00051 == pytest.approx(json.loads(found["json"])[0]["evidence"]["measured_seconds"])
    (run,) = json.loads(found["sarif"])["runs"]
    assert [(54.9, 0.51), (5.4, 0.05)] == [
        (one["rank"], one["properties"]["measuredMilliseconds"]) for one in run["results"]
    ]
    assert "confirmed: `item`, 1 a step (3 of 3 steps), 0.51 ms measured" in found["html"]


def test_what_a_profile_can_not_tell_is_said(tmp_path: Path) -> None:
    made = Made("")
    with made.op("relu"):
        made.now += 10
    made.write(tmp_path / "trace.json.gz")
    assert traced(tmp_path).stdout.splitlines() == [
        "trace.json.gz: no step is marked in its 0.012 ms",
        "device: none is told; measured by torch.profiler",
        "The profile saw no GPU at work: what would wait for one is not known.",
        "It names no lines: record it with torch.profiler.profile(with_stack=True).",
        "It marks no steps (prof.step()): everything is counted, in all.",
        "",
        "Measured, in all",
        "  0 ms  the host waits for the device",
        "  0 ms  of kernels and copies on the device, 0 launched",
        "",
        "Verdicts",
        "  not judged: 2 findings in files that the profile does not show",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", "syncs=1"), "--budget is about a run, and --profile runs nothing"),
        (("--gpu", "h100"), "--gpu is about a run, and --profile runs nothing"),
        (("--compile",), "--compile is about a run, and --profile runs nothing"),
        (("none",), "none: no such file or folder, whose lines the profile would be joined to"),
        (("train.py", "--", "--lr", "3"), "--profile runs nothing, so that --lr 3 is for nobody"),
        (("--html", "no/such/page.html"), "no/such/page.html: No such file or directory"),
    ],
)
def test_a_mistake_in_an_option_is_told(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = traced(tmp_path, *options)
    assert (2, "") == (done.returncode, done.stdout)
    assert message in done.stderr


def test_a_file_that_is_cut_off_is_told(tmp_path: Path) -> None:
    file = tmp_path / "trace.json.gz"
    file.write_bytes(file.read_bytes()[:-100])
    done = traced(tmp_path)
    assert (2, "") == (done.returncode, done.stdout)
    assert "trace.json.gz: the compressed file is damaged or cut off" in done.stderr


def test_without_a_program_and_a_profile_nothing_can_be_done(tmp_path: Path) -> None:
    done = torchlint(tmp_path, "trace")
    assert (2, "") == (done.returncode, done.stdout)
    assert "name a script or pkg.module:function, or a profile of a run with --profile" in done.stderr
