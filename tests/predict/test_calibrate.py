"""`torchlint calibrate` without a GPU: what it says, what it makes of measured rates, and that all of it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.commands.calibrate import constants_of
from torchlint.predict.constants import from_json, to_json
from torchlint.predict.gpus import GPUS


def test_without_a_gpu_one_line_says_so(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    command = [sys.executable, "-m", "torchlint", "calibrate", "h100.json", "--gpu", "h100"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert 2 == done.returncode
    assert (
        "torchlint failed\n  Cause: torch sees no GPU here: `torchlint calibrate` measures one, and can't do without\n"
    ) == done.stderr
    assert not (tmp_path / "h100.json").exists()


MEASURED = {
    "matrix": 692.3e12, "convolution": 494.5e12, "grouped": 98.9e12, "depthwise": 1.0e12, "memory": 2.68e12,
    "launch": 1.5e-6, "host": 8e-6, "wait": 15e-6, "pageable": 5e9, "pinned": 5.2e10,
}  # fmt: skip


def test_rates_become_shares_of_the_data_sheet_and_are_read_back(tmp_path: Path) -> None:
    found = constants_of({"device": "NVIDIA H100", "measured": MEASURED}, GPUS["h100"], "2026-11-20")
    (tmp_path / "h100.json").write_text(to_json(found, "h100"))

    assert ("h100", found) == from_json(tmp_path / "h100.json")
    assert (0.7, 0.5, 0.8) == tuple(round(share, 3) for share in (found.matrix, found.convolution, found.memory))
    assert (4e-6, 8e-6, 16e-6) == (found.host_least, found.host, found.host_most)
    assert "NVIDIA H100 on 2026-11-20" == found.calibrated
    assert (52.0, 5.0) == (found.pinned, found.pageable)


@pytest.mark.torch
def test_all_that_is_measured_runs_in_small_on_the_cpu() -> None:
    pytest.importorskip("torch")
    from torchlint.trace.calibrate import Bench

    measured = Bench("cpu", scale=0.01, runs=1).measure()

    assert set(MEASURED) == set(measured)
    assert all(value > 0 for value in measured.values())
