"""One program, what was found in it, and what is known of its rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from torchlint import report
from torchlint.report import Look, rdjson, sarif, summary
from torchlint.system.fault import FileError
from torchlint.text.finding import Edit, Evidence, Finding, Fix, Related
from torchlint.text.source import Source

PROGRAM = """\
import torch

name = "Größe"; optimizer = torch.optim.Adam(net.parameters(), fused=False)
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    total += loss.item()
    optimizer.zero_grad(
        set_to_none=False,
    )
    optimizer.step()
print(total)
"""


@dataclass(frozen=True)
class FakeResult:
    """What a report asks of a result."""

    findings: tuple[Finding, ...]
    sources: Mapping[str, Source]
    suppressed: int = 0
    errors: tuple[FileError, ...] = ()

    def source(self, path: str) -> Source | None:
        return self.sources.get(path)

    def line(self, path: str, line: int) -> str:
        source = self.sources.get(path)
        return source.line_text(line) if source and line <= len(source.lines) else ""


@dataclass(frozen=True)
class FakePage:
    name: str
    doc: str
    category: str

    @property
    def summary(self) -> str:
        return self.doc.partition("\n")[0]


def edit(old: str, new: str, *, after: str = "") -> Edit:
    """Replace the first `old` behind `after` in the program."""
    start = PROGRAM.encode().index(old.encode(), PROGRAM.encode().index(after.encode()))
    return Edit(start, start + len(old.encode()), new.encode())


ITEM = Finding(
    "train.py", 7, 14, 7, 25, "TL101", "item-in-loop", "`loss.item()` waits for the GPU on every step", "warning",
    fix=Fix(
        "Add up the tensor and read it once, behind the loop",
        (edit("loss.item()", "loss.detach()"), edit("print(total)", "print(total.item())")),
        "unsafe",
        "the sum is a float32 tensor instead of a Python float",
    ),
    related=(Related("train.py", 4, 1, "this is the step loop"),),
    evidence=Evidence("confirmed", "1 host-device synchronization a step", 1.0),
    statement=(7, 7),
)  # fmt: skip
ZERO = Finding(
    "train.py", 8, 5, 10, 6, "TL402", "zero-grad-fills", "Filling gradients with zeros costs a kernel a parameter",
    "info",
    fix=Fix("Leave out `set_to_none`", (edit("\n        set_to_none=False,\n    ", "", after="zero_grad"),), "safe"),
    statement=(8, 10),
)  # fmt: skip
FUSED = Finding(
    "train.py", 3, 64, 3, 75, "TL405", "unfused-optimizer", "100% of the step, 50,000 launches: `fused=False`", "error",
    fix=Fix("Say `fused=True`", (edit("False", "True", after="fused"),), "suggestion"), statement=(3, 3),
)  # fmt: skip


@pytest.fixture
def result() -> FakeResult:
    """Three findings: a suggestion behind non-ASCII text, an unsafe fix with two edits, a safe one over several lines."""
    return FakeResult((FUSED, ITEM, ZERO), {"train.py": Source.of("train.py", PROGRAM.encode())})


@pytest.fixture
def nothing() -> FakeResult:
    return FakeResult((), {})


@pytest.fixture
def look() -> Look:
    return Look(cwd=Path("/repo/examples"), root=Path("/repo"))


@pytest.fixture(autouse=True)
def known_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {
        "TL101": FakePage("item-in-loop", "Reading a value waits for the GPU.\n\n## Bad\n\nx.item()", "sync"),
        "TL402": FakePage("zero-grad-fills", "Zeros are written for nothing.", "optimizer"),
        "TL405": FakePage("unfused-optimizer", "One kernel does for all.", "optimizer"),
    }
    for module in (summary, sarif):
        monkeypatch.setattr(module, "load", lambda: pages)
    for module in (report, rdjson, sarif):
        monkeypatch.setattr(module, "home", lambda: "https://example.org/torchlint")


Make = Callable[..., FakeResult]


@pytest.fixture
def make() -> Make:
    """A result of other findings in other programs: `make(program, finding, ...)`, all in train.py."""

    def make(program: str, *findings: Finding) -> FakeResult:
        return FakeResult(findings, {"train.py": Source.of("train.py", program.encode())})

    return make


@pytest.fixture
def strip_escapes() -> Callable[[str], str]:
    """Takes colours and hyperlinks out of a text."""
    return lambda text: re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\", "", text)
