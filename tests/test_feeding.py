"""Which loaders feed a loop that sends their batches to the device, where other files send them."""

from __future__ import annotations

import pytest

from torchlint.lint.run import lint
from torchlint.settings.config import Settings

TRAIN = """\
import sys
import torch
sys.path.append("core")
from data import loader
from model import Net

net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for batch in loader():
    loss = net(net.parse(batch)).mean()
    loss.backward()
    optimizer.step()
"""
DATA = """\
import torch

class Files(torch.utils.data.Dataset):
    def __getitem__(self, index):
        return torch.load(f"{index}.pt")

def loader():
    return torch.utils.data.DataLoader(Files())
"""
HELPERS = """\
import torch

def to_gpu(x):
    x = x.contiguous()
    if torch.cuda.is_available():
        x = x.cuda()
    return x
"""
NET = """\
import torch
from helpers import to_gpu

class Net(torch.nn.Module):
    def parse(self, batch):
        {taken}
        return to_gpu({sent})
"""


def found(train: str, taken: str, sent: str) -> list[str]:
    files = {
        "train.py": train,
        "core/data.py": DATA,
        "model.py": NET.format(taken=taken, sent=sent),
        "helpers.py": HELPERS,
    }
    codes = frozenset(["TL401"])
    result = lint({path: text.encode() for path, text in files.items()}, Settings(codes=codes, fixable=codes))
    assert () == result.errors
    return [f"{finding.path}:{finding.line}" for finding in result.findings]


@pytest.mark.parametrize(
    ("taken", "sent"),
    [
        ("images, labels = batch", "self.mean"),
        ("images, labels = self.last", "images"),
        ("count = len(batch)", "torch.tensor(count)"),
        ("images = self.kept[batch]", "images"),
    ],
)
def test_what_is_sent_is_no_part_of_the_batch(taken: str, sent: str) -> None:
    assert [] == found(TRAIN, taken, sent)


@pytest.mark.parametrize(
    ("taken", "sent"),
    [
        ("pass", "batch"),
        ("images, labels = batch", "images"),
        ("images = batch['images']", "images"),
        ("(images, others), labels = batch", "others"),
        ("first = batch[0]; images = first['images']", "images"),
    ],
)
def test_a_helper_in_another_file_sends_a_part_of_the_batch(taken: str, sent: str) -> None:
    assert ["core/data.py:8"] == found(TRAIN, taken, sent)


def test_a_loader_that_no_import_leads_to() -> None:
    assert [] == found(TRAIN.replace("core", "score"), "pass", "batch")
