"""What a function makes for the tensors it is given: told of, unless scripts come to it once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchlint.text.finding import Finding

METRICS = """\
import torch


def neighbours(distances, k):
    n = distances.size(0)
    far = torch.diag(torch.ones(n)).to(distances)
    return (distances + far).topk(k, 0, False)


def metrics(samples):
    return neighbours(torch.cdist(samples, samples), 1)
"""
TEST = """\
import torch
from metrics import metrics
from model import Net

device = torch.device("cuda")
net = Net().to(device)
"""


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("metrics(net(given.to(device)))", False),
        ("def test():\n    return metrics(net(given.to(device)))\n\ntest()", False),
        ("def test(step):\n    if step % 1000 == 0:\n        return metrics(net(given.to(device)))", False),
        ("for part in given:\n    metrics(part.to(device))", True),
        ("found = [metrics(part.to(device)) for part in given]", True),
        ("def test():\n    return metrics(net(given.to(device)))", True),
        ("def test():\n    return metrics(net(given.to(device)))\n\nfor part in given:\n    test()", True),
        ("class Test:\n    def run(self):\n        return metrics(net(given.to(device)))\n\nTest().run()", True),
        ("", True),
    ],
)
def test_a_helper(linted: Callable[..., list[Finding]], script: str, told: bool) -> None:
    found = linted(codes="TL405", metrics=METRICS, test_gen=TEST + script)

    assert told == bool(found)


def test_a_helper_that_its_own_file_tries(linted: Callable[..., list[Finding]]) -> None:
    tried = METRICS + 'if __name__ == "__main__":\n    metrics(torch.rand(3, 4).cuda())\n'

    assert [6] == [finding.line for finding in linted(codes="TL405", metrics=tried)]
