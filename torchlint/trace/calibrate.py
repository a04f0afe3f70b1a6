"""Measures what `torchlint trace --gpu` assumes: rates of kernels, launches, waits and copies. For a process of its own.

    python -m torchlint.trace.calibrate OUT.json

Each figure is the median of 30 runs after 10 to warm up. docs/gpu.md has those of an H100;
a test runs all of it on the CPU with small sizes.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

Work = Callable[[], object]
_WARM_UP, _RUNS = 10, 30
_OPERATORS = 2000


class Bench:
    """A device, and how large things are on it; `scale` below 1 is for trying the code out."""

    def __init__(self, device: str, *, scale: float = 1.0, runs: int = _RUNS) -> None:
        self.device = device
        self.scale = scale
        self.runs = runs
        self.half = torch.float16 if device == "cuda" else torch.bfloat16

    def measure(self) -> dict[str, float]:
        """Rates in operations or bytes a second, and seconds: what the constants are made of."""
        return {
            "matrix": self.matrix(),
            "convolution": self.convolution(groups=1),
            "grouped": self.convolution(groups=32),
            "depthwise": self.depthwise(),
            "memory": self.memory(),
            "launch": self.launch(),
            "host": self.host(),
            "wait": self.wait(),
            "pageable": self.copy(pinned=False),
            "pinned": self.copy(pinned=True),
        }

    # --- clocks ---

    def _finish(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def seconds(self, work: Work, times: int = 1) -> float:
        """Seconds of one call among `times` that follow each other, on the device's clock where there is one."""
        for _ in range(_WARM_UP if self.runs == _RUNS else 1):
            work()
        return statistics.median(self._once(work, times) for _ in range(self.runs))

    def _once(self, work: Work, times: int) -> float:
        self._finish()
        if self.device == "cuda":
            event: Any = torch.cuda.Event
            first, last = event(enable_timing=True), event(enable_timing=True)
            first.record()
            for _ in range(times):
                work()
            last.record()
            self._finish()
            return float(first.elapsed_time(last)) * 1e-3 / times
        started = time.perf_counter()
        for _ in range(times):
            work()
        return (time.perf_counter() - started) / times

    def _host_seconds(self, work: Work, times: int) -> float:
        """Seconds of the host alone for one of `times` calls that are not waited for."""
        work()
        found = []
        for _ in range(self.runs):
            self._finish()
            started = time.perf_counter()
            for _ in range(times):
                work()
            found.append((time.perf_counter() - started) / times)
        self._finish()
        return statistics.median(found)

    def _size(self, size: int, step: int = 8) -> int:
        return max(step, int(size * self.scale) // step * step)

    def _random(self, *shape: int) -> Tensor:
        return torch.randn(*shape, device=self.device, dtype=self.half)

    # --- rates ---

    def matrix(self) -> float:
        return statistics.median(self._matrix(self._size(size)) for size in (2048, 4096, 8192))

    def _matrix(self, size: int) -> float:
        left, right = self._random(size, size), self._random(size, size)
        return 2 * size**3 / self.seconds(lambda: left @ right)

    def convolution(self, groups: int) -> float:
        return statistics.median(self._convolution(*shape, groups) for shape in ((128, 56), (256, 28), (512, 14)))

    def _convolution(self, channels: int, side: int, groups: int) -> float:
        batch = max(1, int(64 * self.scale))
        images = self._random(batch, channels, side, side).contiguous(memory_format=torch.channels_last)
        weight = self._random(channels, channels // groups, 3, 3).contiguous(memory_format=torch.channels_last)
        work = 2 * batch * side * side * channels * (channels // groups) * 9
        return work / self.seconds(lambda: functional.conv2d(images, weight, padding=1, groups=groups))

    def depthwise(self) -> float:
        batch = max(1, int(128 * self.scale))
        images, weight = self._random(batch, 192, 56, 56), self._random(192, 1, 3, 3)
        touched = 2 * images.numel() * images.element_size()
        return touched / self.seconds(lambda: functional.conv2d(images, weight, padding=1, groups=192))

    def memory(self) -> float:
        values = self._random(self._size(2**13), self._size(2**13))
        width = values.shape[1]
        touched = 2 * values.numel() * values.element_size()
        works: tuple[Work, ...] = (
            lambda: values + 1.0,
            lambda: functional.gelu(values),
            lambda: functional.layer_norm(values, (width,)),
            lambda: values.softmax(-1),
            lambda: values.clone(),
        )
        return statistics.median(touched / self.seconds(work) for work in works)

    # --- costs ---

    def _times(self) -> int:
        return max(10, int(_OPERATORS * self.scale))

    def launch(self) -> float:
        """What a kernel takes beside its work: one of many that are small, as the device runs them back to back."""
        small = self._random(1024)
        graph = self._graph(lambda: small.add_(1.0), self._times())
        return self.seconds(graph) / self._times() if graph else self.seconds(lambda: small.add_(1.0), self._times())

    def _graph(self, work: Work, times: int) -> Work | None:
        if self.device != "cuda":
            return None
        work()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(times):
                work()
        return graph.replay

    def host(self) -> float:
        """What the host spends on an operator: of a small training step, forward, backward and optimizer."""
        layers = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(8))).to(self.device)
        optimizer = torch.optim.SGD(layers.parameters(), lr=0.01, foreach=False)
        inputs = torch.randn(8, 16, device=self.device)

        def train() -> None:
            layers(inputs).sum().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)

        operators = 8 + 1 + 1 + 3 * 8 + 16 + 16  # addmm, sum; of each layer mm, mm, sum; the optimizer; zeros
        return self._host_seconds(train, max(2, self._times() // 100)) / operators

    def wait(self) -> float:
        value = torch.ones((), device=self.device)
        return self._host_seconds(value.item, self._times())

    def copy(self, *, pinned: bool) -> float:
        source = torch.empty(self._size(2**28), dtype=torch.uint8)
        if pinned and self.device == "cuda":
            source = source.pin_memory()
        target = torch.empty_like(source, device=self.device)
        return source.numel() / self.seconds(lambda: target.copy_(source, non_blocking=pinned))


def main(out: str) -> int:
    if not torch.cuda.is_available():
        print("torch sees no GPU here", file=sys.stderr)
        return 3
    measured = Bench("cuda").measure()
    document = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "measured": measured}
    Path(out).write_text(json.dumps(document), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
