"""What is handed on as a class, through many functions."""

from __future__ import annotations

from torchlint.lint.run import lint
from torchlint.rule import load
from torchlint.settings.config import Settings


def codes_of(text: str) -> list[str]:
    codes = frozenset(load())
    return [one.code for one in lint({"a.py": text.encode()}, Settings(codes=codes, fixable=codes)).findings]


def chain(length: int) -> str:
    """A program in which each of so many functions calls the one before twice."""
    calls = "".join(f"def f{i}(norm):\n    f{i - 1}(norm)\n    return f{i - 1}(norm)\n" for i in range(1, length))
    return (
        "import torch\nfrom torch import nn\n\n"
        f"def f0(norm):\n    return nn.Sequential(nn.Conv2d(3, 8, 3), norm(8))\n{calls}"
        f"net = f{length - 1}(nn.BatchNorm2d)\n"
        "for x in loader:\n    loss = net(x).sum()\n    loss.backward()\n    optimizer.step()\n"
    )


def test_a_norm_is_followed_through_a_few_functions() -> None:
    assert "TL704" in codes_of(chain(4))


def test_what_more_ways_lead_to_than_can_be_followed_is_not_known() -> None:
    assert "TL704" not in codes_of(chain(60))
