"""The waits of torch's own samples of operators, as an H100 had them (docs/gpu.md), held against the virtual GPU.

The samples are those of the torch that is here: a call that looks as it did there, by the shapes and numbers that it is
given, has to wait if it did there, and not if it did not.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")  # which torch's own samples need

from torchlint.trace.eager.virtual import virtual_gpu

pytestmark = pytest.mark.torch

ROOT = Path(__file__).parents[2]
MEASURED: dict[str, list[tuple[str, bool]]] = json.loads(
    gzip.decompress(Path(__file__).with_name("h100.json.gz").read_bytes())
)
WAITING = sorted(name for name, calls in MEASURED.items() if any(waited for _, waited in calls))
QUIET = sorted(set(MEASURED) - set(WAITING))[::8]
LEFT = {"prod": "of a single number torch looks for zeros, too, which no operator under a mode tells"}
"""Operators of which some calls differ, and why."""
WAITS = ("sync", "h2d blocking", "d2h blocking", "synchronize")
_FEWEST = 600
"""Calls that were compared with torch 2.11, where they were measured, are more."""


@pytest.fixture(scope="module")
def waits() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_waits", ROOT / "scripts" / "gpu" / "waits.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_host_waits_as_it_did_on_a_gpu(waits: ModuleType) -> None:
    wrong: list[str] = []
    compared = 0
    wanted = {*WAITING, *QUIET} - set(LEFT)
    for op in waits.op_db:
        name = op.name + (f" {op.variant_test_name}" if op.variant_test_name else "")
        if name not in wanted:
            continue
        measured = dict(MEASURED[name])
        for given, told in seen(waits, op):
            if given in measured:
                compared += 1
                if told != measured[given]:
                    wrong.append(f"{name}: {given}: {'waited' if measured[given] else 'did not wait'} there")
    assert wrong == []
    assert compared > _FEWEST


def seen(waits: ModuleType, op: Any) -> list[tuple[str, bool]]:
    """The calls of an operator, and whether the host waits for each on the virtual GPU."""
    device = waits.Virtual()
    with warnings.catch_warnings(), virtual_gpu(device, counts=True):
        warnings.simplefilter("ignore")
        work, given = waits.calls(op)
        counted = device.run(work)
    told = [(text, counts) for text, counts in zip(given, counted, strict=True) if counts is not None]
    return [(text, any(counts.get(kind) for kind in WAITS)) for text, counts in told]
