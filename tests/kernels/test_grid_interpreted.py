"""The fix of a grid that rounds down, run in Triton's interpreter on the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.fix import apply as fix
from torchlint.lint.run import lint
from torchlint.settings.config import Settings
from torchlint.text.source import Source

pytest.importorskip("torch")
pytest.importorskip("triton")

CODE = """import torch
import triton
import triton.language as tl

@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)

def run(x, y, block):
    copy[(x.numel() // block,)](x, y, x.numel(), BLOCK=block)

x, y = torch.ones(100), torch.zeros(100)
run(x, y, 32)
print(int(y.sum()))
"""


def run(folder: Path, name: str, code: str) -> str:
    path = folder / name
    path.write_text(code)
    # The interpreter is chosen when Triton is imported, so that it needs a process of its own.
    environment = {"TRITON_INTERPRET": "1", "PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
    done = subprocess.run(
        [sys.executable, str(path)], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_last_block_is_processed(tmp_path: Path) -> None:
    wanted = frozenset(("TLK04",))
    found = lint({"copy.py": CODE.encode()}, Settings(codes=wanted, fixable=wanted)).findings
    data, applied = fix.apply(Source.of("copy.py", CODE.encode()), [f.fix for f in found if f.fix is not None])

    assert ["unsafe"] == [one.applicability for one in applied]
    assert "96" == run(tmp_path, "before.py", CODE)
    assert "100" == run(tmp_path, "after.py", data.decode())
