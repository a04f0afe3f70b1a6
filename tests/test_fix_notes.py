"""What the note of a fix warns of is what the project does."""

from __future__ import annotations

import pytest

from torchlint.lint.run import lint
from torchlint.settings.config import Settings
from torchlint.torch_api.version import Range

CODES = frozenset(("TL503",))
CHECK = "import torch\ndef check(model: torch.nn.Module, loader):\n    model.eval()\n    for x in loader:\n        print((model(x).argmax(1) == 1).sum())\n"
ENCODER = "from torch import nn\nencoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2)\n"


def notes(**files: str) -> list[str]:
    """The notes of what is offered for what is found in a file `a.py` of a project."""
    given = {f"{name}.py": code.encode() for name, code in files.items()}
    found = lint(given, Settings(CODES, CODES, preview=True)).findings
    return [one.fix.note for one in found if one.path == "a.py" and one.fix is not None]


@pytest.mark.parametrize(
    "other",
    [
        ENCODER,
        ENCODER + "encoder(x, mask=m)\n",
        "class TransformerEncoder:\n    pass\nTransformerEncoder()(x, src_key_padding_mask=m)\n",
        "layer(x, src_key_padding_mask=m)\n",
    ],
)
def test_no_padded_encoder_of_torch_takes_its_fast_path(other: str) -> None:
    (note,) = notes(a=CHECK, b=other)

    assert "fast path" not in note


@pytest.mark.parametrize(
    "other",
    [
        ENCODER + "encoder(x, src_key_padding_mask=m)\n",
        "import torch.nn as nn\nnn.Transformer(8, batch_first=True)(x, y, src_key_padding_mask=m)\n",
        "from torch.nn import Linear, TransformerEncoder\nTransformerEncoder(layer, 2)(x, src_key_padding_mask=m)\n",
    ],
)
def test_a_padded_encoder_of_torch_takes_its_fast_path(other: str) -> None:
    (note,) = notes(a=CHECK, b=other)

    assert note.endswith("takes its fast path, which gives zeros at places that are padded")


def offered(code: str, a: str, b: str = "") -> list[tuple[str, str]]:
    """What a rule offers for a file `a.py` of a project whose `b.py` does something else."""
    codes = frozenset((code,))
    given = {"a.py": a.encode(), "b.py": f"import torch\n{b}\n".encode()}
    found = lint(given, Settings(codes, codes, preview=True, target_torch=Range((2, 9), (2, 14)))).findings
    return [(one.fix.applicability, one.fix.note) for one in found if one.path == "a.py" and one.fix is not None]


COPIED = """\
import torch
{device}
def train(net, optimizer, data):
    for x, y in torch.utils.data.DataLoader(data, pin_memory=True):
        loss = net(x{move}).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
IMPORTED = COPIED.format(device="from b import device", move=".to(device)")
NAMED = COPIED.format(
    device="device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')", move=".to(device)"
)
DEVICE_OF_RANK = "rank = 3\ndevice: str = f'cuda:{rank}'"
ON_MPS = "the project may run on Apple's MPS, where the copy may read memory that was given back meanwhile"
MPS = (
    "device = torch.device('mps' if torch.backends.mps.is_available() else 'cuda')",
    "device = 'cuda'\nif torch.backends.mps.is_available():\n    device = 'mps:0'",
    "device = torch.accelerator.current_accelerator()",
    "from torch import accelerator\ndevice = accelerator.current_accelerator()",
    "from accelerate import Accelerator\ndevice = Accelerator().device",
)


@pytest.mark.parametrize("other", MPS)
def test_another_file_that_chooses_the_accelerator_there_is(other: str) -> None:
    assert [("unsafe", ON_MPS)] == offered("TL402", IMPORTED, other)


@pytest.mark.parametrize("other", MPS)
def test_a_copy_that_goes_to_cuda_whatever_another_file_chooses(other: str) -> None:
    assert [("safe", "")] == offered("TL402", COPIED.format(device="", move=".cuda()"), other)
    assert [("safe", "")] == offered("TL402", COPIED.format(device="", move=".to('cuda:0')"), other)
    assert [("safe", "")] == offered("TL402", NAMED, other)
    assert [("safe", "")] == offered("TL402", COPIED.format(device=DEVICE_OF_RANK, move=".to(device)"), other)


def test_a_notebook_beside_chooses_for_itself() -> None:
    book = '{"cells": [{"cell_type": "code", "source": ["device = \'mps\'\\n"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    given = {"a.py": IMPORTED.encode(), "b.py": b"device = 'cuda'\n", "c.ipynb": book.encode()}
    codes = frozenset(("TL402",))
    found = lint(given, Settings(codes, codes)).findings

    assert ["safe"] == [one.fix.applicability for one in found if one.fix is not None]


@pytest.mark.parametrize(
    "other",
    [
        "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')",
        "device = torch.device(json.dumps('cuda'))\nstamps = bumps",
        "device = torch.device('cuda')\nTEMPS = 3\nclass Accelerator: pass",
    ],
)
def test_another_file_that_chooses_cuda(other: str) -> None:
    assert [("safe", "")] == offered("TL402", IMPORTED, other)


@pytest.mark.parametrize(
    "other",
    [
        "side = torch.cuda.Stream()",
        "with torch.cuda.stream(side): pass",
        "from torch.cuda import Stream",
        "side = torch.Stream(device='cuda')",
        "import torch.cuda as cuda\nside = cuda.Stream(3)",
    ],
)
def test_streams_of_another_file(other: str) -> None:
    note = "a stream of the project's may read the copy before it has arrived"
    given = {"train/a.py": NAMED.encode(), "nets/b.py": f"import torch\n{other}\n".encode()}
    codes = frozenset(("TL402",))
    apart = lint(given, Settings(codes, codes)).findings
    together = lint({**given, "main.py": b"import train.a\nimport nets.b\n"}, Settings(codes, codes)).findings

    assert [("safe", "")] == [(one.fix.applicability, one.fix.note) for one in apart if one.fix is not None]
    assert [("unsafe", note)] == [(one.fix.applicability, one.fix.note) for one in together if one.fix is not None]


@pytest.mark.parametrize(
    "other",
    [
        "with httpx.stream('GET', url) as found: pass",
        "torch.cuda.current_stream().synchronize()",
        "class Reader:\n    def stream(self): pass",
        "sys.stdout = Stream()\nx = io.Stream()",
    ],
)
def test_streams_that_are_none_of_a_gpu(other: str) -> None:
    given = {"train/a.py": NAMED.encode(), "nets/b.py": f"import torch\n{other}\n".encode()}
    codes = frozenset(("TL402",))
    found = lint(given, Settings(codes, codes)).findings

    assert ["safe"] == [one.fix.applicability for one in found if one.fix is not None]


CLONED = "import torch\nclass M(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        return (x * 2 + 1).clone()\n"
CAST = "import torch\nclass M(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        return x.clone().float()\n"
TRACES = (
    "g = torch.fx.symbolic_trace(net).graph",
    "from torch import fx\ng = fx.Tracer().trace(net)",
    "ep = torch.export.export(net, (x,))",
    "from torch.export import export\nep = export(net, (x,))",
    "from torch import export\nep = export.export(net, (x,))",
    "gm, guards = torch._dynamo.export(net, x)",
    "def backend(gm: torch.fx.GraphModule, given): pass",
    "ts = torch.jit.trace(net, x)",
)


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize(
    "look",
    ["len(g.nodes)", "for n in ep.graph.nodes: pass", "ep.graph.find_nodes(op='output')", "gm.graph.print_tabular()", "print(gm.code)"],
)  # fmt: skip
def test_who_looks_at_the_operations_of_a_trace(trace: str, look: str) -> None:
    note = "what looks at the graph finds another operation in it"
    assert [("unsafe", note)] == offered("TL713", CLONED, f"{trace}\n{look}")


@pytest.mark.parametrize("trace", TRACES)
def test_a_trace_that_nobody_looks_at(trace: str) -> None:
    assert [("safe", "")] == offered("TL713", CLONED, f"{trace}\nexit(error.code)\nprint(nodes)")


def test_nodes_of_another_graph() -> None:
    assert [("safe", "")] == offered("TL713", CLONED, "g = networkx.Graph()\nprint(g.nodes, gm.code)")


@pytest.mark.parametrize(
    "other",
    [
        "from torchvision import tv_tensors\nx = tv_tensors.Image(x)",
        "from torchvision.transforms import v2\nmake = v2.ToImage()",
        "from monai.transforms import LoadImage",
        "from things import Picture\nx = x.as_subclass(Picture)",
    ],
)
def test_a_subclass_of_tensor_that_a_library_makes(other: str) -> None:
    assert [("unsafe", "something else than a tensor may come here")] == offered("TL713", CAST, other)


def test_a_tensor_of_a_library_that_makes_no_subclass() -> None:
    assert [("safe", "")] == offered("TL713", CAST, "from torchvision import transforms, datasets")


MADE = """\
import numpy as np
import torch
from b import collect

def train(optimizer, loader):
    for x in loader:
        rows = collect([x, x], torch.tensor(np.ones((1, 3))))
        rows.sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    "other", ["torch.cat(parts, out=buffer)", "torch.linalg.inv(x, out = y)", "torch.add(f(x), y, alpha=3, out=z[0])"]
)
def test_another_file_that_has_torch_write_to_a_tensor(other: str) -> None:
    assert [("unsafe", "memory of NumPy can't be resized")] == offered("TL407", MADE, other)


@pytest.mark.parametrize(
    "other",
    ["np.add(x, y, out=z)", "torch.max(x, y, out=x)", "torch.add(self.x, 3, out=self.x)", "torch.stack(rows, 0, out=out)", "out = torch.cat(parts)", "torch.cat(parts, out=None)", "x = torch.ones(3)\nout = x", "f(out=torch.ones(3))"],
)  # fmt: skip
def test_another_file_that_writes_to_no_tensor(other: str) -> None:
    assert [("safe", "")] == offered("TL407", MADE, other)


PINNED = "import torch\nloader = torch.utils.data.DataLoader(data, pin_memory_device='cuda')\n"


@pytest.mark.parametrize(
    "other",
    ["print(loader.pin_memory_device)", "NAMES = ['timeout', 'pin_memory_device']", 'getattr(loader, "pin_memory_device")'],
)  # fmt: skip
def test_who_reads_an_argument_without_effect_of_the_object(other: str) -> None:
    note = "the project reads `pin_memory_device` from an object"
    assert [("unsafe", note)] == offered("TL903", PINNED, other)


def test_nobody_reads_an_argument_without_effect() -> None:
    other = "f(pin_memory_device=3)\nprint('the pin_memory_device is set')\n"
    assert [("safe", "")] == offered("TL903", PINNED, other)


def test_who_is_told_of_the_functions_that_another_file_calls() -> None:
    legacy = "import torch\nx = torch.LongTensor([1])\n"
    mode = "class Seen(torch.overrides.TorchFunctionMode): pass"

    assert ["unsafe"] == [kind for kind, _ in offered("TL910", legacy, mode)]
    assert ["safe"] == [kind for kind, _ in offered("TL910", legacy, "class Mode: pass")]
