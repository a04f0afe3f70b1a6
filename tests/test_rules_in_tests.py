"""Rules whose advice nobody follows in a test or a benchmark say nothing there."""

from __future__ import annotations

import re

import pytest

from torchlint.lint.run import lint
from torchlint.rule import load
from torchlint.settings.config import Settings

PRELUDE = "import torch\ndevice = torch.device('cuda')\n"
BAD = re.compile(r"^## Bad\n\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
IN_TESTS = (
    "TL502",
    "TL503",
    "TL507",
    "TL607",
    "TL608",
    "TL609",
    "TL610",
    "TL702",
    "TL704",
    "TL708",
    "TL709",
    "TL801",
    "TL802",
    "TL806",
    "TL809",
    "TL904",
    "TL909",
)


def found(code: str, path: str) -> list[str]:
    """What the rule says of its own bad example in a file of that name."""
    rule = load()[code]
    example = BAD.search(rule.doc)
    assert example is not None
    wanted = frozenset((code,))
    return [
        one.code
        for one in lint({path: (PRELUDE + example[1]).encode()}, Settings(codes=wanted, fixable=wanted)).findings
    ]


@pytest.mark.parametrize("code", IN_TESTS)
def test_nothing_in_a_test(code: str) -> None:
    assert code in found(code, "package/model.py")
    assert [] == found(code, "tests/test_model.py")


def test_no_barrier_of_a_benchmark() -> None:
    assert [] == found("TL806", "benchmarks/bench_model.py")


def test_backward_under_autocast_in_a_test() -> None:
    code = "with torch.autocast('cuda'):\n    loss = model(x).sum()\n    loss.backward()\n"
    wanted = frozenset(("TL606",))
    settings = Settings(codes=wanted, fixable=wanted)
    paths = ("train.py", "tests/test_train.py")

    assert ["train.py"] == [
        one.path for path in paths for one in lint({path: (PRELUDE + code).encode()}, settings).findings
    ]


def test_torchscript_in_a_folder_of_that_name() -> None:
    assert ["TL904", "TL904"] == found("TL904", "package/model.py")
    assert [] == found("TL904", "examples/jit/model.py")
    assert [] == found("TL904", "export/torchscript.py")
    assert [] == found("TL904", "export_torch_script.py")


def test_torchscript_in_a_file_that_exports() -> None:
    assert ["TL904", "TL904"] == found("TL904", "exported.py")
    assert [] == found("TL904", "export.py")
    assert [] == found("TL904", "tools/export_model.py")
    assert [] == found("TL904", "model_export.py")


def test_a_forward_of_a_test_tells_nothing_of_what_it_calls() -> None:
    rows = "import torch\n\ndef dense(x):\n    x = x.cuda()\n    return [x[:n.item()] for n in x.sum(1)]\n"
    net = "from torch import nn\nfrom rows import dense\nclass Net(nn.Module):\n    def forward(self, x):\n        return dense(x)\n"
    settings = Settings(codes=frozenset(("TL106",)), fixable=frozenset())
    places = ("net.py", "tests/test_rows.py")

    assert ["net.py"] == [
        where for where in places if lint({"rows.py": rows.encode(), where: net.encode()}, settings).findings
    ]


@pytest.mark.parametrize(("place", "expected"), [("run.py", ["TL201"]), ("tests/test_net.py", [])])
def test_what_a_test_compiles_tells_nothing_of_its_library(place: str, expected: list[str]) -> None:
    net = "import torch\n\ndef scale(x: torch.Tensor):\n    return x / x.sum().item()\n"
    run = "import torch\nfrom net import scale\ntorch.compile(scale)\n"
    settings = Settings(codes=frozenset(("TL201",)), fixable=frozenset())

    assert expected == [one.code for one in lint({"net.py": net.encode(), place: run.encode()}, settings).findings]


PICTURES = """\
import torch

@torch.no_grad()
def reconstructions(model: torch.nn.Module, loader):
    model.cuda().eval()
    for x in loader:
        start = torch.zeros(1, 8).cuda()
        yield model(x.cuda() + start).cpu().numpy()
"""


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("utils/evaluate.py", ["TL103", "TL405"]),
        ("utils/visual_model.py", ["TL103", "TL405"]),
        ("utils/visualize.py", []),
        ("viz_toy.py", []),
        ("plots.py", []),
    ],
)
def test_pictures_are_drawn_on_demand(path: str, codes: list[str]) -> None:
    wanted = frozenset(("TL103", "TL405"))
    settings = Settings(codes=wanted, fixable=wanted, preview=True)
    assert codes == sorted(one.code for one in lint({path: PICTURES.encode()}, settings).findings)


def test_pictures_on_each_step() -> None:
    code = "import torch\n\ndef shown(x):\n    x = x.cuda()\n    return [x[0].item()]\n"
    run = "from visualize import shown\nfor x in loader:\n    loss = model(x).sum()\n    loss.backward()\n    optimizer.step()\n    shown(loss)\n"
    wanted = frozenset(("TL101",))
    files = {"visualize.py": code.encode(), "run.py": run.encode()}
    assert ["TL101"] == [one.code for one in lint(files, Settings(codes=wanted, fixable=wanted)).findings]
