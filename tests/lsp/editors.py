"""What the tests with a real editor share: a program with a finding, and where the server is found."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "editors.md").read_text("utf-8")
TEXT = """\
import torch


def train(model, loader, optimizer):
    for x in loader:
        with torch.cuda.amp.autocast(dtype=torch.bfloat16):
            loss = model(x.cuda()).sum()
        loss.backward()
        optimizer.step()
"""
FIXED = TEXT.replace("torch.cuda.amp.autocast(dtype", 'torch.amp.autocast("cuda", dtype')


def environment(**more: str) -> dict[str, str]:
    """The environment of an editor that finds `torchlint` as a command."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", **more}
