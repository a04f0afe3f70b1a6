"""`torchlint calibrate`: measure a GPU, so that predictions for it rest on measured constants."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchlint.settings import discover
from torchlint.system.failure import Failure

from . import shared, terminal

if TYPE_CHECKING:
    from torchlint.predict.constants import Constants
    from torchlint.predict.gpus import Gpu

_NO_GPU = 3
_LIMIT = 1200.0
"""Seconds; it takes a few minutes."""
_WIDE = 1.25
"""The factor within which eight of ten models lie once a GPU's own constants are known (docs/prediction.md)."""
_HOST = 2.0
"""The host's cost of other kinds of operators lies within that factor of the one measured."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "calibrate",
        help="measure the GPU of this machine for `torchlint trace --gpu`",
        description="Measure matrix products, convolutions, memory, launches, waits and copies on the GPU of this "
        "machine, and write the constants for `torchlint trace --gpu NAME --calibration FILE`. It takes the GPU for a few "
        "minutes.",
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="where the constants go")
    parser.add_argument("--gpu", required=True, metavar="NAME", help="which of the known GPUs it is: h100, a100, ...")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and write; Failure where there is no GPU."""
    from torchlint.predict.constants import to_json
    from torchlint.predict.gpus import gpu

    found = gpu(args.gpu)
    discover.spare_code(str(args.file))
    with tempfile.TemporaryDirectory(prefix="torchlint-") as folder:
        out = Path(folder, "measured.json")
        command = [sys.executable, "-m", "torchlint.trace.calibrate", str(out)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=False)
        except subprocess.TimeoutExpired:
            raise Failure(f"the measurements did not end within {_LIMIT / 60:.0f} minutes") from None
        if done.returncode == _NO_GPU:
            raise Failure("torch sees no GPU here: `torchlint calibrate` measures one, and can't do without")
        if done.returncode:
            raise Failure(f"the measurements failed\n{done.stderr.strip()[-2000:]}")
        document = json.loads(out.read_text("utf-8"))
    constants = constants_of(document, found, date.today().isoformat())
    shared.write(args.file, to_json(constants, args.gpu.lower()))
    terminal.out(f"{document['device']} measured; torchlint trace --gpu {args.gpu} --calibration {args.file}\n")
    return 0


def constants_of(document: dict[str, Any], gpu: Gpu, day: str) -> Constants:
    """The constants that measured rates are, as shares of the data sheet's."""
    from torchlint.predict.constants import assumed

    measured = document["measured"]
    flops, bandwidth = gpu.half * 1e12, gpu.bandwidth * 1e9
    return replace(
        assumed(gpu),
        matrix=measured["matrix"] / flops,
        convolution=measured["convolution"] / flops,
        grouped=measured["grouped"] / flops,
        depthwise=measured["depthwise"] / bandwidth,
        memory=measured["memory"] / bandwidth,
        launch=measured["launch"],
        host=measured["host"],
        host_least=measured["host"] / _HOST,
        host_most=measured["host"] * _HOST,
        wait=measured["wait"],
        pageable=measured["pageable"] / 1e9,
        pinned=measured["pinned"] / 1e9,
        wide=_WIDE,
        calibrated=f"{document['device']} on {day}",
    )
