"""What is found does not depend on how many functions or files lie between where a value is made and what is done with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.lint.run import lint
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.system.stack import with_room

LOOP = """\
import torch
from torch.utils.data import DataLoader
{makers}
def train(model, optimizer, dataset):
    for step, batch in enumerate(DataLoader(dataset)):
        loss = model(batch.to("cuda")).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        report0({made})

{helpers}
"""


def found(files: dict[str, str], codes: set[str], root: Path) -> list[tuple[str, int, str]]:
    for name, text in files.items():
        (root / name).write_text(text)
    settings = Settings(codes=frozenset(codes), fixable=frozenset(), project=root)
    given = {str(root / name): text.encode() for name, text in files.items()}
    result = with_room(lambda: lint(given, settings))
    return [(Path(one.path).name, one.line, one.code) for one in result.findings]


@pytest.mark.parametrize("makers", [0, 1, 3, 20])
@pytest.mark.parametrize("helpers", [1, 2, 3])
def test_a_read_is_found_behind_any_number_of_functions(makers: int, helpers: int, tmp_path: Path) -> None:
    chain = "\n".join(
        f"def make{n}():\n    return " + (f"make{n + 1}()" if n + 1 < makers else "torch.zeros(3, device='cuda').sum()")
        for n in range(makers)
    )
    reports = "\n".join(
        f"def report{n}(t):\n    " + (f"report{n + 1}(t)" if n + 1 < helpers else "print(float(t))")
        for n in range(helpers)
    )
    made = "make0()" if makers else "torch.zeros(3, device='cuda').sum()"
    text = LOOP.format(makers=chain, made=made, helpers=reports)
    line = text.count("\n", 0, text.index("print(")) + 1

    assert [("train.py", line, "TL104")] == found({"train.py": text}, {"TL104"}, tmp_path)


@pytest.mark.parametrize("made", ["3.0", "make()", "len(dataset)"])
def test_a_number_is_none_behind_any_number_of_functions(made: str, tmp_path: Path) -> None:
    reports = "\n".join(
        f"def report{n}(t):\n    " + (f"report{n + 1}(t)" if n < 2 else "print(float(t))") for n in range(3)
    )
    text = LOOP.format(makers="def make():\n    return torch.zeros(3).shape[0]\n", made=made, helpers=reports)

    assert [] == found({"train.py": text}, {"TL104"}, tmp_path)


EXPORT = """\
import torch

def export(model, x):
    torch.onnx.export(model, (x,), "net.onnx", dynamic_axes={"x": {0: "batch"}})
"""
MAKES = """\
class Net(torch.nn.Module):
    pass

net = Net()
export(net, torch.randn(2, 4))
"""


def test_the_mode_of_a_model_that_another_file_makes_is_not_known(tmp_path: Path) -> None:
    apart = {"export.py": EXPORT, "main.py": "import torch\nfrom export import export\n\n" + MAKES}

    assert "TLD02" in load()
    assert [] == found(apart, {"TLD02"}, tmp_path)
    assert [("main.py", 4, "TLD02")] == found({"main.py": f"{EXPORT}\n{MAKES}"}, {"TLD02"}, tmp_path)


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        ("tensor_type('torch.cuda.FloatTensor')", []),
        ("tensor_type(torch.DoubleTensor)", [("render.py", 4, "TL405")]),
        ("device('cuda')", []),
        ("device('cpu')", [("render.py", 4, "TL405")]),
    ],
)
def test_a_script_says_where_tensors_are_made(
    default: str, expected: list[tuple[str, int, str]], tmp_path: Path
) -> None:
    """The default type, or device, holds for all files that the script imports."""
    files = {
        "render.py": "import torch\n\ndef render(x):\n    return x + torch.randn(x.shape).to(x.device)\n",
        "main.py": f"import torch\nfrom render import render\ntorch.set_default_{default}\n"
        "for x in loader:\n    loss = render(x.cuda()).mean()\n    loss.backward()\n    optimizer.step()\n",
    }

    assert expected == found(files, {"TL405"}, tmp_path)


@pytest.mark.parametrize("default", ["tensor_type(torch.cuda.FloatTensor)", "device('cuda')"])
def test_what_a_test_says_of_defaults_holds_for_that_alone(default: str, tmp_path: Path) -> None:
    """A library that lies in the project may be tested on the device."""
    files = {
        "main.py": "import torch\nfor x in loader:\n    loss = model(x.cuda(), torch.zeros(x.shape).cuda()).mean()\n"
        "    loss.backward()\n    optimizer.step()\n",
        "test_it.py": f"import torch\nimport main\ntorch.set_default_{default}\n",
    }

    assert [("main.py", 3, "TL405")] == found(files, {"TL405"}, tmp_path)


COLLECTS = """\
import gc

def run(model, loader, optimizer):
    for x in loader:
        loss = model(x.cuda()).sum()
        loss.backward()
        optimizer.step()
        gc.collect()
"""


@pytest.mark.parametrize(
    ("first", "expected"),
    [("import keras\n", []), ("", [("fit.py", 8, "TL112")]), ("import keras, torch\n", [("fit.py", 9, "TL112")])],
)
def test_what_is_collected_in_a_program_of_keras_is_left_alone(
    first: str, expected: list[tuple[str, int, str]], tmp_path: Path
) -> None:
    assert expected == found({"fit.py": first + COLLECTS}, {"TL112"}, tmp_path)


NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        out = torch.zeros(len(x), 3).to(x.device)
        return self.layer(x) + out

if __name__ == "__main__":
    model = Net()
    print(model({given}).shape)
"""
TRAIN = """\
import torch
{head}
def train(loader, optimizer, which):
    model = {{"net": Net}}[which]().cuda()
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("given", "head", "lines"),
    [
        ("torch.randn(2, 3)", "", []),  # nobody imports it: it may be a program, of the host
        ("torch.zeros(2, 3)", "from net import Net\n", []),  # what is not random may be what a program is for
        ("torch.randn(2, 3)", "from net import Net\n", [10]),
    ],
)
def test_what_a_file_is_tried_on_says_nothing_of_what_others_give_its_modules(
    given: str, head: str, lines: list[int], tmp_path: Path
) -> None:
    files = {"net.py": NET.replace("{given}", given), "train.py": TRAIN.format(head=head)}
    assert [("net.py", line, "TL405") for line in lines] == found(files, {"TL405"}, tmp_path)


@pytest.mark.parametrize("heirs", [0, 1, 101])
def test_a_base_without_a_forward_stands_for_its_heirs_however_many_these_are(heirs: int, tmp_path: Path) -> None:
    base = """\
import torch

class Loaded(torch.nn.Module):
    @classmethod
    def load(cls, path):
        return cls()

net = torch.compile(Loaded.load("net.pt"))
net(torch.ones(3))
"""
    nets = "".join(f"class Net{n}(Loaded):\n    def forward(self, x): return x + {n}\n" for n in range(heirs))
    files = {"base.py": base, "nets.py": f"from base import Loaded\n{nets}"}
    assert [("base.py", 8, "TL210")] * (not heirs) == found(files, {"TL210"}, tmp_path)


METRICS = """\
import torch

def counts(scores, labels):
    wanted = labels.sum(1)
    return [int(n) for n in wanted]

def names(text):
    return [int(n) for n in text.split(",")]

def once(labels):
    wanted = labels.cuda().sum(1)
    return [int(n) for n in wanted]
"""
EVALUATION = """\
import torch
from metrics import counts, names, once

@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    print(once(loader.dataset.labels))
    for x, labels in loader:
        x, labels = x.to(device), labels.to(device)
        print(counts(model(x), labels), names("1,2"))
"""


def test_numbers_of_a_tensor_in_a_helper_of_another_file_that_an_evaluation_loop_calls(tmp_path: Path) -> None:
    assert [("metrics.py", 5, "TL105")] == found(
        {"metrics.py": METRICS, "evaluation.py": EVALUATION}, {"TL105"}, tmp_path
    )


SET_UP = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.head(x)

def set_up(device):
    return device, Net().to(device)

def nll(target, scores, mask):
    criterion = torch.nn.NLLLoss(reduction="none")
    loss = criterion(scores.view(-1, scores.size(-1)), target.view(-1)).view(target.size())
    return loss, torch.sum(loss * mask) / torch.sum(mask)
"""
DEAD = """\
import numpy as np
from set_up import nll, set_up
device, model = set_up("cuda")
for batch in loader:
    print(np.exp(mean.cpu().data.numpy()))
    if {condition}:
        scores = model(X, S, lengths, mask)
        loss, mean = nll(S, scores, mask)
        print(loss)
"""


@pytest.mark.parametrize(("condition", "lines"), [("False", []), ("args.again", [7])])
def test_a_call_that_never_runs_records_no_graph(condition: str, lines: list[int], tmp_path: Path) -> None:
    files = {"set_up.py": SET_UP, "dead.py": DEAD.format(condition=condition)}
    assert [("dead.py", line, "TL503") for line in lines] == found(files, {"TL503"}, tmp_path)
