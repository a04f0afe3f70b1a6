"""Traces as torch.profiler writes them of a GPU, made by hand: the same categories, names and nesting."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAIN, AUTOGRAD = 100, 101


class Made:
    """A trace in the making; `now` is in microseconds, as its times are."""

    def __init__(self, gpu: str = "NVIDIA A100-SXM4-80GB") -> None:
        self.events: list[dict[str, Any]] = []
        self.now = 1000.0
        self.thread = MAIN
        self._number = 0
        self._gpu = gpu

    @contextlib.contextmanager
    def span(self, kind: str, name: str, **args: object) -> Iterator[None]:
        event: dict[str, Any] = {"ph": "X", "cat": kind, "name": name, "pid": 7, "tid": self.thread, "ts": self.now}
        self.events.append(event)
        self.now += 1
        yield
        self.now += 1
        event.update(dur=self.now - event["ts"], args=args)

    def python(self, name: str) -> contextlib.AbstractContextManager[None]:
        return self.span("python_function", name)

    def method(self, name: str) -> contextlib.AbstractContextManager[None]:
        return self.python(f"<built-in method {name} of Tensor object at 0x7f57191748d0>")

    def op(self, name: str) -> contextlib.AbstractContextManager[None]:
        return self.span("cpu_op", f"aten::{name}")

    def step(self, number: int) -> contextlib.AbstractContextManager[None]:
        return self.span("user_annotation", f"ProfilerStep#{number}")

    def _runtime(self, name: str, microseconds: float) -> int:
        self._number += 1
        with self.span("cuda_runtime", name, correlation=self._number):
            self.now += microseconds - 2
        return self._number

    def _device(self, kind: str, name: str, microseconds: float, **args: object) -> None:
        self.events.append(
            {"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": 7, "ts": self.now, "dur": microseconds,
             "args": {"correlation": self._number, "stream": 7, **args}}
        )  # fmt: skip

    def launch(self, microseconds: float = 50, takes: float = 5) -> None:
        self._runtime("cudaLaunchKernel", takes)
        self._device("kernel", "void at::native::vectorized_elementwise_kernel<4>", microseconds)

    def copy(self, how: str, size: int = 4096, takes: float = 20, wait: float = 0) -> None:
        self._runtime("cudaMemcpyAsync", takes)
        self._device("gpu_memcpy", f"Memcpy {how}", 2, bytes=size)
        if wait:
            self.wait(wait)

    def wait(self, microseconds: float, name: str = "cudaStreamSynchronize") -> None:
        self._runtime(name, microseconds)

    def item(self, wait: float, operator: str = "item") -> None:
        with self.op(operator), self.op("_local_scalar_dense"):
            self.copy("DtoH (Device -> Pageable)", 4, 10, wait)

    def text(self, **more: object) -> str:
        gpus = [{"id": 0, "name": self._gpu}] if self._gpu else []
        document = {"schemaVersion": 1, "deviceProperties": gpus, "with_stack": 1, **more}
        return json.dumps({**document, "traceEvents": self.events, "traceName": "trace.json"}, indent=1)

    def write(self, path: Path) -> Path:
        data = self.text().encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path


PROGRAM = """\
import torch

def train(model, loader, optimizer):
    for x, y in loader:
        x = x.to("cuda")
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        print(loss.item())
        if loss > 3:
            break
"""


def training(steps: int = 3) -> Made:
    """What the profiler writes of `PROGRAM`."""
    made = Made()
    with made.python("train.py(12): <module>"), made.python("train.py(9): train"):
        for number in range(2, 2 + steps):
            with made.step(number):
                one_step(made)
    made.wait(30, "cudaDeviceSynchronize")  # the profiler stops
    return made


def one_step(made: Made) -> None:
    fetching = made.span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    with made.python("torch/utils/data/dataloader.py(720): __next__"), fetching:
        made.now += 96
    with made.method("to"), made.op("to"), made.op("_to_copy"), made.op("copy_"):
        made.copy("HtoD (Pageable -> Device)", 1 << 20, takes=100, wait=100)
    with made.python("nn.Module: Net_0"), made.op("linear"):
        made.launch(300)
    engine = made.python("<built-in method run_backward of torch._C._EngineBase object at 0x7fd505e52ff0>")
    with made.python("torch/_tensor.py(570): backward"), engine:
        made.thread = AUTOGRAD
        with made.span("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0"), made.op("mm"):
            made.launch(600)
        made.thread = MAIN
        made.now += 2
    optimizing = made.span("user_annotation", "Optimizer.step#SGD.step")
    with made.python("torch/optim/optimizer.py(490): wrapper"), optimizing, made.op("_foreach_add_"):
        made.launch(40)
    with made.method("item"):
        made.item(500)
    with made.python("<built-in function print>"):
        made.now += 5
    with made.op("gt"):
        made.launch(2)
    made.item(40, "is_nonzero")
