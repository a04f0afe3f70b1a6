"""Options of classes that a library offers and does not use itself are what they are by default: what stands behind one that is off is quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint import api

_LOSSES = """\
import torch
from torch import nn

__all__ = ["Masked", "Plain"]

class Masked(nn.Module):
    def __init__(self, ignore=None, hard=False, soft=True):
        super().__init__()
        self.ignore = ignore
        self.hard = hard
        self.soft = soft

    def forward(self, x: torch.Tensor, target: torch.Tensor):
        if self.ignore is not None:
            x = x[target != 1]
        if self.hard:
            x = x[target != 2]
        if self.soft:
            x = x[target != 3]
        return x.mean()

class Plain(nn.Module):
    def forward(self, x: torch.Tensor, target: torch.Tensor):
        return (x[target != 4] - 1).mean()
"""
_TRAIN = """\
import torch
from kit.losses import Plain

def train(model, loader, optimizer):
    model.cuda()
    loss = Plain()
    for x, y in loader:
        loss(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
"""
_MADE = "from kit.losses import Masked\n\n"


def told(root: Path, **files: str) -> list[int]:
    """The numbers in the masks that TL107 tells of, in a library of these files beside its own."""
    (root / ".git").mkdir()
    (root / "kit").mkdir()
    (root / "setup.py").write_text("from setuptools import setup\nsetup(name='kit', packages=['kit'])\n", "utf-8")
    (root / "README.md").write_text("Install it: `pip install kit`.\n", "utf-8")
    texts = {"__init__": "from kit.losses import Masked, Plain\n", "losses": _LOSSES, "train": _TRAIN} | files
    for name, text in texts.items():
        (root / f"kit/{name}.py").write_text(text, "utf-8")
    result = api.check([root / "kit"], select=["TL107"], isolated=True)
    assert not result.errors
    lines = _LOSSES.splitlines()
    return sorted(int(lines[one.line - 1].partition("!= ")[2][0]) for one in result.findings)


def test_a_class_that_nobody_makes_is_as_it_is_by_default(tmp_path: Path) -> None:
    assert told(tmp_path) == [3, 4]


def test_a_test_says_nothing_of_what_is_on(tmp_path: Path) -> None:
    assert told(tmp_path, test_losses=_MADE + "def test_it():\n    Masked(ignore=3)(1, 2)\n") == [3, 4]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("loss = Masked()\n", [3, 4]),
        ("loss = Masked(ignore=3)\n", [1, 3, 4]),
        ("loss = Masked(3, hard=True)\n", [1, 2, 3, 4]),
        ("def build(**options):\n    return Masked(**options)\n", [1, 2, 3, 4]),
        ("class Trainer:\n    loss_class = Masked\n", [1, 2, 3, 4]),
        ("LOSSES = {'masked': Masked}\n", [1, 2, 3, 4]),
        ("class Harder(Masked):\n    pass\n", [1, 2, 3, 4]),
    ],
)
def test_a_class_that_somebody_may_make_is_as_they_make_it(tmp_path: Path, text: str, lines: list[int]) -> None:
    assert told(tmp_path, made=_MADE + text) == lines
