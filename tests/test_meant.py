"""No fix is made of a name that may be something else than torch's, and no safe one of what the project replaces in torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from torchlint import cli
from torchlint.lint.run import lint
from torchlint.settings.config import Settings
from torchlint.text.finding import Fix
from torchlint.torch_api.version import Range

PLACE = "x = torch.LongTensor([1])\n"
CODES = frozenset(("TL910",))


def fixes(files: Mapping[str, str]) -> list[Fix | None]:
    """What is offered for what is found in a file `a.py` of a project."""
    given = {name: code.encode() for name, code in files.items()}
    return [one.fix for one in lint(given, Settings(CODES, CODES, preview=True)).findings if one.path == "a.py"]


def kinds(files: Mapping[str, str]) -> list[str]:
    return [fix.applicability if fix is not None else "none" for fix in fixes(files)]


@pytest.mark.parametrize(
    "other",
    [
        "import torch\ny = torch\n",
        "from torch import nn\nother = 1\n",
        "def f(torch):\n    pass\n",
        "import numpy\nfrom numpy import *\nimport torch\n",
        "from b import *\n",
        "class A:\n    torch = 1\n",
    ],
)
def test_a_star_import_that_brings_torch_itself_or_no_such_name(other: str) -> None:
    assert ["safe"] == kinds({"a.py": f"import torch\nfrom b import *\n{PLACE}", "b.py": other})


@pytest.mark.parametrize(
    "other",
    [
        "torch = object()\n",
        "import fake as torch\n",
        "from .fake import torch\n",
        "class torch:\n    pass\n",
        "def torch():\n    pass\n",
        "from c import *\n",
    ],
)
def test_a_star_import_of_the_project_that_may_bring_another_torch(other: str) -> None:
    files = {"a.py": f"import torch\nfrom b import *\n{PLACE}", "b.py": other, "c.py": "torch = 1\n"}
    assert "safe" not in kinds(files)


@pytest.mark.parametrize(
    "code",
    [
        f"class A:\n    torch = Fake\n    {PLACE}",
        f"def swap():\n    global torch\n    torch = Fake\n{PLACE}",
        f"for i in range(2):\n    {PLACE}    torch = Fake\n",
        "x = [torch.LongTensor([1]) for torch in fakes]\n",
        "x = lambda torch: torch.LongTensor([1])\n",
        "x = [(torch := Fake)], torch.LongTensor([1])\n",
    ],
)
def test_a_name_that_may_be_something_else(code: str) -> None:
    assert "safe" not in kinds({"a.py": f"import torch\n{code}"})


@pytest.mark.parametrize(
    "code",
    [
        f"{PLACE}torch = Fake\n",
        f"class A:\n    torch = Fake\n    def f(self):\n        {PLACE}",
        f"def f(x: torch.tensor = 3, *, device: torch.device = None):\n    {PLACE}",
        f"torch.backends.cuda.matmul.allow_tf32 = True\n{PLACE}",
        f"self.tensor = torch.tensor\n{PLACE}",
        f"f(tensor=torch.tensor)\n{PLACE}",
        f"torch.Tensor.other = 3\n{PLACE}",
        f"self.amp.tensor = 3\nf(F.tensor == 3)\n{PLACE}",
        f"patch('torch.other')\n{PLACE}",
        f"import torch as th\nself.tensor = 3\nx = th.tensor == 3\nother.th.tensor = 3\n{PLACE}",
        f"def f(a, x: torch.LongTensor = None, *, t: torch.tensor = 3): pass\n{PLACE}",
        f"def f(\n    x: dict[str, torch.tensor] = 3,\n    y: tuple[torch.tensor, int] = 3,\n): pass\n{PLACE}",
        f"f(\n    torch.tensor, x=3,\n)\nx = [\n    torch.tensor, x == 3]\n{PLACE}",
        f"x = {{\n    torch.tensor: f(x=3),\n}}\n{PLACE}",
        f"for x in torch.tensor, torch.LongTensor: pass\nif x in (torch.tensor, torch.LongTensor): pass\n{PLACE}",
        f"with torch.tensor as x, f(torch.tensor) as torch_: pass\ndel x, torch_\n{PLACE}",
        f"torch.tensor == 3\nx = torch.tensor == 3, torch.tensor <= 3\n{PLACE}",
        f"x = torch.__dict__['tensor'], vars(torch)['tensor'], vars(torch).get('tensor')\n{PLACE}",
        f"x = getattr(torch, name)\nhasattr(torch, 'tensor') or getattr(torch, 'tensor')\n{PLACE}",
        f"setattr(torch.nn.init, name, f)\nsetattr(self, name, torch.tensor)\nvars(self)[name] = torch\n{PLACE}",
        f"nn.init.__dict__[name] = f\nself.__dict__['tensor'] = self.torch.tensor\n{PLACE}",
        f"if x: y: torch.tensor == 3\nx: torch.tensor = 3\nf = lambda a: torch.tensor\n{PLACE}",
        f"if x: f(torch.tensor, tensor=3)\nself.torch: torch.tensor = 3\n{PLACE}",
        f"import_module('torch.cuda').other = 3\nimport_module('torch').tensor == 3\n{PLACE}",
        f"t = torch.tensor\nt.tensor = 3\nkind = torch.long\nkind.tensor = 3\n{PLACE}",
        f"for t in (torch.long, torch.int): t.tensor = 3\nfor t in f(torch): pass\n{PLACE}",
        f"import torch as th\nsetattr(other, 'tensor', th)\ngetattr(th, 'tensor')\nsetattr(theme, name, 3)\n{PLACE}",
        f"x = getattr(torch.nn, 'tensor'), hasattr(torch, 'LongTensor')\ndef f(x: Float[torch.Tensor, 'tensor']): pass\n{PLACE}",
        f"f(torch.tensor, 'LongTensor')\nf(mytorch, 'tensor')\ng(torch.float32, tensor=3)\nf('torch', 'tensor')\n{PLACE}",
        f"partial(torch, tensor=3)\nx = torch, tensor == 3\nowner.tensor = lambda x: x\n{PLACE}",
        f"torch._dynamo.config.tensor = 3\ntorch._inductor.config.triton.tensor = 3\n{PLACE}",
        f"self.cnn.__dict__.update(tensor=3)\nsetattr(self.F, name, 3)\nvars(nn_model)['tensor'] = 3\n{PLACE}",
    ],
)
def test_what_leaves_torch_alone(code: str) -> None:
    assert ["safe"] == kinds({"a.py": f"import torch\n{code}"})


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("torch.tensor = tensor", "tensor"),
        ("def f():\n    torch.LongTensor = tensor", "LongTensor"),
        ("setattr(torch, 'tensor', tensor)", "tensor"),
        ("monkeypatch.setattr('torch.LongTensor', tensor)", "LongTensor"),
        ("mock.patch('torch.LongTensor')", "LongTensor"),
        ("import torch.nn.functional as F\nF.tensor = tensor", "tensor"),
        ("from torch import amp\nsetattr(amp, 'tensor', tensor)", "tensor"),
        ("@mock.patch.object(torch, 'tensor')\ndef f(): pass", "tensor"),
        ("import torch as th\nth.tensor = tensor", "tensor"),
        ("import torch.nn as tn\ndef f():\n    tn.functional.LongTensor = tensor", "LongTensor"),
        ("from torch.nn import functional as fn\nfn.tensor = tensor", "tensor"),
        ("import torch.cuda as c\nc.tensor = tensor", "tensor"),
        ("from torch.nn import init\ninit.tensor = tensor", "tensor"),
        ("torch.tensor: object = tensor", "tensor"),
        ("torch.tensor += other", "tensor"),
        ("torch.LongTensor, old = fake, torch.LongTensor", "LongTensor"),
        ("(torch.LongTensor, old) = fake, torch.LongTensor", "LongTensor"),
        ("old, torch.LongTensor = torch.LongTensor, fake", "LongTensor"),
        ("ours = torch.tensor = fake", "tensor"),
        ("x = 3; torch.tensor = fake", "tensor"),
        ("for torch.tensor in fakes: pass", "tensor"),
        ("for i, torch.tensor in enumerate(fakes): pass", "tensor"),
        ("[f() for torch.LongTensor in fakes]", "LongTensor"),
        ("with fake() as torch.tensor: pass", "tensor"),
        ("del torch.tensor", "tensor"),
        ("delattr(torch, 'tensor')", "tensor"),
        ("object.__setattr__(torch, 'tensor', fake)", "tensor"),
        ("torch.__dict__['tensor'] = fake", "tensor"),
        ("vars(torch)['LongTensor'] = fake", "LongTensor"),
        ("import torch as th\nvars(th)['tensor'] = fake", "tensor"),
        ("if old: torch.tensor = fake", "tensor"),
        ("try: torch.LongTensor = fake\nexcept Error: pass", "LongTensor"),
        ("def f():\n    for _ in x: a = {1: 2}; y()\n    else: torch.tensor = fake", "tensor"),
        ("importlib.import_module('torch').tensor = fake", "tensor"),
        ("__import__('torch').LongTensor = fake", "LongTensor"),
        ("t = torch\nt.tensor = fake", "tensor"),
        ("here = torch.nn.functional  # short\nhere.tensor = fake", "tensor"),
        ("t = importlib.import_module('torch')\nt.tensor = fake", "tensor"),
        ("def f():\n    found = __import__('torch')\n    found.tensor = fake", "tensor"),
        ("for m in (torch, torch.nn):\n    m.tensor = fake", "tensor"),
        ("for m in [np, torch]:\n    setattr(m, 'tensor', fake)\n    m.LongTensor = fake", "LongTensor"),
        ("import torch as th\nsetattr(th, 'tensor', fake)", "tensor"),
        ("import torch.nn.functional as TF\nmonkeypatch.setattr(TF, 'LongTensor', fake)", "LongTensor"),
        ("from torch.cuda import amp as a\ndelattr(a, 'tensor')", "tensor"),
        ("import torch as th\nwith mock.patch.object(th, 'tensor', fake): pass", "tensor"),
        ("import torch.utils.checkpoint as cp\n@patch.object(cp, 'tensor')\ndef f(): pass", "tensor"),
        ("functorch.tensor = fake", "tensor"),
        ("replace(torch, 'tensor', fake)", "tensor"),
        ("import torch as th\nreplace(\n    th,\n    'LongTensor',\n    fake,\n)", "LongTensor"),
        ("PATCHES = [(np, 'array', fake), (torch, 'tensor', fake)]", "tensor"),
        ("from torch.nn import functional as fn\nfor owner, name in [(fn, 'tensor')]: f(owner, name)", "tensor"),
        ("swap(torch, tensor=fake)", "tensor"),
        ("import torch.utils.checkpoint as ck\nswap(ck, tensor=fake)", "tensor"),
    ],
)
def test_what_the_project_replaces_in_torch(code: str, name: str) -> None:
    found = fixes({"a.py": f"import torch\n{PLACE}", "b.py": f"import torch\n{code}\n"})

    note = f"the project puts something else in the place of torch's `{name}`"
    assert [("unsafe", note)] == [(fix.applicability, fix.note) for fix in found if fix is not None]


@pytest.mark.parametrize(
    "code",
    [
        "for name in names: setattr(torch, name, fake)",
        "setattr(torch, f'{kind}Tensor', fake)",
        "torch.__setattr__(name, fake)",
        "torch.__dict__[name] = fake",
        "torch.__dict__ |= fakes",
        "torch.__dict__.update(fakes)",
        "vars(torch).update(fakes)",
        "vars(torch).pop(name)",
        "mock.patch.multiple(torch, tensor=fake)",
        "mock.patch.multiple('torch', tensor=fake)",
        "mock.patch.dict(torch.__dict__, fakes)",
        "mock.patch.dict('torch.__dict__', fakes)",
        "import torch as th\nsetattr(th, name, fake)",
        "import torch as th\npatch.multiple(th, tensor=fake)",
    ],
)
def test_what_the_project_replaces_in_torch_by_names_that_only_the_run_knows(code: str) -> None:
    found = fixes({"a.py": f"import torch\n{PLACE}", "b.py": f"import torch\n{code}\n"})

    note = "the project puts things of its own into `torch`"
    assert [("unsafe", note)] == [(fix.applicability, fix.note) for fix in found if fix is not None]


@pytest.mark.parametrize(
    "other",
    [
        "import a\na.other = 1\n",
        "import a\nself.torch = a\n",
        "import a\nx = a.torch == Fake\n",
        "import a\nf(torch=a.torch)\n",
        "import a, b\nb.torch = Fake\n",
        "import a\na.torch.backends.cudnn.benchmark = True\n",
        "import a\nsetattr(a, 'other', 1)\n",
        "mock.patch('b.torch')\n",
        "mock.patch('a.torch.cuda.is_available')\n",
        "mock.patch('a.other')\n",
        "a.torch = Fake\n",
        "MODULE = 'pkg.other'\nmock.patch(f'{MODULE}.torch')\n",
        "monkeypatch.setattr(MODULE + '.torch', fake)\n",
    ],
)
def test_what_leaves_the_names_of_another_file_alone(other: str) -> None:
    files = {"a.py": f"import torch\n{PLACE}", "b.py": "import torch\n", "c.py": other}
    assert ["safe"] == kinds(files)


@pytest.mark.parametrize(
    "other",
    [
        "import a\na.torch = Fake\n",
        "from pkg import a\nwith fakes():\n    a.torch = Fake\n",
        "import pkg.a\npkg.a.torch = Fake\n",
        "import a as module\nmodule.torch = Fake\n",
        "import a\nsetattr(a, 'torch', Fake)\n",
        "import a as module\nmonkeypatch.setattr(module, 'torch', Fake)\n",
        "def test(monkeypatch):\n    import a\n    monkeypatch.setattr(a, 'torch', Fake)\n",
        "@mock.patch('pkg.a.torch')\ndef test(): pass\n",
        "@mock.patch('a.torch')\ndef test(): pass\n",
        "MODULE = 'pkg.a'\nmock.patch(f'{MODULE}.torch')\n",
        "import a\nmonkeypatch.setattr(MODULE + '.torch', fake)\n",
        "import a\nwith patch.object(a, 'torch', Fake): pass\n",
    ],
)
def test_what_another_file_puts_in_the_place_of_an_import(other: str) -> None:
    found = fixes({"a.py": f"import torch\n{PLACE}", "c.py": other})

    note = "the project puts something else in the place of this file's `torch`"
    assert [("unsafe", note)] == [(fix.applicability, fix.note) for fix in found if fix is not None]


def test_a_module_that_a_third_file_names() -> None:
    found = fixes(
        {
            "a.py": f"import torch\n{PLACE}",
            "names.py": "MODULE = 'pkg.a'\n",
            "c.py": "from names import MODULE\nmock.patch(f'{MODULE}.torch')\n",
        }
    )

    assert ["unsafe"] == [fix.applicability for fix in found if fix is not None]


@pytest.mark.parametrize(
    "line",
    [
        "exec(open('names.py').read())",
        "globals().update(torch=Fake)",
        "globals()['torch'] = Fake",
        "vars()[name] = Fake",
        "locals().update(names)",
        "sys.modules['torch'] = Fake",
        "sys.modules[__name__].torch = Fake",
        "sys.modules[__name__].__dict__['torch'] = Fake",
        "setattr(sys.modules[__name__], name, Fake)",
        "vars(sys.modules[__name__]).update(names)",
        "sys.modules.update(fakes)",
        "del sys.modules['torch']",
        "monkeypatch.setitem(sys.modules, 'torch', Fake)",
        "mock.patch.dict(sys.modules, {'torch': Fake})",
        "mock.patch.dict('sys.modules', torch=Fake)",
        "sys._getframe(1).f_globals['torch'] = Fake",
        "f.__globals__['torch'] = Fake",
        "g = types.FunctionType(f.__code__, {'torch': Fake})",
    ],
)
def test_a_file_that_gives_its_names_another_meaning(line: str) -> None:
    found = fixes({"a.py": f"import torch\n{line}\n{PLACE}"})

    note = "this file gives names another meaning as it runs"
    assert [("unsafe", note)] == [(fix.applicability, fix.note) for fix in found if fix is not None]


@pytest.mark.parametrize(
    "line",
    [
        "self.exec(torch)",
        "executed(torch)",
        "model = globals()[name](3)",
        "if globals()['torch'] == Fake: pass",
        "x = sys.modules['torch']",
        "x = sys.modules.get(name), f.__globals__['torch']",
        "if 'torch' in sys.modules: pass",
        "vars(options).update(names)",
        "isinstance(f, types.FunctionType)",
        "self.__dict__.update(names)",
    ],
)
def test_a_file_that_only_looks_at_its_names(line: str) -> None:
    assert ["safe"] == kinds({"a.py": f"import torch\n{line}\n{PLACE}"})


REBOUND = """\
import torch
from torch.autograd import Variable

def use():
    x = torch.ones(2)
    def other():
{inner}
    other()
    return Variable(x)
"""


@pytest.mark.parametrize(
    "inner",
    [
        "        x = fake(3)",
        "        nonlocal x\n        print(x)",
        "        nonlocal y\n        y = fake(3)",
        "        global y\n        y = fake(3)",
    ],
)
def test_a_name_that_no_other_function_binds(inner: str) -> None:
    assert ["safe"] == kinds({"a.py": REBOUND.format(inner=inner)})


def test_a_name_that_another_function_binds_anew() -> None:
    inside = fixes({"a.py": REBOUND.format(inner="        nonlocal x\n        x = fake(3)")})
    outside = fixes({"a.py": "import torch\nfrom torch.autograd import Variable\n\ndef swap():\n    global x\n    x = fake(3)\n\n"
                             "x = torch.ones(2)\nswap()\nprint(Variable(x))\n"})  # fmt: skip

    for found in (inside, outside):
        assert ["unsafe"] == [fix.applicability for fix in found if fix]


COPIED = """\
import torch

class M(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        return (x * y).clone(), x.contiguous().contiguous()
"""


def copies(other: str) -> list[tuple[str, str]]:
    given = {"a.py": COPIED.encode(), "b.py": other.encode()}
    found = lint(given, Settings(frozenset(("TL713",)), frozenset(("TL713",)), preview=True)).findings
    return [(one.fix.applicability, one.fix.note) for one in found if one.path == "a.py" and one.fix is not None]


@pytest.mark.parametrize(
    "other",
    [
        "class A:\n    def contiguous(self): return 3\n    def __mul__(self, other): return self\n",
        "class A(torch.Tensor):\n    def merge(self): return self.contiguous()\n    def __add__(self, other): return self\n",
        "class A(TensorDict):\n    def contiguous(self): return self\n    __mul__ = None\n",
    ],
)
def test_methods_that_no_subclass_of_tensor_defines(other: str) -> None:
    assert [("safe", "")] * 2 == copies(other)


@pytest.mark.parametrize(
    "base", ["class B(torch.Tensor): pass\nclass A(B):\n", "from torch import Tensor as T\nclass A(T):\n"]
)
def test_methods_that_a_subclass_of_tensor_defines(base: str) -> None:
    multiplied = copies(f"{base}    def __rmul__(self, other): return self\n")
    contiguous = copies(f"{base}    def contiguous(self): return self\n")

    note = "a subclass of Tensor in the project may have its own"
    assert [("unsafe", f"{note} `__rmul__`"), ("safe", "")] == multiplied
    assert [("safe", ""), ("unsafe", f"{note} `contiguous`")] == contiguous


CLONED = """\
import torch

class M(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        return (x * y).clone()
"""


def offered(code: str, files: Mapping[str, str]) -> list[tuple[str, str]]:
    """What is offered for what a rule finds in a file `a.py` of a project, with its notes."""
    given = {name: text.encode() for name, text in files.items()}
    codes = frozenset((code,))
    found = lint(given, Settings(codes, codes, preview=True, target_torch=Range((2, 6), (2, 14)))).findings
    return [(one.fix.applicability, one.fix.note) for one in found if one.path == "a.py" and one.fix is not None]


INITIAL = "from torch.nn import init\ndef f(w):\n    init.normal(w)\n"


@pytest.mark.parametrize(
    "code",
    [
        "from torch import nn\nfor name in names: setattr(nn.init, name, fake)",
        "from torch import nn\nvars(nn.init).update(fakes)",
        "import torch.nn as nn\nnn.init.__dict__[name] = fake",
        "import torch.nn.init as I\nsetattr(I, name, fake)",
        "from torch.nn import init as I\nI.__dict__ |= fakes",
    ],
)
def test_what_the_project_puts_into_a_module_of_torch_by_another_name(code: str) -> None:
    found = offered("TL903", {"a.py": INITIAL, "b.py": f"{code}\n"})

    assert [("unsafe", "the project puts things of its own into `init`")] == found
    assert [("safe", "")] == offered("TL903", {"a.py": INITIAL, "b.py": code.replace("init", "other")})


@pytest.mark.parametrize(
    "code",
    [
        "from torch import TENSOR\nTENSOR.clone = fake",
        "from torch import nn, TENSOR as Held\nHeld.clone = fake",
        "from torch import TENSOR as Held\nsetattr(Held, 'clone', fake)",
        "import torch\ntorch.TENSOR.clone = fake",
        "mock.patch.object(TENSOR, 'clone')",
    ],
)
def test_what_the_project_puts_in_the_place_of_a_method_of_tensors(code: str) -> None:
    code = code.replace("TENSOR", "Tensor")  # this file is one of a project, too: its demonstration keeps its fixes
    note = "the project puts something else in the place of torch's `clone`"
    assert [("unsafe", note)] == offered("TL713", {"a.py": CLONED, "b.py": f"{code}\n"})
    assert [("safe", "")] == offered("TL713", {"a.py": CLONED, "b.py": code.replace("clone", "other")})


@pytest.mark.parametrize(
    "code",
    [
        "for name in names: setattr(TENSOR, name, fake)",
        "from torch import TENSOR as Held\nfor name in names: setattr(Held, name, fake)",
        "for name in names: setattr(torch.TENSOR, name, fake)",
        "patch.multiple(torch.TENSOR, clone=fake)",
    ],
)
def test_what_the_project_puts_into_tensors_by_names_that_only_the_run_knows(code: str) -> None:
    code = code.replace("TENSOR", "Tensor")
    note = "the project puts things of its own into `Tensor`"
    assert [("unsafe", note)] == offered("TL713", {"a.py": CLONED, "b.py": f"{code}\n"})
    assert ["safe"] == kinds({"a.py": f"import torch\n{PLACE}", "b.py": f"{code}\n"})  # of no tensor's method


def test_a_stub_of_the_private_api_itself() -> None:
    stub = {
        "a.py": "import torch\n\n@torch._dynamo.disable\ndef f(): pass\n",
        "b.py": "import torch\ntorch._dynamo.disable = fake\n",
    }

    assert ["unsafe"] == [kind for kind, _ in offered("TL909", stub)]
    assert [] == offered("TL909", {"a.py": "import torch\n\ntorch._dynamo.disable = fake\ndel torch._dynamo.reset\n"})
    assert ["safe"] == [kind for kind, _ in offered("TL909", {"a.py": stub["a.py"]})]


@pytest.mark.parametrize(
    "code",
    [
        "class A(torch.nn.Parameter):\n    def merge(self): pass\n    clone = merge\n",
        "from torch.nn import Parameter as P\nclass A(P):\n    def clone(self): pass\n",
        "class A(nn.Buffer):\n    clone: object = merge\n",
        "from c import Tagging\nclass A(Tagging, torch.Tensor): pass\n",
        "from c import Tagging as T\nclass A(torch.Tensor): pass\nclass B(A, T): pass\n",
        "A = type('A', (torch.Tensor,), {'clone': merge})\n",
    ],
)
def test_methods_that_a_subclass_of_tensor_has_otherwise(code: str) -> None:
    mixin = "class Tagging:\n    def clone(self): pass\n"
    note = "a subclass of Tensor in the project may have its own `clone`"

    assert [("unsafe", note)] == offered("TL713", {"a.py": CLONED, "b.py": f"import torch\n{code}", "c.py": mixin})


@pytest.mark.parametrize(
    "code",
    [
        "class A(torch.Tensor):\n    other = 3\n    def f(self):\n        clone = 3\nclass B:\n    clone = 3\n",
        "class A(torch.nn.Parameter): pass\nclass B:\n    def clone(self): pass\n",
        "from c import Tagging\nclass A(torch.Tensor): pass\nclass B(Tagging): pass\n",
        "A = type('A', (torch.nn.Module,), {'clone': merge})\nx = type(y), torch.Tensor, {'clone': 3}\n",
        "A = type('A', (torch.Tensor,), {})\nx = {'clone': 3}\n",
    ],
)
def test_methods_that_other_classes_have(code: str) -> None:
    mixin = "class Tagging:\n    def clone(self): pass\n"

    assert [("safe", "")] == offered("TL713", {"a.py": CLONED, "b.py": f"import torch\n{code}", "c.py": mixin})


@pytest.mark.parametrize(
    "code",
    [
        "replace(torch.TENSOR, 'clone', fake)",
        "PATCHES = [(torch.TENSOR, 'clone', fake), (torch.nn.Module, 'clone', fake)]",
        "from torch import TENSOR as T\nreplace(T, 'clone', fake)",
        "@patch\ndef clone(self: torch.TENSOR): return self",
        "@patch\ndef clone(self:TENSOR): return self",
        "@patch\ndef clone(self: (nn.Module, TENSOR)): return self",
        "@patch\ndef clone(self: nn.Module | TENSOR): return self",
        "@patch_to(TENSOR)\ndef clone(self): return self",
        "@patch_to(cls=torch.TENSOR, as_prop=False)\ndef clone(self, *args): return self",
        "@add_method_to(torch.nn.Parameter)\ndef clone(self): return self",
    ],
)
def test_a_method_of_tensors_that_the_project_replaces_by_a_function_of_its_own(code: str) -> None:
    code = code.replace("TENSOR", "Tensor")
    note = "the project puts something else in the place of torch's `clone`"
    assert [("unsafe", note)] == offered("TL713", {"a.py": CLONED, "b.py": f"import torch\n{code}\n"})


@pytest.mark.parametrize(
    "code",
    [
        "kind = type(torch.empty(0))\nkind.clone = lambda self: self",
        "def f(*owners):\n    for owner in owners:\n        owner.clone = lambda self: self",
        "def same(self): return self\ndef f(owner):\n    owner.clone = same",
        "def f(owner):\n    def same(self): return self\n    owner.clone = same  # short",
        "def f(owner):\n    owner.clone: Callable = lambda self: self",
    ],
)
def test_a_method_that_the_project_gives_to_an_object_that_may_be_the_class_of_tensors(code: str) -> None:
    note = "the project may put something else in the place of a tensor's `clone`"
    assert [("unsafe", note)] == offered("TL713", {"a.py": CLONED, "b.py": f"import torch\n{code}\n"})


@pytest.mark.parametrize(
    "code",
    [
        "def f(owner):\n    owner.clone = 3\n    owner.clone = given",
        "def f(owner):\n    owner.other = lambda x: x\n    x = owner.clone == 3",
        "class A:\n    def f(self):\n        self.clone = lambda x: x",
        "class A: pass\nA.clone = lambda x: x",
        "def clone(x: torch.Tensor): return x",
        "@torch.jit.script\ndef clone(x: torch.Tensor, y: torch.Tensor): return x",
        "@patch\ndef clone(self: Module, x: torch.Tensor): return x",
        "@patch_to(Module)\ndef clone(self): return self",
        "class A:\n    @merge.register(torch.Tensor)\n    def clone(self, x): return x",
        "@merge.register(torch.Tensor)\ndef clone(x): return x",
    ],
)
def test_methods_that_something_else_than_a_tensor_gets(code: str) -> None:
    assert [("safe", "")] == offered("TL713", {"a.py": CLONED, "b.py": f"import torch\n{code}\n"})


def test_what_a_test_puts_into_torch_by_way_of_another_file() -> None:
    found = fixes({"a.py": f"import torch\n{PLACE}", "c.py": "mock.patch('a.torch.LongTensor')\n"})

    note = "the project puts something else in the place of torch's `LongTensor`"
    assert [("unsafe", note)] == [(fix.applicability, fix.note) for fix in found if fix is not None]


def test_what_is_kept_follows_what_another_file_puts_into_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import torch\n\n\ndef f(a):\n    return torch.nn.init.uniform(a)\n")

    def is_safe(patch: str) -> bool:
        Path("patches.py").write_text(f"import torch\n{patch}\n")
        cli.main(["check", "--isolated", "--select", "TL903", "--output-format", "concise", "."])
        return "TL903 [*]" in capsys.readouterr().out

    patches = ["", "torch.other = 1", "torch.nn.init.uniform_ = 1", "torch.another = 1"]

    assert [True, True, False, True] == [is_safe(patch) for patch in patches]


@pytest.mark.parametrize("path", ["torch.py", "torch/__init__.py", "src/torch/__init__.py"])
def test_a_project_that_has_a_torch_of_its_own(path: str) -> None:
    assert [None] == fixes({"a.py": f"import torch\n{PLACE}", path: "class Tensor: pass\n"})


def test_a_project_that_has_torch_itself_or_a_file_called_so_elsewhere() -> None:
    own = {"torch/__init__.py": "", "torch/_tensor.py": "class Tensor: pass\n"}
    assert ["safe"] == kinds({"a.py": f"import torch\n{PLACE}", **own})
    assert ["safe"] == kinds({"a.py": f"import torch\n{PLACE}", "utils/torch.py": "x = 3\n"})


AUTOCAST = "with autocast(enabled=False):\n    pass\n"
FROM_TORCH = "from torch.cuda.amp import autocast\n"


def of_autocast(files: Mapping[str, str]) -> list[str]:
    """What is offered for an autocast in a file `a.py` that imports it from another one."""
    given = {name: code.encode() for name, code in files.items()}
    codes = frozenset(("TL901",))
    found = lint(given, Settings(codes, codes, target_torch=Range((2, 6), (2, 14)))).findings
    return [one.fix.applicability if one.fix is not None else "none" for one in found if one.path == "a.py"]


@pytest.mark.parametrize(
    "other",
    [
        FROM_TORCH,
        f"import torch\n{FROM_TORCH}scaler = None\n",
        f"try:\n    {FROM_TORCH}except ImportError:\n    autocast = None\n",
        f"try:\n    {FROM_TORCH}except ImportError:\n    {FROM_TORCH}",
        "from c import autocast\n",
    ],
)
def test_a_file_of_the_project_that_hands_on_what_torch_has(other: str) -> None:
    assert ["safe"] == of_autocast(
        {"a.py": f"import torch\nfrom b import autocast\n{AUTOCAST}", "b.py": other, "c.py": FROM_TORCH}
    )


@pytest.mark.parametrize(
    "other",
    [
        f"try:\n    {FROM_TORCH}except ImportError:\n    class autocast:\n        pass\n",
        f"try:\n    {FROM_TORCH}except ImportError:\n    from apex import autocast\n",
        f"import torch\nif torch.cuda.is_available():\n    {FROM_TORCH}else:\n    from contextlib import nullcontext as autocast\n",
        f"{FROM_TORCH}if flag:\n    autocast = lambda **options: None\n",
    ],
)
def test_a_file_of_the_project_that_hands_on_one_of_several_things(other: str) -> None:
    files = {
        "a.py": f"import torch\nfrom b import autocast\n{AUTOCAST}",
        "b.py": other,
        "c.py": "from b import autocast\n",
    }
    assert set(of_autocast(files)) <= {"none"}
    assert set(
        of_autocast({**files, "a.py": f"import torch\nimport c\n{AUTOCAST.replace('autocast', 'c.autocast')}"})
    ) <= {"none"}


MESHES = "x = torch.meshgrid(a, b)\n"


def of_meshes(code: str) -> list[str]:
    codes = frozenset(("TL903",))
    found = lint({"a.py": code.encode()}, Settings(codes, codes, target_torch=Range((2, 6), (2, 14)))).findings
    return [one.fix.applicability if one.fix is not None else "none" for one in found]


@pytest.mark.parametrize(
    "more",
    [
        "import warnings\nwarnings.warn('old')\n",
        "import warnings\nwarnings.simplefilter('ignore')\n",
        "import warnings\nwith warnings.catch_warnings():\n    pass\n",
        "self.assertRaises(ValueError)\n",
    ],
)
def test_a_file_that_does_not_wait_for_warnings(more: str) -> None:
    assert ["safe"] == of_meshes(f"import torch\n{more}{MESHES}")


@pytest.mark.parametrize(
    "more",
    [
        "import pytest\nwith pytest.warns(UserWarning):\n    ",
        "with pytest.deprecated_call():\n    ",
        "with self.assertWarns(UserWarning):\n    ",
        "with self.assertWarnsRegex(UserWarning, 'indexing'):\n    ",
        "with warnings.catch_warnings(record=True) as caught:\n    ",
        "warnings.simplefilter('error')\n",
        'warnings.filterwarnings("error", category=UserWarning)\n',
    ],
)
def test_a_file_that_waits_for_warnings(more: str) -> None:
    assert ["unsafe"] == of_meshes(f"import torch\n{more}{MESHES}")
    assert ["safe"] == kinds({"a.py": f"import torch\n{more}{PLACE}"})  # it warns of nothing


def test_another_file_that_waits_for_the_warnings_of_a_file() -> None:
    waits = "import pytest\ndef test():\n    with pytest.warns(UserWarning):\n        "

    assert [("unsafe", "a file that uses this one may wait for the warning that the fix ends")] == offered(
        "TL903", {"a.py": f"import torch\ndef f(a, b):\n    {MESHES}", "test_a.py": f"import a\n{waits}a.f(1, 2)\n"}
    )
    assert [("safe", "")] == offered(
        "TL903", {"a.py": f"import torch\ndef f(a, b):\n    {MESHES}", "test_b.py": f"import b\n{waits}b.f(1, 2)\n"}
    )


def test_another_file_that_waits_for_the_warnings_of_a_file_that_it_has_from_a_package() -> None:
    waits = "import pytest\ndef test():\n    with pytest.warns(UserWarning):\n        "
    files = {"a.py": f"import torch\ndef meshes(a, b):\n    {MESHES}", "lib/__init__.py": "from a import *\n"}

    assert [("unsafe", "a file that uses this one may wait for the warning that the fix ends")] == offered(
        "TL903", {**files, "test_a.py": f"import lib\n{waits}lib.meshes(1, 2)\n"}
    )
    assert [("safe", "")] == offered("TL903", {**files, "test_a.py": f"import lib\n{waits}lib.other(1, 2)\n"})
