"""Grad mode, accelerators, the role of a file, and switches of a project."""

from __future__ import annotations

import ast

import pytest

from torchlint.facts.module import Function
from torchlint.program.context import Context
from torchlint.program.project import Project

Files = dict[str, str]
HEAD = "import torch\n"


def context_of(files: Files) -> Context:
    return Context(Project({path: text.encode for path, text in files.items()}))


def here(context: Context, path: str = "a.py") -> tuple[Function, ast.Name]:
    """The name `here` of a file, and the function that it stands in."""
    module = context.project.module(path)
    assert module is not None
    for function in module.functions:
        for node in function.flow.nodes:
            if isinstance(node, ast.Name) and node.id == "here":
                return function, node
    raise AssertionError("no `here`")


def grad_off(files: Files, path: str = "a.py") -> bool:
    """Whether autograd is proven off at the name `here` of a file."""
    context = context_of(files)
    return context.grad_off(*here(context, path))


def surely_off(code: str) -> bool:
    context = context_of({"a.py": HEAD + code})
    return context.surely_off(*here(context))


# Grad mode


@pytest.mark.parametrize(
    "code",
    [
        "with torch.no_grad():\n    here",
        "with torch.inference_mode(), torch.device('cpu'):\n    here",
        "from torch import no_grad\nwith no_grad():\n    x = [here for _ in y]",
        "from tqdm import tqdm\nwith torch.no_grad():\n    with tqdm(x) as bar:\n        here",
        "@torch.no_grad()\ndef f():\n    here",
        "@torch.inference_mode\ndef f():\n    with torch.autocast('cpu'):\n        here",
        "def f():\n    with torch.no_grad():\n        here\n    yield 3",
        "@torch.no_grad()\ndef f():\n    yield here",  # torch enters it anew where the generator goes on
        "async def f():\n    with torch.no_grad():\n        here\n    await g()",
        "with torch.no_grad():\n    x = lambda: 3\n    here",
        "with torch.no_grad():\n    torch.set_grad_enabled(False)\n    here",
        "with torch.no_grad():\n    with torch.set_grad_enabled(True):\n        pass\n    here",
        "torch.set_grad_enabled(True)\nwith torch.no_grad():\n    x = torch.exp(here)",
        "def g():\n    with torch.set_grad_enabled(on):\n        pass\nwith torch.no_grad():\n    g()\n    here",
    ],
)
def test_surely_off_by_what_is_entered_there(code: str) -> None:
    assert surely_off(code)


@pytest.mark.parametrize(
    "code",
    [
        "here",
        "torch.set_grad_enabled(False)\nhere",
        "with torch.set_grad_enabled(training):\n    here",
        "with torch.inference_mode(training):\n    here",
        "with torch.no_grad() if frozen else nullcontext():\n    here",
        "def f():\n    here\nwith torch.no_grad():\n    f()",
        "with torch.no_grad():\n    def f():\n        here",
        "with torch.no_grad():\n    x = (here for _ in y)",
        "with torch.no_grad():\n    with torch.enable_grad():\n        here",
        "@torch.no_grad()\ndef f():\n    with torch.set_grad_enabled(training):\n        here",
        "def on():\n    return torch.enable_grad()\n@torch.no_grad()\ndef f():\n    with on():\n        here",
        "@torch.no_grad()\ndef f(self):\n    with self.mode():\n        here",
        "with torch.no_grad():\n    f = lambda: [here for _ in y]",
        "def f():\n    with torch.no_grad():\n        for i in x:\n            yield here",
        "def f():\n    with torch.no_grad():\n        yield from g()\n        here",
        "async def f():\n    with torch.no_grad():\n        await g()\n        here",
        "async def f():\n    with torch.no_grad():\n        async for i in x:\n            here",
        "@torch.no_grad()\nasync def f():\n    here",
        "with torch.no_grad():\n    torch.set_grad_enabled(training)\n    here",
        "with torch.no_grad():\n    if training:\n        torch.set_grad_enabled(True)\n    here",
        "with torch.no_grad():\n    mode = torch.autograd.set_grad_enabled(True)\n    here",
        "@torch.no_grad()\ndef f():\n    torch._C._set_grad_enabled(True)\n    here",
        "def g(on):\n    torch.set_grad_enabled(on)\nwith torch.no_grad():\n    g(True)\n    here",
        "def g():\n    h()\ndef h():\n    torch.set_grad_enabled(True)\n@torch.no_grad()\ndef f():\n    g()\n    here",
    ],
)
def test_not_surely_off(code: str) -> None:
    assert not surely_off(code)


@pytest.mark.parametrize(
    "code",
    [
        "here",
        "with torch.no_grad():\n    pass\nhere",
        "with torch.enable_grad():\n    here",
        "with torch.no_grad():\n    with torch.enable_grad():\n        here",
        "with torch.set_grad_enabled(True):\n    here",
        "with torch.set_grad_enabled(phase == 'train'):\n    here",
        "with torch.set_grad_enabled(training):\n    here",
        "with torch.set_grad_enabled():\n    here",
        "with torch.inference_mode(False):\n    here",
        "with torch.inference_mode(mode=False):\n    here",
        "with torch.no_grad():\n    with torch.inference_mode(False):\n        here",
        "with torch.autocast('cuda'):\n    here",
        "with nullcontext():\n    here",
        "with other() if a else nullcontext():\n    here",
        "with no_grad():\n    here",
        "ctx = nullcontext()\nwith ctx:\n    here",
        "@torch.no_grad()\ndef g():\n    pass\ndef f():\n    here",
        "@torch.enable_grad()\ndef f():\n    here\nwith torch.no_grad():\n    f()",
        "@decorate\ndef f():\n    here",
        "def decorate(f):\n    return f\n@decorate\ndef f():\n    here",
        "torch.set_grad_enabled(False)\nwith torch.enable_grad():\n    here",
        "def g():\n    torch.set_grad_enabled(False)\ndef f():\n    here",
        "def f():\n    here\n    torch.no_grad().__enter__()",
        "def f():\n    torch.enable_grad().__enter__()\n    here",
        "def f():\n    pool.__enter__()\n    here",
        "def f():\n    here\n    torch.set_grad_enabled(False)",
        "def f():\n    torch.set_grad_enabled(True)\n    here",
        "def f():\n    with torch.set_grad_enabled(False):\n        pass\n    here",
        # Not every caller turns it off.
        "def f():\n    here\nwith torch.no_grad():\n    f()\nf()",
        "def f():\n    here\nf()",
        "def f():\n    here",
        "def f():\n    f()\n    here",
        "def step():\n    with torch.no_grad():\n        pass\n    def g():\n        here\n    g()",
        "class A:\n    def training_step(self):\n        here",
        "x = [here for a in b]",
    ],
)
def test_places_where_grad_may_be_on(code: str) -> None:
    assert not grad_off({"a.py": HEAD + code})


@pytest.mark.parametrize(
    "code",
    [
        "with torch.no_grad():\n    here",
        "with torch.inference_mode():\n    here",
        "with torch.inference_mode(True):\n    here",
        "with torch.autograd.no_grad():\n    here",
        "from torch import no_grad\nwith no_grad():\n    here",
        "from torch.autograd import grad_mode as g\nwith g.no_grad():\n    here",
        "with torch.set_grad_enabled(False):\n    here",
        "with torch.set_grad_enabled(mode=False):\n    here",
        "with torch.enable_grad():\n    with torch.no_grad():\n        here",
        "with torch.no_grad(), torch.autocast('cuda'):\n    here",
        "with torch.autocast('cuda'), torch.no_grad():\n    for x in y:\n        here",
        "with torch.no_grad() if frozen else nullcontext():\n    here",
        "with nullcontext() if training else torch.no_grad():\n    here",
        "ctx = torch.no_grad()\nwith ctx:\n    here",
        "ctx, other = torch.no_grad(), 1\nwith ctx:\n    here",
        "def f():\n    ctx = nullcontext() if a else torch.inference_mode()\n    with ctx:\n        here",
        "ctx = torch.no_grad()\ndef f():\n    with ctx:\n        here",
        "with self.model.no_grad():\n    here",
        "@torch.no_grad()\ndef f():\n    here",
        "@torch.no_grad\ndef f():\n    here",
        "@torch.inference_mode()\ndef f():\n    here",
        "@torch.set_grad_enabled(False)\ndef f():\n    here",
        "class A:\n    @torch.no_grad()\n    def f(self):\n        here",
        "@torch.no_grad()\ndef f():\n    def g():\n        here\n    g()",
        "torch.set_grad_enabled(False)\nhere",
        "torch.set_grad_enabled(False)\ndef f():\n    here",
        "def f():\n    torch.set_grad_enabled(False)\n    here",
        "torch.autograd.set_grad_enabled(False)\nhere",
        "torch.no_grad().__enter__()\nhere",
        "def f():\n    torch.inference_mode().__enter__()\n    for x in y:\n        here",
        "class A(LightningModule):\n    def validation_step(self, batch, i):\n        here",
        # A decorator of the project that does it, as yolov5 has one.
        (
            "def smart_inference_mode(torch_1_9=True):\n    def decorate(fn):\n"
            "        return (torch.inference_mode if torch_1_9 else torch.no_grad)()(fn)\n"
            "    return decorate\n@smart_inference_mode()\ndef f():\n    here"
        ),
        # Every caller turns it off.
        "def f():\n    here\nwith torch.no_grad():\n    f()",
        "def f():\n    here\ndef g():\n    f()\nwith torch.no_grad():\n    g()",
        "def f():\n    here\n@torch.no_grad()\ndef a():\n    f()\ndef b():\n    with torch.inference_mode():\n        f()",
        "class A:\n    def g(self):\n        here\n    @torch.no_grad()\n    def f(self):\n        self.g()",
    ],
)
def test_places_where_grad_is_off(code: str) -> None:
    assert grad_off({"a.py": HEAD + code})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.py": "def f():\n    here", "b.py": HEAD + "from a import f\nwith torch.no_grad():\n    f()"}, True),
        (
            {
                "a.py": "def f():\n    here",
                "b.py": HEAD + "from a import f\nwith torch.no_grad():\n    f()",
                "c.py": "from a import f\nf()",
            },
            False,
        ),
        ({"a.py": "def f():\n    here", "b.py": HEAD + "from c import f\nwith torch.no_grad():\n    f()"}, False),
        (
            {
                "a.py": "from utils import evaluating\n@evaluating\ndef f():\n    here",
                "utils.py": HEAD + "def evaluating(fn):\n    return torch.no_grad()(fn)",
            },
            True,
        ),
        (
            {
                "a.py": "from utils import timed\n@timed\ndef f():\n    here",
                "utils.py": "def timed(fn):\n    return fn",
            },
            False,
        ),
        (
            {"a.py": "from utils import no_grad\nwith no_grad():\n    here", "utils.py": "from torch import no_grad"},
            True,
        ),
        ({"a.py": "from utils import *\nwith torch.no_grad():\n    here", "utils.py": "import torch"}, True),
        (
            {
                "a.py": "from b import B\nclass A(B):\n    def f(self):\n        here",
                "b.py": HEAD + "class B:\n    def g(self):\n        with torch.no_grad():\n            self.f()",
            },
            True,
        ),
        ({"a.py": "def f(n):\n    f(n)\n    here"}, False),
        ({"a.py": "def f(n):\n    g(n)\n    here\ndef g(n):\n    f(n)"}, False),
        (
            {
                "a.py": HEAD
                + "def f(n):\n    g(n)\n    here\ndef g(n):\n    f(n)\ng(3)\nwith torch.no_grad():\n    f(3)"
            },
            False,
        ),
        ({"a.py": HEAD + "def f(n):\n    f(n)\n    here\nwith torch.no_grad():\n    f(3)"}, True),
        ({"a.py": HEAD + "def f(n):\n    g(n)\n    here\ndef g(n):\n    f(n)\nwith torch.no_grad():\n    g(3)"}, True),
    ],
)
def test_grad_mode_across_files(files: Files, expected: bool) -> None:
    assert expected == grad_off(files)


CALLED = {"a.py": "def f():\n    here\n"}
MAIN = "import torch\nfrom a import f\n@torch.no_grad()\ndef main():\n    f()\n"
TEST = "from a import f\ndef test_f():\n    f()\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"main.py": MAIN, "tests/test_a.py": TEST}, True),
        ({"main.py": MAIN.replace("@torch.no_grad()\n", ""), "tests/test_a.py": TEST}, False),
        ({"tests/test_a.py": TEST}, False),
        ({"tests/test_a.py": TEST.replace("def test", "@torch.no_grad()\ndef test").replace("from", "import torch\nfrom", 1)}, True),
    ],
)  # fmt: skip
def test_tests_decide_only_where_no_program_calls(files: Files, expected: bool) -> None:
    assert expected is grad_off({**CALLED, **files})


# Accelerators

LOADS = "def load(path, device='cpu'):\n    return net(path).to(device)\n"
HOLDS = """
class Net:
    def __init__(self, path, device='cpu'):
        self.net = net(path).to(device)
    def load(self, path, device='cpu'):
        return net(path).to(device)
"""
MAIN = "if __name__ == '__main__':\n"
SENDS = """
import torch
size = 3
host = torch.device("cpu")
dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
def seed(number):
    torch.cuda.manual_seed(number)
def to_half(x):
    return x.to(torch.float16)
def to_gpu(x):
    return x.cuda() if torch.cuda.is_available() else x
def to_place(x, device):
    return x.to(device)
class Net(torch.nn.Module):
    pass
"""


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.py": HEAD}, False),
        ({"a.py": HEAD, "b.py": "x.cuda()"}, False),
        ({"a.py": HEAD + "devices = 1\nlearn()"}, False),
        ({"a.py": "from ours import Trainer"}, False),
        ({"a.py": "from transformers import AutoModel, logging\nfrom ours import Trainer"}, False),
        ({"a.py": "from transformers import Trainer"}, True),
        ({"a.py": "from trl import SFTConfig, SFTTrainer"}, True),
        ({"a.py": "from transformers import (\n    Trainer,\n    TrainingArguments,\n)"}, True),
        ({"a.py": "model.cuda()"}, True),
        ({"a.py": "model.to(device)"}, True),
        ({"a.py": HEAD + "DEVICES = CUDA_VISIBLE_DEVICES = 1\nlearn(DEVICE_NAME)"}, False),
        ({"a.py": "from settings import *\nmodel.to(DEVICE)"}, True),
        ({"a.py": "model.to(self._device)"}, True),
        ({"a.py": "window.cuda(x.get_device())"}, True),
        ({"a.py": HEAD + "num_devices = the_devices_of(x)"}, False),
        ({"a.py": "from accelerate import Accelerator"}, True),
        ({"a.py": "import lightning"}, True),
        ({"a.py": "import torch_xla"}, True),
        ({"a.py": "x.to('mps')"}, True),
        ({"a.py": HEAD, "b.py": "import a\nx.cuda()"}, True),
        ({"a.py": HEAD, "b.py": "import a"}, False),
        ({"a.py": HEAD, "b.py": "import c\nx.cuda()", "c.py": "import a"}, False),
        # What it imports from another file and calls moves tensors, or is a device; what else that file holds says nothing.
        ({"a.py": "from b import to_gpu", "b.py": SENDS}, False),
        ({"a.py": "from b import to_gpu\nself.to_gpu(x)", "b.py": SENDS}, False),
        ({"a.py": "from b import seed\nseed(3)", "b.py": SENDS}, False),
        ({"a.py": "from b import to_half\nx = to_half(x)", "b.py": SENDS}, False),
        ({"a.py": "from b import Net\nnet = Net()", "b.py": SENDS}, False),
        ({"a.py": "from b import host", "b.py": SENDS}, False),
        ({"a.py": "from b import size", "b.py": SENDS}, False),
        ({"a.py": "from b import to_gpu\nx = to_gpu(x)", "b.py": SENDS}, True),
        ({"a.py": "from b import *", "b.py": SENDS}, False),
        ({"a.py": "from b import *\nself.to_gpu(x)", "b.py": SENDS}, False),
        ({"a.py": "from b import *\nx = to_gpu(x)", "b.py": SENDS}, True),
        ({"a.py": "from b import to_place as move\nx = move(x, 0)", "b.py": SENDS}, True),
        # A function is all that stands below its name, whatever lines end with.
        ({"a.py": "from b import f\nf(x)", "b.py": "def f(x):\n    return x\ndef g(x):\n    return x.cuda()"}, False),
        ({"a.py": "from b import f\nf(x)", "b.py": "def f(x):\n\n    return x\n\nx.cuda()"}, False),
        ({"a.py": "from b import f\nf(x)", "b.py": "def f(x): return x.to(dtype)\ny = 'cuda'"}, False),
        ({"a.py": "from b import f\nf(x)", "b.py": "async def f(\n    x\n):\n\n    return x.to(at(device), 3)"}, True),
        ({"a.py": "from b import f\nf(x)", "b.py": "def f(x):\r\n    y = x\r\n\r\n    return y.cuda()\r\n"}, True),
        ({"a.py": "from b import f\nf(x)", "b.py": "def f(x): return x.cuda()"}, True),
        (
            {
                "a.py": "from parts import to_gpu\nx = to_gpu(x)",
                "parts/__init__.py": "from .b import *",
                "parts/b.py": SENDS,
            },
            True,
        ),
        ({"a.py": "from b import dev", "b.py": SENDS}, True),
        # All that is said of the device is that it is the host.
        ({"a.py": "device = 'cpu'\nnet.to(device)"}, False),
        ({"a.py": "DEVICE = torch.device('cpu')\nf(x, device=DEVICE)"}, False),
        ({"a.py": "def run():\n\n    x = 1\n    device = torch.device('cpu')\n    net.to(device)"}, False),
        (
            {"a.py": "if __name__ == '__main__':\n    device = 'cpu'\n    with profile(use_cuda=False):\n        f()"},
            False,
        ),
        ({"a.py": "def f(x, device=None):\n    device = 'cpu'\n    x.to(device)"}, True),
        ({"a.py": "def f(\n    x,\n    device=None,\n):\n    device = 'cpu'"}, True),
        ({"a.py": "def f(\n    x, device=None,\n):\n    device = 'cpu'"}, True),
        ({"a.py": "def f(x):\n    device = 'cpu'\n    y.to(device)\nnet.to(x.device)"}, True),
        (
            {"a.py": "def f(x):\n    device = 'cpu'\n    x.to(device)\ndef g(x,\n    device,\n):\n    x.to(device)"},
            True,
        ),
        ({"a.py": "def f(x):\n    if x.small:\n        device = 'cpu'\n    x.to(device)"}, True),
        ({"a.py": "device = 'cpu'\nuse_cuda = False\nif use_cuda:\n    f()"}, True),
        ({"a.py": "device = 'cpu'  # or another\nnet.to(device)"}, True),
        ({"a.py": "device = 'cpu'\nif mps:\n    device = 'mps'"}, True),
        ({"a.py": "device = 'cpu'\nif args.gpu:\n    device = args.gpu"}, True),
        ({"a.py": "device = 'cpu'\ndef f(x):\n    device = x.device"}, True),
        ({"a.py": "device = 'cpu'\nself.device = best()"}, True),
        ({"a.py": "device = 'cpu'", "b.py": "import a\nx.cuda()"}, True),
        ({"a.py": "def f(device):\n    device = 'cpu'"}, True),
        # A script gives its functions no other device than the host that they have by default.
        ({"a.py": f"{LOADS}{MAIN}    load('x')"}, False),
        ({"a.py": f"{LOADS}def run(x):\n    load(x)\n    x.to()\n{MAIN}    run(1)"}, False),
        ({"a.py": f"{LOADS}load('x')"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load('x', best())"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load('x')\n    load('y', device=best())"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load(*args)"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load(args.device)"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load('x')\n    x.to(best())"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load('x')\n    f(x, device=best())"}, True),
        ({"a.py": f"{LOADS}{MAIN}    device = best()\n    load('x')"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load('x')\n    x.cuda()"}, True),
        ({"a.py": f"{LOADS}{MAIN}    run()"}, True),
        ({"a.py": f"def load(path, device='cpu'):\n    device = best() or device\n{MAIN}    load('x')"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load('x')", "b.py": "import a\na.load('x')"}, True),
        ({"a.py": f"@torch.no_grad()\n{LOADS}{MAIN}    load('x')"}, False),
        ({"a.py": f"{HOLDS}{MAIN}    net = Net('x')\n    isinstance(net, Net)"}, False),
        # What is handed on is called by nobody knows whom, a command by its line.
        ({"a.py": f"{LOADS}{MAIN}    load('x')\n    fire.Fire(load)"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load('x')\n    Thread(target=load, args=args)"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load('x')\n    f = load\n    f('y', best())"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load('x')\n    f: Callable = load"}, True),
        ({"a.py": f"{LOADS}def run():\n    return {{'load': load}}\n{MAIN}    load('x')"}, True),
        ({"a.py": f"@app.command()\n{LOADS}{MAIN}    load('x')\n    app()"}, True),
        ({"a.py": f"@click.command\n{LOADS}{MAIN}    load('x')"}, True),
        ({"a.py": f"{HOLDS}{MAIN}    net = Net('x')\n    net.load('y')\n    run(net.load)"}, True),
        ({"a.py": f"{HOLDS}{MAIN}    net = Net('x')\n    fire.Fire(Net)"}, True),
        ({"a.py": f"{HOLDS}{MAIN}    net = Net('x')\n    net.load('y')\n    Net('z', best())"}, True),
    ],
)
def test_programs_that_deal_with_an_accelerator(files: Files, expected: bool) -> None:
    context = context_of(files)
    module = context.project.module("a.py")
    assert module is not None

    assert [expected, expected] == [context.accelerator(module), context.accelerator(module)]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.py": "import torch\nnet.to('cpu')"}, False),
        ({"a.py": "device = 'cpu'\nnet.to(device)", "b.py": "from a import net"}, False),
        ({"a.py": "device = 'cpu'\nnet.to(device)", "b.py": "net.cuda()"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load('x')", "b.py": "net.cuda()"}, True),
        ({"a.py": f"{LOADS}{MAIN}    load('x')", "b.py": "import a"}, False),
    ],
)
def test_scripts_whose_only_device_is_the_host(files: Files, expected: bool) -> None:
    context = context_of(files)
    module = context.project.module("a.py")
    assert module is not None

    assert expected is context.has_host_alone(module)


ONLY_DEFINES = "class Trainer:\n    pass\n"
MOVES_MODEL = "model.cuda()"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # No file of the project moves anything, or the file is one that runs itself.
        ({"a.py": ONLY_DEFINES, "b.py": "import a"}, False),
        ({"a.py": ONLY_DEFINES + "for x in y:\n    f(x)", "b.py": MOVES_MODEL}, False),
        # A program leads to it that knows no device; a test is no program.
        (
            {"a.py": ONLY_DEFINES, "main.py": "import a\nif __name__ == '__main__':\n    a.f(x)", "b.py": MOVES_MODEL},
            False,
        ),
        (
            {
                "a.py": ONLY_DEFINES,
                "b.py": "import a\n" + ONLY_DEFINES,
                "main.py": "import b\nif __name__ == '__main__':\n    b.f(x)",
                "c.py": MOVES_MODEL,
            },
            False,
        ),
        ({"a.py": ONLY_DEFINES, "tests/test_a.py": "import a\ndef test_a():\n    a.f()", "c.py": MOVES_MODEL}, True),
        # A registry makes its objects.
        ({"a.py": ONLY_DEFINES, "b.py": MOVES_MODEL}, True),
        (
            {
                "a.py": ONLY_DEFINES,
                "b.py": "from a import Trainer\nclass Own(Trainer):\n    pass\n",
                "c.py": MOVES_MODEL,
            },
            True,
        ),
        # A program leads to it that moves its model.
        ({"a.py": ONLY_DEFINES, "b.py": "import a\n" + MOVES_MODEL}, True),
        (
            {
                "a.py": ONLY_DEFINES,
                "b.py": "from a import Trainer\nclass Own(Trainer):\n    pass\n",
                "main.py": "import b\n" + MOVES_MODEL,
            },
            True,
        ),
    ],
)
def test_files_that_only_define_what_runs_on_an_accelerator(files: Files, expected: bool) -> None:
    context = context_of(files)
    module = context.project.module("a.py")
    assert module is not None

    assert expected == context.runs_on_accelerator(module)


# Files


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("model.py", "", "library"),
        ("latest.py", "", "library"),
        ("contest/model.py", "", "library"),
        ("train.py", "if __name__ == '__main__':\n    main()", "script"),
        ("test_model.py", "if __name__ == '__main__':\n    main()", "test"),
        # What holds no test that pytest would find, and evaluates a model on the data of a loader.
        ("tools/test_net.py", "def perform_test(test_loader, model):\n    model.eval()\n    assert x", "library"),
        ("test_kitti.py", "evaluate(DataLoader(x), net)\nif __name__ == '__main__':\n    main()", "test"),
        ("test_net.py", "def test_net(net):\n    net.eval()\n    for x in make_loader():\n        net(x)", "test"),
        ("tests/test_net.py", "def evaluate(test_loader, model):\n    model.eval()", "test"),
        ("test_net.py", "class TestNet:\n    def run(self, loader):\n        self.net.eval()", "test"),
        ("test_helpers.py", "def evaluate(model):\n    model.eval()", "test"),
        ("model_test.py", "", "test"),
        ("conftest.py", "", "test"),
        ("tests/util.py", "", "test"),
        ("pkg/testing/util.py", "", "test"),
        ("pkg/test_utils/util.py", "", "test"),
        ("pkg/_testing.py", "", "test"),
        ("ops/delta/naive.py", "", "test"),  # the reference that a kernel is tested against
        ("scripts/numerical_tests_llama.py", "", "test"),
        ("model_testbed.py", "", "library"),
        ("drop_test_in_train.py", "", "library"),
        ("pkg/testing_utils.py", "", "test"),
        ("attesting.py", "", "library"),
        ("benchmark.py", "", "benchmark"),
        ("benchmarks/run.py", "", "benchmark"),
        ("speed_bench.py", "", "benchmark"),
        ("profile_model.py", "", "benchmark"),
        ("speedtest.py", "", "benchmark"),
        ("inference_speed_test.py", "if __name__ == '__main__':\n    main()", "benchmark"),
        ("tools/measure_fps.py", "", "benchmark"),
        ("inference_speed_test.py", "def test_a():\n    pass", "test"),
        ("highspeed_testing_ground.py", "", "library"),
        ("speed.py", "", "library"),
        ("low_fps.py", "", "library"),
        ("speed.py", "import torch.utils.benchmark", "benchmark"),
        ("benchmark/run.py", "loader = DataLoader(x)\nfor x in loader:\n    f(x)", "benchmark"),
        ("benchmark/run.py", "import time\nnet.load_state_dict(s)\nloader = DataLoader(x)", "benchmark"),
        ("benchmark/predict.py", "net.load_state_dict(s)\nloader = DataLoader(x)", "library"),
    ],
)
def test_role_of_a_file(path: str, code: str, expected: str) -> None:
    context = context_of({path: code})
    module = context.project.module(path)
    assert module is not None

    assert [expected, expected] == [context.role(module), context.role(module)]


def test_switches_of_a_project() -> None:
    context = context_of({"a.py": "torch.backends.cudnn.benchmark = True", "b.py": "", "c.py": "x ="})

    assert [True, True, False] == [
        context.switched_on(word) for word in (rb"cudnn\.benchmark", rb"cudnn\.benchmark", rb"tf32")
    ]


def test_switches_of_a_folder() -> None:
    context = context_of({"a/b.py": "tf32 = True", "c/d.py": "", "e.py": ""})

    assert [True, True, False] == [context.switched_on(rb"tf32", under) for under in ("", "a/", "c/")]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # Somewhere else in the project, however the paths are written.
        ({"a/b.py": "", "d/e.py": "LOADS"}, False),
        ({"/work/x/a/b.py": "", "/work/x/d/e.py": "LOADS"}, False),
        ({"a/b.py": "", "a/c/e.py": "LOADS"}, False),
        ({"a/b.py": "", "e.py": "LOADS"}, False),
        # Beside the module, or beside what imports it.
        ({"a/b.py": "", "a/c.py": "LOADS"}, False),
        ({"a/b.py": "", "models/net.py": "from a.b import Block", "models/hub.py": "LOADS"}, False),
        # In the module, in what it imports.
        ({"a/b.py": "LOADS"}, True),
        ({"a/b.py": "from d.base import Base", "d/base.py": "LOADS"}, True),
        # A file of models that it imports loads weights of its own.
        ({"a/b.py": "from d.net import Backbone", "d/net.py": "class Backbone(nn.Module):\n    LOADS"}, False),
        # In what imports it, or in what imports that.
        ({"a/b.py": "", "train.py": "from a.b import Net\nLOADS"}, True),
        ({"a/b.py": "", "c/net.py": "from a.b import Block", "train.py": "from c.net import Net\nLOADS"}, True),
    ],
)
def test_published_weights_near_a_module(files: dict[str, str], expected: bool) -> None:
    context = context_of(
        {path: text.replace("LOADS", "AutoModel.from_pretrained('x')") for path, text in files.items()}
    )
    module = context.project.module(next(iter(files)))

    assert module is not None
    assert expected == context.loads_published(module)


# Loops of the host


@pytest.mark.parametrize(
    ("code", "parsed"),
    [
        ("", False),
        ("for x in y:\n    x.to('cuda')\n    x.to(device=device)", False),
        ("for x in y:\n    x.to(cpu_device)\n    x.to(dtype)", False),
        ("for x in y:\n    pass\nx.to(device)", False),
        ("for x in y:\n    x.to(device)", True),
        ("for x in y:\n    x.to(\n        device,\n    )", True),
        ("for x in y:\n    x.to(  # there\n        device)", True),
    ],
)
def test_files_that_send_nothing_in_loops_are_not_parsed_for_it(code: str, parsed: bool) -> None:
    context = context_of({"a.py": HEAD, "b.py": f'{HEAD}device = torch.device("cpu")\n{code}'})
    module = context.project.module("a.py")
    assert module is not None

    assert context.knows_host_loops() == parsed
    assert ("b.py" in context.project.parsed) == parsed


THREADS = """\
import asyncio, threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from torch import no_grad
"""
F = "def f(x):\n    here\n"


@pytest.mark.parametrize(
    "code",
    [
        F + "with no_grad(), ThreadPoolExecutor(4) as pool:\n    pool.map(f, rows)",
        F + "with no_grad():\n    pool = ThreadPool()\n    pool.imap(f, rows)",
        F + "with ThreadPoolExecutor(max_workers=4) as pool, no_grad():\n    pool.submit(f, 1)",
        F + "with no_grad():\n    threading.Thread(target=f, args=(1,)).start()",
        F + "pool = ThreadPoolExecutor()\n@no_grad()\ndef run(rows):\n    pool.map(f, rows)",
        F + "class A:\n    def __init__(self):\n        self.pool = ThreadPool(2)\n"
        "    @no_grad()\n    def run(self, rows):\n        self.pool.map(f, rows)",
        "with no_grad(), ThreadPoolExecutor(4) as pool:\n    pool.map(lambda x: here, rows)",
        "@no_grad()\ndef run(rows):\n    with ThreadPoolExecutor() as pool:\n        pool.map(lambda x: here, rows)",
        "@no_grad()\nasync def run(x):\n    await asyncio.to_thread(lambda: here)",
        "@no_grad()\nasync def run(loop, x):\n    await loop.run_in_executor(None, lambda: here)",
        "@no_grad()\ndef run(rows):\n    def f(x):\n        here\n    with ThreadPool(2) as pool:\n        pool.map(f, rows)",
    ],
)
def test_a_thread_begins_with_autograd_on(code: str) -> None:
    assert not grad_off({"a.py": HEAD + THREADS + code})


@pytest.mark.parametrize(
    "code",
    [
        F + "with no_grad():\n    list(map(f, rows))",
        F + "def run(pool, rows):\n    with no_grad():\n        pool.map(f, rows)",
        F + "with no_grad(), ProcessPoolExecutor(4) as pool:\n    pool.map(f, rows)",
        F + "with no_grad(), ThreadPoolExecutor(4, initializer=prepare) as pool:\n    pool.map(f, rows)",
        "@no_grad()\n" + F + "with ThreadPoolExecutor(4) as pool:\n    pool.map(f, rows)",
        "def f(x):\n    with no_grad():\n        here\nThreadPool(2).map(f, rows)",
        "@no_grad()\ndef run(rows):\n    with ThreadPool(2) as pool:\n        pool.map(lambda x: x, [here])",
        "@no_grad()\ndef run(rows):\n    def f(x):\n        here\n    with ThreadPool(2) as pool:\n        pool.map(abs, f(rows))",
    ],
)
def test_what_a_thread_does_not_run_and_what_turns_autograd_off_in_it(code: str) -> None:
    assert grad_off({"a.py": HEAD + THREADS + code})
