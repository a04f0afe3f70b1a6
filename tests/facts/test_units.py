"""What stands for a part of a file is another one when that part changes, and no other time."""

from __future__ import annotations

import pytest

from torchlint.facts.module import Module
from torchlint.facts.units import BODY, unit
from torchlint.text.source import Source

CODE = """\
import torch

SIZE = 4


@torch.no_grad()
def first(x):
    return x[:SIZE]


LAST = first(torch.ones(SIZE))


def second(x):
    return x


class Net(torch.nn.Module):
    size = SIZE

    def forward(self, x):
        return first(x)
"""


def mark(code: str, name: str) -> str:
    return unit(Module(Source.of("a.py", code.encode()), "a", False), name)


# The body of a module


@pytest.mark.parametrize(
    "code",
    [
        CODE + "\n\ndef third(x):\n    return x\n",
        CODE.replace("\n\ndef second", "\n\ndef third():\n    pass\n\n\ndef second"),
        CODE.replace("    return x\n", "    y = x\n    return y\n"),
        CODE.replace("def second(x):\n    return x\n\n\n", ""),
        CODE.replace("\n\n\n", "\n"),
        CODE.replace("SIZE = 4\n", "# how many\nSIZE = 4\n") + "# the end\n",
        CODE.replace("    def forward", "    # of the class\n\n    def forward"),
    ],
    ids=[
        *("one more function", "one between others", "another function", "one function less"),
        *("fewer blank lines", "comments", "a comment in a class"),
    ],
)
def test_the_body_of_a_module_stays_the_same(code: str) -> None:
    assert CODE != code
    assert mark(CODE, BODY) == mark(code, BODY)


@pytest.mark.parametrize(
    "code",
    [
        CODE.replace("SIZE = 4", "SIZE = 5"),
        CODE.replace("@torch.no_grad()", "@torch.enable_grad()"),
        CODE.replace("import torch\n", "import torch\nimport os\n"),
        CODE.replace("    size = SIZE", "    size = 2"),
        CODE.replace("Net(torch.nn.Module)", "Net"),
        CODE.replace("SIZE = 4", 'SIZE = """\n# 4\n"""'),
        CODE.replace("def first", "def other"),
        CODE + "\n\ndef SIZE():\n    pass\n",
        CODE.replace("import torch\n", "import numpy as torch\n"),
    ],
)
def test_the_body_of_a_module_is_another_one(code: str) -> None:
    assert mark(CODE, BODY) != mark(code, BODY)


# A function


@pytest.mark.parametrize(
    "code",
    [
        CODE.replace("    return x\n", "    return x + 1\n"),
        CODE.replace("LAST = ", "FIRST = "),
        "\n\n" + CODE,
    ],
)
def test_a_function_stays_the_same(code: str) -> None:
    assert CODE != code
    assert mark(CODE, "first") == mark(code, "first")


@pytest.mark.parametrize(
    "code",
    [
        CODE.replace("x[:SIZE]", "x[SIZE:]"),
        CODE.replace("@torch.no_grad()", "@torch.enable_grad()"),
        CODE.replace("SIZE = 4", "from sizes import SIZE"),
        CODE.replace("def first(x)", "def first(x, y)"),
    ],
)
def test_a_function_is_another_one(code: str) -> None:
    assert mark(CODE, "first") != mark(code, "first")


def test_a_function_that_is_not_there_has_none() -> None:
    assert "" == mark(CODE, "third")
    assert "" != mark(CODE, "Net.forward")
