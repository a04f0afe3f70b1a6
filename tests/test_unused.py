"""What an application has and nothing of it names is not told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint import api

HELPERS = """\
\"\"\"Helpers: average, init_params.\"\"\"
import torch.nn as nn

def average(values):
    return sum(values) / len(values)

def init_params(net):
    for layer in net.modules():
        nn.init.xavier_uniform(layer.weight)
"""
MAIN = "import torch\nfrom helpers import average\n\nprint(average([torch.ones(1)]))\n"


def told(root: Path, **files: str) -> list[str]:
    """The lines of helpers.py that something is told of, in a project of these files."""
    (root / ".git").mkdir()
    for name, text in {"helpers": HELPERS, "main": MAIN, **files}.items():
        (root / f"{name}.py").write_text(text)
    return [f"{one.code} {one.line}" for one in api.check([root / "helpers.py"], isolated=True).findings]


def test_a_function_that_nobody_names(tmp_path: Path) -> None:
    assert [] == told(tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        {"main": MAIN.replace("average\n", "average, init_params\n")},
        {"main": "import torch\nimport helpers\n\ngetattr(helpers, 'init_' + kind)(net)\n"},
        {"other": "names = ['init_params']\n"},
        {"helpers": HELPERS + "\nSETUP = {'params': init_params}\n"},
        {"helpers": HELPERS + "\ndef call(name):\n    return globals()[name]\n"},
        {"helpers": HELPERS.replace("def init", "@register\ndef init")},
        {"helpers": HELPERS.replace("init_params(net)", "main(net)")},
        {"main": "import torch\n"},  # nobody imports the file
        {"setup": "from setuptools import setup\nsetup(name='helpers')\n"},
    ],
)
def test_a_function_that_somebody_may_call(tmp_path: Path, files: dict[str, str]) -> None:
    assert ["TL903"] == [line.split()[0] for line in told(tmp_path, **files)]
