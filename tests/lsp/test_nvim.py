"""A real editor: Neovim without a screen shows the diagnostics and applies a fix."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lsp.editors import FIXED, PAGE, TEXT, environment

pytest.importorskip("pygls")

NVIM = shutil.which("nvim")
DRIVER = """\
for _, name in ipairs({ "one.py", "two.py" }) do
  vim.cmd("edit " .. name)
  vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 50)
  vim.cmd("write")
end
local names = vim.tbl_map(function(client) return client.name end, vim.lsp.get_active_clients())
vim.fn.writefile(names, "servers.txt")
"""
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


def version() -> tuple[int, ...]:
    said = subprocess.run([str(NVIM), "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(number) for number in re.findall(r"\d+", said)[:2])


@pytest.mark.skipif(NVIM is None, reason="Neovim is not installed")
@pytest.mark.parametrize(("section", "since"), [(0, (0, 11)), (1, (0, 7))], ids=["newer", "older"])
def test_what_the_page_says_fixes_a_file_before_it_is_written(
    section: int, since: tuple[int, ...], tmp_path: Path
) -> None:
    if version() < since:
        pytest.skip(f"Neovim is older than {since}")
    *start, save = re.findall(r"^```lua\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "init.lua").write_text(start[section] + save + DRIVER)
    (tmp_path / "pyproject.toml").write_text("")
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(TEXT)
    command = [str(NVIM), "--headless", "--clean", "-c", "filetype on", "-c", "luafile init.lua", "-c", "qall!"]
    subprocess.run(command, cwd=tmp_path, env=environment(), timeout=180, check=True, capture_output=True)
    assert [FIXED, FIXED] == [(tmp_path / name).read_text() for name in ("one.py", "two.py")]
    assert "torchlint\n" == (tmp_path / "servers.txt").read_text()  # one for all buffers
