"""What faults cost on a GPU: steps of two models with and without each of them.

    python scripts/gpu/faults.py OUT.json

A small language model, whose steps are bound by the host, and one whose steps are bound by the device; a fault is the only
difference between the two versions. They take turns in blocks, each waited for at its end.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from compiled import Block
from torch import nn
from torch.nn import functional

VOCABULARY = 1024
HEAD = 64
"""How wide a head of attention is."""
BLOCKS, STEPS = 7, 12


class Size(NamedTuple):
    width: int
    layers: int
    batch: int
    length: int


SIZES = {"small": Size(128, 4, 8, 64), "large": Size(1024, 8, 16, 512)}
Step = Callable[[], object]


class Model(nn.Module):
    def __init__(self, size: Size, by_hand: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, size.width)
        self.blocks = nn.ModuleList(
            [Block(size.width, size.width // HEAD, fused=not by_hand) for _ in range(size.layers)]
        )
        self.head = nn.Linear(size.width, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Training:
    """A step of training, with the faults that are named."""

    def __init__(self, size: Size, *faults: str) -> None:
        self.faults = frozenset(faults)
        self.model = Model(size, "attention by hand" in faults).cuda()
        optimizer = {"optimizer for loop": {"foreach": False}, "optimizer fused": {"fused": True}}
        options = next((value for name, value in optimizer.items() if name in faults), {})
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, **options)
        self.host = torch.randint(VOCABULARY, (size.batch, size.length + 1))
        if "batch not pinned" not in faults:
            self.host = self.host.pin_memory()
        self.total, self.logged, self.kept = torch.zeros((), device="cuda"), 0.0, []

    def __call__(self) -> None:
        has = self.faults.__contains__
        batch = self.host.to("cuda", non_blocking=not (has("copy waits") or has("batch not pinned")))
        tokens, labels = batch[:, :-1], batch[:, 1:]
        if has("mask made on the host"):
            weight = torch.ones(tokens.shape).to("cuda")
        else:
            weight = torch.ones(tokens.shape, device="cuda")
        scale = torch.tensor(0.5, device="cuda") if has("constant sent each step") else 0.5
        with torch.autocast("cuda", torch.bfloat16):
            logits = self.model(tokens)
        loss = functional.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), reduction="none").view_as(
            weight
        )
        if has("chosen by a mask"):
            loss = loss[weight > 0].mean() * scale
        else:
            loss = (loss * weight).sum() / weight.sum() * scale
        loss.backward()
        if has("norm read per parameter"):
            total = sum(one.grad.norm().item() ** 2 for one in self.model.parameters()) ** 0.5
            for one in self.model.parameters():
                one.grad.mul_(min(1.0, 1.0 / (total + 1e-6)))
        else:
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if has("branch on the loss") and torch.isnan(loss):
            raise ValueError("not a number")
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=not has("gradients filled with zeros"))
        if has("item each step"):
            self.logged += loss.item()
        else:
            self.total += loss.detach()
        if has("synchronize each step"):
            torch.cuda.synchronize()
        if has("empty_cache each step"):
            torch.cuda.empty_cache()


class Evaluation:
    """A step of evaluation."""

    def __init__(self, size: Size, *faults: str) -> None:
        self.faults = frozenset(faults)
        self.model = Model(size).cuda().eval()
        self.tokens = torch.randint(VOCABULARY, (size.batch, size.length), device="cuda")
        self.right = torch.zeros((), device="cuda", dtype=torch.long)
        self.count = 0

    def __call__(self) -> None:
        has = self.faults.__contains__
        with torch.set_grad_enabled(has("gradients in evaluation")), torch.autocast("cuda", torch.bfloat16):
            right = (self.model(self.tokens).argmax(-1) == self.tokens).sum()
        if has("count read each step"):
            self.count += int(right)
        else:
            self.right += right


FAULTS: tuple[tuple[str, str, type[Training | Evaluation], tuple[str, ...], tuple[str, ...]], ...] = (
    ("TL101", "`loss.item()` on each step", Training, ("item each step",), ()),
    ("TL102", "a branch on the loss", Training, ("branch on the loss",), ()),
    ("TL105", "`.item()` of each parameter's norm", Training, ("norm read per parameter",), ()),
    ("TL112", "`torch.cuda.synchronize()` on each step", Training, ("synchronize each step",), ()),
    ("TL107", "a mask as index on each step", Training, ("chosen by a mask",), ()),
    ("TL113", "a constant sent on each step", Training, ("constant sent each step",), ()),
    ("TL405", "a tensor made on the host, then moved", Training, ("mask made on the host",), ()),
    ("TL402", "a pinned batch, copied without non_blocking", Training, ("copy waits",), ()),
    ("TL401", "a batch that is not pinned", Training, ("batch not pinned",), ()),
    ("TL112", "`torch.cuda.empty_cache()` on each step", Training, ("empty_cache each step",), ()),
    ("TL501", "gradients filled with zeros", Training, ("gradients filled with zeros",), ()),
    ("TL706", "an optimizer with a for loop, against foreach", Training, ("optimizer for loop",), ()),
    ("TL706", "an optimizer with foreach, against fused", Training, (), ("optimizer fused",)),
    ("TL701", "attention by hand", Training, ("attention by hand",), ()),
    ("TL503", "an evaluation that keeps its graph", Evaluation, ("gradients in evaluation",), ()),
    ("TL101", "a count read on each step of an evaluation", Evaluation, ("count read each step",), ()),
)  # fmt: skip


def block(step: Step) -> float:
    """Milliseconds a step, of a few that are waited for together."""
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) * 1e3 / STEPS


def memory(step: Step) -> float:
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() / 2**20


def race(bad: Step, good: Step) -> dict[str, Any]:
    for step in (bad, good):
        block(step)
    times = [(block(bad), block(good)) for _ in range(BLOCKS)]
    ratios = sorted(before / after for before, after in times)
    return {
        "bad": statistics.median(before for before, _ in times),
        "good": statistics.median(after for _, after in times),
        "ratio": statistics.median(ratios),
        "ratios": [ratios[0], ratios[-1]],
        "bad MiB": memory(bad),
        "good MiB": memory(good),
    }


def main(out: str) -> None:
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": []}
    for name, size in SIZES.items():
        for code, text, kind, bad, good in (("", "nothing: the same twice", Training, (), ()), *FAULTS):
            versions = kind(size, *bad), kind(size, *good)
            found["rows"].append({"size": name, "code": code, "fault": text, **race(*versions)})
            del versions
            torch.cuda.empty_cache()
            Path(out).write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
