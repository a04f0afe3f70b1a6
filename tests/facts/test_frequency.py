"""What runs on each call of a module."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import pytest

from torchlint.facts.frequency import in_forward, is_loss
from torchlint.program.project import Project
from torchlint.rule import load
from torchlint.rule.analysis import Analysis
from torchlint.rule.site import Site
from torchlint.settings.config import Settings

CROP = b"import torch\nclass Crop(torch.nn.Module):\n    def forward(self, x):\n        return x\n"


@pytest.mark.parametrize(
    ("path", "forward"),
    [
        ("data/transforms/crop.py", False),
        ("pkg/data/transform.py", False),
        ("pkg/datasets/video/transforms.py", False),
        ("transforms.py", True),
        ("models/transforms/crop.py", True),
        ("data/crop.py", True),
        ("pkg/mydata/transforms.py", True),
        ("data/transformers/crop.py", True),
        ("data/transforms_model.py", True),
    ],
)
def test_modules_that_a_dataset_applies_to_samples_are_no_part_of_a_model(path: str, forward: bool) -> None:
    assert in_forward(_start_of("forward", path, CROP)) is forward


@pytest.mark.parametrize(
    ("path", "body", "loss"),
    [
        ("utils/dice_loss.py", "return x", True),
        ("losses/dice.py", "return x", True),
        ("dice.py", "return x", False),
        ("plot_loss.py", "loss = net(x)\n    loss.backward()", False),
        ("best_loss.py", "for y in x:\n        optimizer.zero_grad()", False),
    ],
)
def test_functions_that_lie_among_losses(path: str, body: str, loss: bool) -> None:
    first = _start_of("f", path, f"import torch\ndef f(x, net):\n    {body}\n".encode())

    assert is_loss(first, first.function) is loss


@pytest.mark.parametrize(
    ("path", "text", "loss"),
    [
        ("tests/test_losses.py", "def test_it():\n    assert focal_loss(1, 2) > 0\n", True),
        ("train.py", "def train(x):\n    focal_loss(x, 2)\n", False),
        ("train.py", "def check_all(x):\n    focal_loss(x, 2)\n", False),
    ],
)
def test_a_loss_that_only_tests_call_is_there_for_who_trains(path: str, text: str, loss: bool) -> None:
    other = f"from losses import focal_loss\n{text}".encode()
    first = _start_of("focal_loss", "losses.py", b"def focal_loss(x, y):\n    return x\n", {path: other})

    assert is_loss(first, first.function) is loss


def _start_of(name: str, path: str, text: bytes, others: Mapping[str, bytes] = MappingProxyType({})) -> Site:
    """The first statement of the function of that name in a file, beside other files."""
    files = {path: text, **others}
    project = Project({one: partial(files.__getitem__, one) for one in files})
    module = project.module(path)
    assert module is not None
    function = next(one for one in module.functions if one.name == name)
    analysis = Analysis(project, Settings(frozenset(), frozenset()))
    return Site(analysis, function, function.node.body[0], next(iter(load().values())))
