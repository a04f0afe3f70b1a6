"""A program with many ways to wait, copy, break and recompile: each is on its line, and what only looks like it is not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

# `# EVENT kind` marks a line with an event of that kind, `# LIKE` one that looks like it and has none.
PROGRAM = """\
import logging
import math

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
generator = torch.Generator(device)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(32, 16)
        self.linear = torch.nn.Linear(16, 10)
        self.calls = 0

    def forward(self, tokens):
        x = self.embedding(tokens).mean(1)
        if x.shape[0] > 100:  # LIKE
            x = x[:100]
        return self.linear(x)


@torch.compile
def normalized(x):
    if x.abs().max() > 1:  # EVENT graph_break sync
        x = x / x.abs().max()
    print("normalized", x.shape)  # EVENT graph_break
    return x * 2


@torch.compile
def clipped(x):
    x.norm().item()  # EVENT graph_break sync
    return x * 2


@torch.compile
def chosen(x):
    return x[x > 0].sum()  # EVENT graph_break recompile sync


@torch.compile
def scaled(x, factor):
    return x * factor  # EVENT recompile


@torch.compile
def whole(x):
    if x.dim() == 2:  # LIKE
        x = x.relu()
    return torch.where(x > 0, x, -x)  # LIKE


@torch.compile
def drawn_from(x):
    return x + torch.rand(x.shape, device=x.device, generator=generator)  # EVENT graph_break


@torch.compile
def limited(x):
    norm = torch.nn.utils.get_total_norm([F.pad(x, (1, 1))])  # LIKE
    return norm + torch.tensor([1.0, 2.0], device=x.device)  # EVENT h2d


def loss_of(output, target):
    return F.cross_entropy(output, target)


def host_math(values):
    total = 0.0
    for value in values:
        total += float(value)  # LIKE
    return total


tokens = torch.randint(0, 32, (128, 6))
labels = torch.randint(0, 10, (128,))
loader = DataLoader(TensorDataset(tokens, labels), batch_size=8, pin_memory=True)
plain = DataLoader(TensorDataset(tokens, labels), batch_size=8)
model = Net().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
weights = torch.rand(16)
history = []
total = torch.zeros((), device=device)

for step, ((x, y), (other, _)) in enumerate(zip(loader, plain)):
    count = int(y.sum())  # LIKE
    lengths = y.tolist()  # LIKE
    x = x.to(device, non_blocking=True)  # EVENT h2d
    y = y.to(device)  # EVENT h2d
    other = other.cuda()  # EVENT h2d
    mask = torch.tensor([True] * 8, device=device)  # EVENT h2d
    filled = torch.full((8,), 0.5, device=device)  # LIKE
    output = model(x)
    loss = loss_of(output, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()

    value = loss.item()  # EVENT sync
    value = float(loss)  # EVENT sync
    value = int(y[0])  # EVENT sync
    if loss > 100:  # EVENT sync
        raise SystemExit("diverged")
    while (output > 1e6).any():  # EVENT sync
        break
    text = f"{loss:.3f}"  # EVENT sync
    text = str(loss)  # EVENT sync
    text = f"{loss.shape} {loss.dtype} {loss.device}"  # LIKE
    listed = y.tolist()  # EVENT sync
    array = output.detach().cpu().numpy()  # EVENT d2h
    kept = output.detach().to("cpu")  # EVENT d2h
    root = math.sqrt(loss)  # EVENT sync
    nonzero = torch.nonzero(mask)  # EVENT sync
    where = torch.where(mask)  # EVENT sync
    selected = output[mask]  # EVENT sync
    output.detach()[mask] = output.detach()[mask]  # EVENT sync
    picked = torch.masked_select(output, output > 0)  # EVENT sync
    unique = torch.unique(y)  # EVENT sync
    counts = torch.bincount(y)  # EVENT sync
    same = torch.equal(y, y)  # EVENT sync
    close = torch.allclose(output, output)  # EVENT sync
    rows = output[y[0]:]  # EVENT sync
    repeated = torch.repeat_interleave(y, y)  # EVENT sync
    hot = F.one_hot(y)  # EVENT sync
    inverse = torch.linalg.inv(torch.eye(4, device=device))  # EVENT sync
    biggest = max(loss, total)  # EVENT sync
    found = y[0] in history  # LIKE
    assert torch.isfinite(loss)  # EVENT sync
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # LIKE
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)  # EVENT sync
    drawn = torch.distributions.Normal(output, 1.0, validate_args=True)  # EVENT h2d sync
    torch.cuda.synchronize()  # EVENT synchronize
    torch.cuda.current_stream().synchronize()  # EVENT synchronize
    torch.cuda.empty_cache()  # EVENT empty_cache
    gathered = output[:, torch.arange(3)]  # EVENT h2d
    total += loss.detach()  # LIKE
    selected = torch.where(mask[:, None], output, 0)  # LIKE
    best = torch.argmax(output, 1)  # LIKE
    gathered = output.gather(1, y[:, None])  # LIKE
    shape = output.shape[0] * int(output.size(1))  # LIKE
    weight = weights[step].item()  # LIKE
    scale = host_math([1, 2, 3])

    normalized(output.detach())
    clipped(output.detach())
    chosen(output.detach())
    scaled(output.detach(), str(step).__len__() + step)
    whole(output.detach())
    limited(output.detach())
    drawn_from(output.detach())
"""
MARK = re.compile(r"# (EVENT (?P<kinds>.+)|LIKE)$")
LINES = PROGRAM.splitlines()
EVENTS = {n: set(m["kinds"].split()) for n, line in enumerate(LINES, 1) if (m := MARK.search(line)) and m["kinds"]}
LIKE = {number for number, line in enumerate(LINES, 1) if line.endswith("# LIKE")}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What `torchlint trace train.py` says of the program."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "train.py").write_text(PROGRAM, "utf-8")
    command = [sys.executable, "-m", "torchlint", "trace", "train.py", "--device", "virtual", "--output-format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_there_is_enough_to_find() -> None:
    assert len(EVENTS) >= 30
    assert len(LIKE) >= 10


def test_both_passes_run_to_the_last_step(report: Mapping[str, Any]) -> None:
    assert [("eager", "stopped", 8), ("compile", "stopped", 8)] == [
        (each["pass"], each["end"], each["steps"]) for each in report["passes"]
    ]


def test_no_graph_is_without_code(report: Mapping[str, Any]) -> None:
    assert [] == report["unsupported"]


def test_every_event_is_on_its_line_and_no_lookalike_has_one(report: Mapping[str, Any]) -> None:
    found: dict[int, set[str]] = {}
    for event in (*report["device_events"], *report["graph_breaks"], *report["recompiles"]):
        if event["kind"] != "recompile_limit":
            found.setdefault(event["line"], set()).add(event["kind"])

    assert {LINES[n - 1]: kinds for n, kinds in EVENTS.items()} == {LINES[n - 1]: found[n] for n in sorted(found)}


def test_the_two_ways_to_copy_are_told_apart(report: Mapping[str, Any]) -> None:
    details = {LINES[e["line"] - 1].strip(): e["detail"] for e in report["device_events"] if e["kind"] == "h2d"}

    assert {
        "x = x.to(device, non_blocking=True)  # EVENT h2d": "pinned, non_blocking",
        "y = y.to(device)  # EVENT h2d": "pinned, blocking",
        "other = other.cuda()  # EVENT h2d": "pageable, blocking",
        "mask = torch.tensor([True] * 8, device=device)  # EVENT h2d": "pageable, blocking",
        "drawn = torch.distributions.Normal(output, 1.0, validate_args=True)  # EVENT h2d sync": "pageable, blocking",
        "gathered = output[:, torch.arange(3)]  # EVENT h2d": "pageable, blocking",
        "return norm + torch.tensor([1.0, 2.0], device=x.device)  # EVENT h2d": "pageable, blocking",
    } == details
