"""Fixes that hang on what the files around a place do: those may lie behind packages."""

from __future__ import annotations

import pytest

from torchlint.lint.run import lint
from torchlint.settings.config import Settings

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))

    def forward(self, x):
        return self.layers(x)
"""
INIT = "from torch import nn\ndef init(m):\n    if isinstance(m, nn.Conv2d):\n        m.bias.data.fill_(0)\n"
TRAIN = "from models import Net\nfrom helpers import init\nnet = Net().apply(init)\n"


def is_fixed(files: dict[str, str]) -> bool:
    """Whether a fix is offered for the bias in front of a norm."""
    rules = frozenset(("TL704",))
    given = {name: code.encode() for name, code in files.items()}
    (found,) = lint(given, Settings(rules, rules, preview=True)).findings
    return found.fix is not None


@pytest.mark.parametrize("line", ["from .net import Net", "from .net import *"])
@pytest.mark.parametrize("init", ["from .weights import init", "from .weights import *"])
def test_a_bias_that_is_filled_where_packages_stand_between(line: str, init: str) -> None:
    files = {"models/__init__.py": f"{line}\n", "models/net.py": NET, "helpers/weights.py": INIT}

    assert not is_fixed({**files, "helpers/__init__.py": f"{init}\n", "train.py": TRAIN})
    assert is_fixed({**files, "helpers/__init__.py": "", "train.py": TRAIN})
    assert is_fixed({**files, "helpers/__init__.py": f"{init}\n", "train.py": "from models import Net\nNet()\n"})
