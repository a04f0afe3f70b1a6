"""Measures steps of the models of scripts/prediction on a GPU: published.json's kind of times, for the GPU that is there.

    python scripts/gpu/times.py OUT.json --seconds 150 [--part infer|train]

Half precision by autocast, channels first, cuDNN's own choice of kernels (its benchmark mode takes half a minute for one
model); a batch that fills the device, and
one of 2, where the host is what is waited for. Seconds are of the device's clock, and of the wall between two waits.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import timm
import torch
from torch.nn import functional

MODELS = Path(__file__).parents[1] / "prediction" / "models.json.gz"
LARGE = {"infer": 256, "train": 96}
SMALL = 2


def step_of(name: str, size: int, mode: str, batch: int, device: str) -> Callable[[], object]:
    train = mode == "train"
    timm.layers.set_fused_attn(not train)  # as record.py
    with torch.device(device):
        model = timm.create_model(name).train(train)
        images = torch.randn(batch, 3, size, size)
        labels = torch.zeros(batch, dtype=torch.long)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, foreach=False)

    def infer() -> None:
        with torch.inference_mode(), torch.autocast(device, torch.half):
            model(images)

    def step() -> None:
        with torch.autocast(device, torch.half):
            output = model(images)
        output = output[0] if isinstance(output, tuple) else output
        functional.cross_entropy(output.float(), labels).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    return step if train else infer


def measured(step: Callable[[], object]) -> dict[str, float]:
    """Medians: milliseconds of the device between two events around a step, and of the wall with a wait behind each."""
    for _ in range(4):
        step()
    torch.cuda.synchronize()
    device, wall, host = [], [], []
    end = time.perf_counter() + 0.3
    while len(device) < 5 or (time.perf_counter() < end and len(device) < 20):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        started = time.perf_counter()
        first.record()
        step()
        last.record()
        issued = time.perf_counter()
        torch.cuda.synchronize()
        wall.append(time.perf_counter() - started)
        host.append(issued - started)
        device.append(first.elapsed_time(last))
    return {
        "ms": statistics.median(device),
        "wall": statistics.median(wall) * 1e3,
        "host": statistics.median(host) * 1e3,
    }


def busy(step: Callable[[], object]) -> dict[str, float]:
    """Milliseconds that kernels ran in a step, and how many there were, as the profiler tells."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    kernels = [
        event
        for event in profile.profiler.kineto_results.events()
        if str(event.device_type()).endswith("CUDA") and not event.name().startswith(("Memcpy", "Memset"))
    ]
    return {"kernels": len(kernels), "busy": sum(event.duration_ns() for event in kernels) * 1e-6}


def main(arguments: list[str]) -> None:
    out = Path(arguments[0])
    limit = time.perf_counter() + float(arguments[arguments.index("--seconds") + 1])
    only = arguments[arguments.index("--part") + 1] if "--part" in arguments else ""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    recorded = json.loads(gzip.decompress(MODELS.read_bytes()))["models"]
    wanted = sorted(
        (key for key in recorded if "merged" not in key and only in key),
        key=lambda key: hashlib.sha256(key.encode()).hexdigest(),
    )
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if device == "cuda" else device,
        "torch": torch.__version__,
        "timm": timm.__version__,
        "times": [],
    }
    for key in wanted:
        name, size, mode = key.split()
        if time.perf_counter() > limit:
            break
        for batch in (LARGE[mode], SMALL):
            started = time.perf_counter()
            row: dict[str, Any] = {"model": name, "size": int(size), "mode": mode, "batch": batch}
            try:
                step = step_of(name, int(size), mode, batch, device)
                row |= measured(step) | busy(step)
            except Exception as error:  # noqa: BLE001 - one model of many
                row["error"] = f"{type(error).__name__}: {error}"[:120]
            step = None  # type: ignore[assignment]
            with contextlib.suppress(Exception):
                torch.cuda.empty_cache()
            row["took"] = round(time.perf_counter() - started, 2)
            found["times"].append(row)
        out.write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
