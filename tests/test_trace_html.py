"""The HTML report of a traced run: well formed, self-contained, and without an error in a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from torchlint.evidence.budget import Measure, Part, Verdict
from torchlint.evidence.confirm import discover
from torchlint.evidence.tracing import Child, Trace
from torchlint.messages.event import Event
from torchlint.messages.job import Job
from torchlint.report import Look
from torchlint.report.trace import Report
from torchlint.report.trace_html import page
from torchlint.text.finding import Evidence, Finding

PROGRAM = 'import torch\nfor x in data:\n    x = x.to(device)  # <b>&amp;\n    print("<script>alert(1)</script>", loss.item())\n'
START = Event("start", name="virtual", detail="2.13.0+cpu", data={"python": "3.11.7"})
VOID = {"meta", "link", "br", "rect"}
BROWSER = shutil.which("chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
)  # fmt: skip


class Tags(HTMLParser):
    """Checks that each element is closed, in order, and keeps what a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [value or "" for name, value in attrs if name in {"src", "href"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """A run with one of everything."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)

    def at(line: int, kind: str, name: str, step: int, **more: object) -> Event:
        return Event(kind, str(script), line, "<module>", name, step=step, **more)  # type: ignore[arg-type]

    steps = [Event("step", step=step) for step in range(1, 9)]
    eager = [at(4, "sync", "item", step) for step in range(8)]
    eager += [at(3, "h2d", "to", step, size=4096, data={"pinned": True, "blocking": True}) for step in range(8)]
    eager += [at(4, "unsupported", "flash_attn", 0, detail="a CUDA extension")]
    compiled = [
        at(2, "graph_break", "GB0059", 0, detail="print", data={"frame_skipped": True, "hint": "Remove it."}),
        at(2, "recompile", "size mismatch", 2),
        *(at(2, "graph", "0/0", step, data={"triton": 3, "extern": 2}) for step in range(8)),
        at(3, "kernel", "triton_poi_fused_0", 0, data={"lines": [f"{script}:3"], "graph": "0/0"}),
    ]
    end = Event("end", name="error", detail="ValueError: <oops>")
    trace = Trace(
        Job("train.py", ("--name", "<i>"), "eager", ""),
        (
            Child("eager", (START, *steps, *eager), 1, "", "Traceback: <oops>", 1.0),
            Child("compile", (START, *steps, *compiled, end), 1, "", "", 1.0),
        ),
    )
    over = Verdict(Measure("syncs", 1.0, (Part("train.py", 4, "x", 1.0),)), 0.0)
    return Report(trace, (), tuple(discover(trace.events)), (over,))


def text_of(document: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", document.partition("<body>")[2]))


def test_every_element_is_closed_and_nothing_is_loaded(report: Report) -> None:
    tags = Tags()
    tags.feed(page(report, Look()))

    assert ([], ["data:,"]) == (tags.open, tags.loads)


def test_what_the_program_says_is_text(report: Report) -> None:
    document = page(report, Look())

    assert "<script" not in document
    assert "<oops>" not in document
    assert "<i>" not in document
    assert "&lt;script&gt;alert" in document


EVIL = "'\"><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}{% raw %}"
"""A name that would end a string, an attribute and an element, and begin a template's own code."""


def test_nothing_that_a_program_names_becomes_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each string of an event, of a finding and of a budget."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / EVIL.replace("/", "-")
    script.write_text(f"x = 1  # {EVIL}\n" * 6)

    def at(line: int, kind: str, step: int = 0, **more: object) -> Event:
        return Event(kind, str(script), line, EVIL, EVIL, EVIL, step=step, **more)  # type: ignore[arg-type]

    events = [
        Event("start", name=EVIL, detail=EVIL, data={"python": EVIL}),
        *(Event("step", step=step) for step in range(1, 9)),
        *(at(1, "sync", step, data={"via": EVIL}) for step in range(8)),
        *(at(2, "h2d", step, size=4096, data={"pinned": True, "blocking": True}) for step in range(8)),
        at(3, "graph_break", data={"hint": EVIL}),
        at(3, "recompile", 4),
        at(4, "graph", data={"triton": EVIL, "extern": 0}),
        at(4, "kernel", data={"lines": [f"{EVIL}:{EVIL}"], "graph": EVIL}),
        at(5, "unsupported"),
        at(5, "error"),
    ]
    child = Child("eager", (*events, Event("end", name=EVIL, detail=EVIL)), 1, "", EVIL, 1.0)
    monkeypatch.setattr("torchlint.report.trace_html.launches", lambda events: (0.0, 0.0))
    over = Verdict(Measure("syncs", 1.0, (Part(EVIL, 4, EVIL, 1.0),)), 0.0)
    found = Finding(EVIL, 1, 1, 1, 2, "TL101", "item-in-hot-loop", f"`{EVIL}` waits", "warning",
                    evidence=Evidence("confirmed", EVIL))  # fmt: skip
    document = page(Report(Trace(Job(EVIL, (EVIL,), "eager", ""), (child,)), (found,), (), (over,), (over,)), Look())

    tags = Tags()
    tags.feed(document)
    assert ([], ["data:,"]) == (tags.open, tags.loads)
    assert "<script" not in document
    assert "<img" not in document
    assert "{{ 7 * 7 }}" in document  # and no 49


def test_it_has_all_parts(report: Report) -> None:
    said = text_of(page(report, Look()))
    heads = re.findall(r"<h2>([^<]*)</h2>", page(report, Look()))

    assert [
        "Primary bottleneck: skipped compilation", "Steps", "Budget", "Source", "Synchronizations and copies",
        "Graphs, predicted for sm_90", "Kernels, predicted for sm_90", "Findings", "Not supported, and errors",
        "Standard error of the eager pass",
    ] == heads  # fmt: skip
    assert "sync item: 1 a step" in said
    assert "h2d to: 1 a step, 4.0 KiB" in said
    assert "graph break GB0059: the whole function runs eagerly. print Remove it." in said
    assert "graph 0/0: 3 Triton and 2 library kernels" in said


def test_a_run_without_events_is_a_page(tmp_path: Path) -> None:
    trace = Trace(Job("train.py", (), "eager", ""), (Child("eager", (START,), 0, "", "", 1.0),))
    tags = Tags()
    tags.feed(page(Report(trace, (), ()), Look()))

    assert [] == tags.open


@pytest.mark.skipif(BROWSER is None, reason="needs Debian's chromium")
def test_a_browser_shows_it_without_an_error(report: Report, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(page(report, Look()), "utf-8")
    command = [
        str(BROWSER),
        *FLAGS,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        f"file://{tmp_path}/report.html",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)

    assert [] == [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert "triton_poi_fused_0" in done.stdout
    assert '<div class="row noted sync"><span class="no">4</span>' in done.stdout
