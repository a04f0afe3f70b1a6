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


def places(files: dict[str, str]) -> list[str]:
    """Where TL401 is found in a project."""
    codes = frozenset(["TL401"])
    result = lint({path: text.encode() for path, text in files.items()}, Settings(codes=codes, fixable=codes))
    assert () == result.errors
    return [f"{finding.path}:{finding.line}" for finding in result.findings]


def found(train: str, taken: str, sent: str) -> list[str]:
    files = {
        "train.py": train,
        "core/data.py": DATA,
        "model.py": NET.format(taken=taken, sent=sent),
        "helpers.py": HELPERS,
    }
    return places(files)


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


# A script asks one file for loaders, and gives them to what another file trains with

MAKES = """\
import torch

class Files(torch.utils.data.Dataset):
    def __getitem__(self, index):
        return torch.load(f"{index}.pt")

def loader():
    return torch.utils.data.DataLoader(Files(), num_workers=4)
"""
SCRIPT = """\
from makes import loader
from trainer import Trainer

Trainer({given}).train()
"""
TRAINER = """\
import torch

class Trainer:
    def __init__(self, loader):
        self.loader = loader
        self.net = torch.nn.Linear(3, 3){moved}
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)

    def train(self):
        for x, y in self.loader:
            x = {sent}
            loss = self.net(x).mean()
            loss.backward()
            self.optimizer.step()
"""


def told(given: str, sent: str, moved: str = ".cuda()", script: str = SCRIPT, other: str = "") -> list[str]:
    files = {
        "makes.py": MAKES,
        "script.py": script.format(given=given),
        "trainer.py": TRAINER.format(sent=sent, moved=moved),
        "other.py": other,
    }
    return places(files)


@pytest.mark.parametrize(
    ("given", "sent", "moved"),
    [
        ("loader()", "x", ""),
        ("loader()", "torch.zeros(3).cuda()", ".cuda()"),
        ("[loader().dataset[0]]", "x.cuda()", ".cuda()"),
        ("loader", "x.cuda()", ".cuda()"),
    ],
)
def test_a_trainer_that_sends_no_batch_of_the_loader(given: str, sent: str, moved: str) -> None:
    assert [] == told(given, sent, moved)


def test_a_script_that_gives_its_trainer_something_else() -> None:
    other = "from trainer import Trainer\nfrom makes import loader\nloader()\n"
    assert [] == told("rows", "x.cuda()", script="from trainer import Trainer\nTrainer({given}).train()\n", other=other)


def test_a_trainer_that_another_file_gives_the_loader() -> None:
    assert ["makes.py:8"] == told("loader()", "x.cuda()")


STREAM = """\
from trainer import Trainer

class Stream:
    def __iter__(self):
        while True:
            yield read()

Trainer({given}).train()
"""


@pytest.mark.parametrize("given", ["Stream()", "Unknown()"])
def test_a_trainer_that_is_given_a_loader_or_an_object_that_streams(given: str) -> None:
    assert ["makes.py:8"] == told("loader()", "x.cuda()", other=STREAM.format(given=given))
    assert [] == told("loader()", "x", other=STREAM.format(given=given))


@pytest.mark.parametrize("given", ["[1, 2]", "(1, 2)", "{}", "3"])
def test_a_trainer_that_is_given_a_loader_or_what_holds_something_else(given: str) -> None:
    other = f"from trainer import Trainer\nTrainer({given}).train()\n"
    assert [] == told("loader()", "x.cuda()", other=other)
