"""What torch's own samples of operators (OpInfo) do on a GPU, or on the virtual one: waits, copies, launches.

    python scripts/gpu/waits.py OUT.json [--virtual] [--shard 0/8]

Of each call, forward and backward apart: how often torch warns of a synchronization (the source of what `torchlint trace`
tells on a real GPU), how often CUDA's runtime was asked to wait (CUPTI), and how many kernels were launched.
"""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map_only

sys.path.append(str(Path(__file__).parents[1] / "torch_api"))
from measured import samples

SAMPLES = 12
WARNING = "called a synchronizing CUDA operation"

Call = Callable[[], object]
Counts = dict[str, int]


class Virtual:
    """A recorder of what calls did on the virtual GPU."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def record(self, kind: str, *, count: int = 1, data: Any = None, **_: object) -> None:
        kind = f"{kind} blocking" if (data or {}).get("blocking") else kind
        self.seen[kind] += count

    def count_operator(self, *_: object) -> None:
        self.seen["operators"] += 1

    def emit(self, event: object) -> None: ...

    def run(self, calls: list[Call]) -> list[Counts | None]:
        found: list[Counts | None] = []
        for call in calls:
            self.seen = Counter()
            try:
                call()
            except Exception:  # noqa: BLE001 - a sample that this device refuses
                found.append(None)
                continue
            found.append(dict(self.seen))
        return found


class Real:
    """What torch's warnings and CUDA's runtime tell of calls."""

    def run(self, calls: list[Call]) -> list[Counts | None]:
        warned: list[int | None] = []
        cuda = torch.profiler.ProfilerActivity
        with torch.profiler.profile(activities=[cuda.CPU, cuda.CUDA]) as profile:
            for number, call in enumerate(calls):
                torch.cuda.synchronize()
                with warnings.catch_warnings(record=True) as caught, torch.profiler.record_function(f"call {number}"):
                    warnings.simplefilter("always")
                    torch.cuda.set_sync_debug_mode("warn")
                    try:
                        call()
                        failed = False
                    except Exception:  # noqa: BLE001 - a sample that this device refuses
                        failed = True
                    torch.cuda.set_sync_debug_mode("default")
                warned.append(None if failed else sum(WARNING in str(one.message) for one in caught))
        found: list[Counter[str]] = [Counter() for _ in calls]
        events = profile.profiler.kineto_results.events()
        spans = sorted(
            (event.start_ns(), event.end_ns(), int(event.name().split()[1]))
            for event in events
            if event.name().startswith("call ") and str(event.device_type()).endswith("CPU")
        )
        for event in events:
            name = event.name()
            if name.startswith("cu") and str(event.device_type()).endswith("CPU"):
                at = event.start_ns()
                for start, end, number in spans:
                    if start <= at <= end:
                        found[number][name] += 1
        return [
            None if times is None else {**counts, "warned": times} for times, counts in zip(warned, found, strict=True)
        ]


def calls(op: Any) -> tuple[list[Call], list[str]]:
    """Calls with all tensors on the device, each with its backward pass behind it, and what they are given."""
    found: list[Call] = []
    given: list[str] = []
    torch.manual_seed(0)
    for args, kwargs in samples(op, SAMPLES, grad=True):

        def leaf(value: torch.Tensor) -> torch.Tensor:
            return value.detach().to("cuda").requires_grad_(value.requires_grad)

        try:
            args, kwargs = tree_map_only(torch.Tensor, leaf, (args, kwargs))
        except Exception:  # noqa: BLE001, S112 - no such dtype there
            continue
        kept: list[Any] = []

        def forward(args: Any = args, kwargs: Any = kwargs, kept: list[Any] = kept) -> None:
            kept.append(op.op(*args, **kwargs))

        def backward(kept: list[Any] = kept) -> None:
            outputs = [
                one
                for one in tree_leaves(kept[0] if kept else ())
                if isinstance(one, torch.Tensor) and one.requires_grad and one.layout is torch.strided
            ]
            if not outputs:
                raise ValueError("nothing to go back from")
            torch.autograd.backward(outputs, [torch.ones_like(one) for one in outputs])

        found += [forward, backward]
        text = ", ".join([*map(short, args), *(f"{name}={short(value)}" for name, value in kwargs.items())])
        given += [text, f"backward of {text}"]
    return found, given


def short(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(short, value[:4]))}]"
    return repr(value)[:40]


def measure(device: Virtual | Real, part: int, parts: int) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for op in islice(op_db, part, None, parts):
        name = op.name + (f" {op.variant_test_name}" if op.variant_test_name else "")
        try:
            work, given = calls(op)
            device.run(work)  # handles, plans and libraries are made
            work, given = calls(op)
            found[name] = list(zip(given, device.run(work), strict=True))
        except Exception as error:  # noqa: BLE001 - one operator of many
            found[name] = [[f"{type(error).__name__}: {error}"[:120], None]]
    return found


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    part, parts = 0, 1
    if "--shard" in arguments:
        part, parts = map(int, arguments[arguments.index("--shard") + 1].split("/"))
    with contextlib.ExitStack() as stack:
        device: Virtual | Real = Real()
        if "--virtual" in arguments:
            from torchlint.trace.eager.virtual import virtual_gpu

            device = Virtual()
            stack.enter_context(virtual_gpu(device, counts=True))
        found = measure(device, part, parts)
    Path(arguments[0]).write_text(json.dumps({"torch": torch.__version__, "operators": found}), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
