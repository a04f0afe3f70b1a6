"""What a dotted name is called where it was defined."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import names
from torchlint.facts.module import Function, Module

Modules = Callable[..., Module]
Last = Callable[[Module], tuple[Function, ast.expr]]


@pytest.fixture
def resolved(module_of: Modules, last_of: Last) -> Callable[..., str | None]:
    """The name of the last expression of a file."""

    def resolve(code: str, name: str = "example", is_package: bool = False) -> str | None:
        return names.resolve(*last_of(module_of(code, name, is_package)))

    return resolve


@pytest.mark.parametrize(
    "code",
    [
        "model.forward",
        "undefined",
        "call().item",
        "items[0].item",
        "'text'.join",
        # Something of the same name stands nearer.
        "import torch\ndef f(torch):\n    torch.compile",
        "import torch\ndef f(*, torch=None):\n    torch.compile",
        "import torch\ndef f(*torch):\n    torch.compile",
        "import torch\ndef f(**torch):\n    torch.compile",
        "import torch\ndef f():\n    torch = other\n    torch.compile",
        "import torch\ndef f():\n    for torch in backends:\n        torch.compile",
        "import torch\ndef f():\n    with enter() as torch:\n        torch.compile",
        "from torch import compile\ndef f():\n    def compile(x):\n        return x\n    compile",
        "from torch import compile\ndef f():\n    class compile:\n        pass\n    compile",
        "import torch\ndef f(torch):\n    def g():\n        torch.compile",
        "def float(x):\n    return x\nfloat",
        "class print:\n    pass\nprint",
        "def f(len):\n    len",
        "def f():\n    print = logger.info\n    print",
        "input = torch.zeros(3)\ninput",
        "def f():\n    from torch import compile\ndef g():\n    other\n    compile.x",
        # The module binds it to something else behind the import.
        "from torch import compile\ncompile = partial(compile, mode=m)\ncompile",
        "from torch import compile\ncompile = partial(compile, mode=m)\ndef f():\n    compile",
        "from torch import compile\ndef compile(x):\n    return x\ncompile",
        "from torch import compile\ndef compile(x):\n    return x\ndef f():\n    compile",
        "from torch import compile\nclass compile:\n    pass\ncompile",
        "from torch import compile\nif fast:\n    compile = other\ncompile",
        "from torch import compile\ntry:\n    compile = other\nfinally:\n    pass\ncompile",
        "from torch.utils import data\nfor data in loader:\n    data.size",
        "from torch.utils import data\nwith enter() as data:\n    data.size",
        "from torch.utils import data\nif (data := load()):\n    data.size",
        "from torch.utils import data\nmatch x:\n    case {'a': data}:\n        data.size",
        "def f():\n    from torch import compile\n    compile = partial(compile)\n    compile",
        "def f():\n    from torch import compile\n    compile = partial(compile)\n    def g():\n        compile",
        "import torch\ndef f(x):\n    match x:\n        case torch:\n            torch.compile",
        "import torch\ndef f(x):\n    match x:\n        case [1, *torch]:\n            torch.compile",
        "import torch\ndef f(x):\n    match x:\n        case {1: 2, **torch}:\n            torch.compile",
        "import torch\ndef f(x):\n    try:\n        pass\n    except E as torch:\n        torch.compile",
        "from torch import *\nsomething",
        "from torch import *\nnn.Linear",
    ],
)
def test_names_that_nothing_is_known_of(resolved: Callable[..., str | None], code: str) -> None:
    assert None is resolved(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import torch\ntorch.nn.Linear", "torch.nn.Linear"),
        ("import torch as th\nth.nn.Linear", "torch.nn.Linear"),
        ("import torch.nn as nn\nnn.Linear", "torch.nn.Linear"),
        ("import torch.nn.functional as F\nF.relu", "torch.nn.functional.relu"),
        ("import torch.utils.data\ntorch.utils.data.DataLoader", "torch.utils.data.DataLoader"),
        ("from torch import nn, optim\noptim.Adam", "torch.optim.Adam"),
        ("from torch.cuda import amp\namp.autocast", "torch.cuda.amp.autocast"),
        ("from torch.distributions import Normal as N\nN", "torch.distributions.Normal"),
        ("from torch.utils.data import DataLoader as DL\nDL", "torch.utils.data.DataLoader"),
        ("from torch.nn.modules.loss import MSELoss\nMSELoss", "torch.nn.MSELoss"),
        ("from torch.nn.modules import Linear\nLinear", "torch.nn.Linear"),
        ("from torch.optim.adam import Adam\nAdam", "torch.optim.Adam"),
        ("from torch.utils.data.sampler import Sampler\nSampler", "torch.utils.data.Sampler"),
        ("from torch.optim import lr_scheduler\nlr_scheduler", "torch.optim.lr_scheduler"),
        ("from torch.optim.lr_scheduler import StepLR\nStepLR", "torch.optim.lr_scheduler.StepLR"),
        ("from torch.nn.modules.utils import _pair\n_pair", "torch.nn.modules.utils._pair"),
        (
            "from torch.utils.data.distributed import DistributedSampler\nDistributedSampler",
            "torch.utils.data.distributed.DistributedSampler",
        ),
        ("from torch.nn import (\n    Linear,\n    ReLU,\n)\nReLU", "torch.nn.ReLU"),
        ("print", "print"),
        ("def f():\n    float", "float"),
        ("class A:\n    def float(self):\n        pass\n    print = 1\nfloat", "float"),
        ("class A:\n    def f(self):\n        float\n    def float(self):\n        pass", "float"),
        ("def f():\n    import torch\n    torch.compile", "torch.compile"),
        ("def f():\n    from torch import compile\n    def g():\n        compile", "torch.compile"),
        ("import torch\nclass A:\n    def f(self):\n        torch.compile", "torch.compile"),
        ("import torch\nclass A:\n    def torch(self):\n        torch.compile", "torch.compile"),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\ntorch.compile", "torch.compile"),
        ("if True:\n    from torch import compile\ncompile", "torch.compile"),
        ("if a:\n    pass\nelse:\n    import torch\ntorch.add", "torch.add"),
        ("with a:\n    import torch\ntorch.add", "torch.add"),
        ("match a:\n    case 1:\n        import torch\ntorch.add", "torch.add"),
        ("import torch\ndef f():\n    global torch\n    torch = reload(torch)\n    torch.compile", "torch.compile"),
        # What binds it again does so later, elsewhere or in its place.
        ("from torch.utils import data\ndata.DataLoader\ndata = load()", "torch.utils.data.DataLoader"),
        ("from torch.utils import data\ndata.DataLoader\nfor data in x:\n    pass", "torch.utils.data.DataLoader"),
        (
            "from torch.utils import data\nfor data in x:\n    pass\ndef f():\n    data.DataLoader",
            "torch.utils.data.DataLoader",
        ),
        ("torch = None\nimport torch\ntorch.compile", "torch.compile"),
        ("import torch\n[torch for torch in x]\ntorch.compile", "torch.compile"),
        ("import torch\nclass A:\n    torch = 1\ntorch.compile", "torch.compile"),
        ("import torch\nf = lambda torch: torch\ntorch.compile", "torch.compile"),
        ("import torch\ndel torch\ntorch.compile", "torch.compile"),
        (
            "try:\n    from torch import compile\nexcept ImportError:\n    def compile(x):\n        pass\ncompile",
            "torch.compile",
        ),
        ("try:\n    pass\nexcept E:\n    from torch import compile\nelse:\n    compile = x\ncompile", "torch.compile"),
        ("if a:\n    from torch import compile\nelse:\n    compile = x\ncompile", "torch.compile"),
        ("match a:\n    case 1:\n        import torch\n    case 2:\n        torch = x\ntorch.add", "torch.add"),
        # Star imports of torch's own modules, as people use them.
        ("from torch.nn import *\nLinear", "torch.nn.Linear"),
        ("from torch.utils.data import *\nDataLoader", "torch.utils.data.DataLoader"),
        # Second names of the same thing.
        ("from torch.nn.parallel import DataParallel\nDataParallel", "torch.nn.DataParallel"),
        ("from torch.utils.data.dataloader import DataLoader\nDataLoader", "torch.utils.data.DataLoader"),
        ("import torch\ntorch.autograd.no_grad", "torch.no_grad"),
    ],
)
def test_names_as_they_were_defined(resolved: Callable[..., str | None], code: str, expected: str) -> None:
    assert expected == resolved(code)


@pytest.mark.parametrize(
    ("name", "is_package", "statement", "expected"),
    [
        ("pkg.train", False, "from .model import Net", "pkg.model.Net"),
        ("pkg.train", False, "from . import model as Net", "pkg.model"),
        ("pkg.sub.train", False, "from ..model import Net", "pkg.model.Net"),
        ("pkg.sub", True, "from .model import Net", "pkg.sub.model.Net"),
        ("pkg.sub", True, "from ..model import Net", "pkg.model.Net"),
        ("train", False, "from .model import Net", "model.Net"),
    ],
)
def test_relative_imports(
    resolved: Callable[..., str | None], name: str, is_package: bool, statement: str, expected: str
) -> None:
    assert expected == resolved(f"{statement}\nNet", name, is_package)


def test_a_chain_is_names_and_dots_only() -> None:
    parsed = [ast.parse(text, mode="eval").body for text in ("a.b.c", "a", "a().b", "a[0].b", "1")]

    assert [["a", "b", "c"], ["a"], None, None, None] == [names.chain(node) for node in parsed]
