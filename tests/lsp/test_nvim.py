"""A real editor: Neovim without a screen shows the diagnostics and applies a fix."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

NVIM = shutil.which("nvim")
SCRIPT = Path(__file__).with_name("nvim.lua")


@pytest.mark.skipif(NVIM is None, reason="Neovim is not installed")
def test_neovim_shows_diagnostics_and_applies_a_fix(tmp_path: Path) -> None:
    file, report = tmp_path / "amp.py", tmp_path / "report.json"
    (tmp_path / "pyproject.toml").write_text("")
    file.write_text('import torch\nname = "é😀"\ncontext = torch.cuda.amp.autocast()\n')
    env = {
        **os.environ,
        "TORCHLINT_PYTHON": sys.executable,
        "TORCHLINT_FILE": str(file),
        "TORCHLINT_REPORT": str(report),
    }
    command = [str(NVIM), "--headless", "--clean", "-c", f"luafile {SCRIPT}", "-c", "qall!"]
    subprocess.run(command, cwd=tmp_path, env=env, timeout=180, check=True, capture_output=True)
    seen = json.loads(report.read_text())
    assert [(3, "TL901")] == [(line, code) for line, code, _ in seen["before"]]
    assert "torchlint: suppress TL901 (amp-device-specific-api) on this line" == seen["titles"][1]
    assert ["import torch", 'name = "é😀"', 'context = torch.amp.autocast("cuda", dtype=torch.float16)'] == seen["text"]
    assert [] == seen["after"]
