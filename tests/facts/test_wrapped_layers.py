"""Convolutions that a class of the project wraps."""

from __future__ import annotations

from torchlint.lint.run import lint
from torchlint.rule import load
from torchlint.settings.config import Settings

LAYERS = """\
import torch
from torch import nn
from torch.hub import load_state_dict_from_url


class ConvNorm(nn.Module):
    def __init__(self, i, o, bias=True):
        super().__init__()
        self.conv = nn.Conv1d(i, o, 1, bias=bias)
        self.load_state_dict(load_state_dict_from_url("https://example.org/conv.pth"))

    def forward(self, x):
        return self.conv(x)
"""
TRAIN = """\
import torch
from torch import nn

from layers import ConvNorm

net = nn.Sequential(ConvNorm(8, 8), nn.BatchNorm1d(8))
"""


def test_a_wrapper_whose_file_loads_published_weights_may_need_its_bias() -> None:
    files = {"layers.py": LAYERS.encode(), "train.py": TRAIN.encode()}
    codes = frozenset(load())
    (found,) = lint(files, Settings(codes=frozenset(["TL704"]), fixable=codes, preview=True)).findings

    assert ("train.py", 6) == (found.path, found.line)
    assert found.message.endswith("subtracts again, unless published weights have it")
