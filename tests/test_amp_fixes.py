"""A fix of mixed precision's old names leaves alone what else of a project relies on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.fix.run import fix_files
from torchlint.settings.config import Settings

IMPORTS = "import torch\nfrom torch.cuda.amp import GradScaler, autocast\n"
USE = "with autocast():\n    kept = GradScaler()\n"


def fixed(folder: Path, text: str, **others: str) -> str:
    """What the safe fixes of TL901 make of a file of a project for torch 2.6 and later."""
    rules = frozenset(("TL901",))
    (folder / "requirements.txt").write_text("torch>=2.6\n")
    files = {str(folder / "a.py"): text, **{str(folder / f"{name}.py"): other for name, other in others.items()}}
    settings = Settings(rules, fixable=rules, root=folder, project=folder)
    result = fix_files({name: code.encode() for name, code in files.items()}, settings, unsafe=False, write=False)
    return result.contents.get(str(folder / "a.py"), text.encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        '"""How it is used.\n\n>>> with autocast():\n...     pass\n"""\n',
        'def f():\n    """\n    >>> GradScaler()\n    """\n',
        "eval(given)\n",
        "run(globals()[given])\n",
        "run(getattr(sys.modules[__name__], given))\n",
    ],
)
def test_an_import_that_a_text_may_use_stays(tmp_path: Path, text: str) -> None:
    assert "from torch.cuda.amp import" in fixed(tmp_path, IMPORTS + text + USE)


@pytest.mark.parametrize(
    "other",
    [
        "import importlib\nm = importlib.import_module('a')\nm.autocast()\n",
        "importlib.import_module('a').GradScaler()\n",
        "m = __import__('a')\nm.autocast()\n",
        "runpy.run_path('a.py')['autocast']()\n",
        "mock.patch(f'{A}.autocast')\n",
    ],
)
def test_an_import_that_a_file_takes_by_a_text_stays(tmp_path: Path, other: str) -> None:
    assert "from torch.cuda.amp import" in fixed(tmp_path, IMPORTS + USE, b=other)


@pytest.mark.parametrize(
    "other",
    [
        "import partial\nfrom pkg import autocast\npartial(autocast, enabled=False)\n",
        "from pkg import get\nwith get('a').autocast(enabled=False):\n    pass\n",
        "class A:\n    def f(self, backend):\n        return backend.autocast(enabled=False)\n",
        "import a\ngetattr(a, kind)(enabled=False)\n",
    ],
)
def test_an_import_that_a_file_may_reach_otherwise_stays(tmp_path: Path, other: str) -> None:
    assert "from torch.cuda.amp import" in fixed(tmp_path, IMPORTS + USE, b=other)


def test_an_import_that_a_script_without_an_ending_takes_stays(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "go").write_text("#!/usr/bin/env python3\nfrom torch import nn\n")
    assert "from torch.amp import" in fixed(tmp_path, IMPORTS + USE)

    (tmp_path / "bin" / "go").write_text("#!/usr/bin/env python3\nfrom a import autocast\n")
    assert "from torch.cuda.amp import" in fixed(tmp_path, IMPORTS + USE)


@pytest.mark.parametrize(
    "other",
    [
        "from torch.cuda.amp import autocast\nwith autocast():\n    pass\n",
        "from a import f\nfrom torch.cuda import amp\nwith amp.autocast():\n    pass\n",
        "accelerator = Accelerator()\nwith accelerator.autocast():\n    pass\n",
        "def f(args):\n    return args.autocast\n",
        '"""It is run under `autocast()`."""\n',
        '"""\n>>> f(1)\n2\n"""\n',
        "model.eval()\nx.modules()\n",
        "vars(options)\ndir(options)\n",
        "importlib.import_module('a')\n",
    ],
)
def test_an_import_that_no_text_uses_is_changed(tmp_path: Path, other: str) -> None:
    assert "from torch.amp import GradScaler, autocast\n" in fixed(tmp_path, IMPORTS + other + USE)
    assert "from torch.amp import GradScaler, autocast\n" in fixed(tmp_path, IMPORTS + USE, b=other)


@pytest.mark.parametrize(
    "other",
    [
        "isinstance(x, GradScaler)\n",
        "isinstance(x, (Scaler, torch.cuda.amp.GradScaler))\n",
        "issubclass(kind, (GradScaler, type(None)))\n",
        "type(x) is GradScaler\n",
        "x.__class__ == GradScaler\n",
        "found = type(x.y(1)) in (GradScaler, Other)\n",
        "match x:\n    case torch.cuda.amp.GradScaler():\n        pass\n",
        "KINDS = (GradScaler, Optimizer)\n",
        "SAVERS = {GradScaler: save}\n",
        "@save.register(GradScaler)\ndef _(x): pass\n",
        "@beartype\ndef f(x: GradScaler): pass\n",
        "@show.register\ndef _(x: GradScaler): pass\n",
        "from pydantic import BaseModel\nclass A(BaseModel):\n    scaler: 'Optional[GradScaler]'\n",
    ],
)
def test_an_object_whose_class_is_asked_for_stays(tmp_path: Path, other: str) -> None:
    assert USE.replace("autocast()", 'torch.amp.autocast("cuda", dtype=torch.float16)') in fixed(
        tmp_path, IMPORTS + USE, b=f"import torch\nfrom torch.cuda.amp import GradScaler\n{other}"
    )


@pytest.mark.parametrize(
    "other",
    [
        "isinstance(x, Optimizer)\n",
        "def f(x: GradScaler) -> Tuple[Optimizer, GradScaler]: pass\n",
        "class Own(GradScaler): pass\n",
        "scalers = (GradScaler(), torch.cuda.amp.GradScaler())\n",
        "from pydantic import BaseModel\nclass A(BaseModel):\n    scale: float\n",
        "def f(x: 'GradScaler'): pass\n",
        "@MODELS.register()\ndef f(x: GradScaler): pass\n",
        "kind = torch.cuda.amp.GradScaler\n",
    ],
)
def test_an_object_whose_class_nobody_asks_for_is_made_anew(tmp_path: Path, other: str) -> None:
    assert 'kept = GradScaler("cuda")' in fixed(
        tmp_path, IMPORTS + USE, b=f"import torch\nfrom torch.cuda.amp import GradScaler\n{other}"
    )


@pytest.mark.parametrize(
    "other",
    [
        "from torch.cuda.amp import GradScaler as Scaler\nisinstance(x, Scaler)\n",
        "from torch.cuda.amp.grad_scaler import GradScaler as Scaler\nkinds.append(Scaler)\n",
        "from torch.cuda import amp\nSAVERS[amp.GradScaler] = save\n",
        "import torch.cuda.amp as mixed\nshow(mixed.GradScaler)\n",
        "def f(x, kind):\n    return isinstance(x, kind)\nf(x, kind=torch.cuda.amp.GradScaler)\n",
        "from torch.cuda.amp import *\nkinds.append(GradScaler)\n",
        "Scaler = torch.cuda.amp.GradScaler\ndef f(x):\n    return isinstance(x, Scaler)\n",
        "Scaler = torch.cuda.amp.GradScaler if on else None\nOther = Scaler\nkinds.append(Other)\n",
        "def f(x):\n    kind = torch.cuda.amp.GradScaler\n    return isinstance(x, kind)\n",
        "class A:\n    kind = torch.cuda.amp.GradScaler\n    def f(self, x):\n        return isinstance(x, self.kind)\n",
        "class A:\n    def __init__(self):\n        self.kind = torch.cuda.amp.GradScaler\n        show(self.kind)\n",
        "def f():\n    global kind\n    kind = torch.cuda.amp.GradScaler\ndef g(x):\n    return isinstance(x, kind)\n",
        "SAVERS[torch.cuda.amp.GradScaler] = save\n",
        "KINDS = {'scaler': torch.cuda.amp.GradScaler}\n",
        "torch.cuda.amp.GradScaler.step = stepped\n",
        "def f(x, *, kind=torch.cuda.amp.GradScaler):\n    return isinstance(x, kind)\n",
    ],
)
def test_an_object_whose_class_is_asked_for_by_another_name_stays(tmp_path: Path, other: str) -> None:
    assert "    kept = GradScaler()\n" in fixed(tmp_path, IMPORTS + USE, b=f"import torch\n{other}")


@pytest.mark.parametrize(
    "other",
    [
        "from torch.cuda.amp import GradScaler as Scaler\nscaler = Scaler(enabled=False)\n",
        "from torch.cuda.amp import GradScaler as Scaler\ndef f(x: Scaler) -> Scaler: pass\n",
        "from torch.amp import GradScaler as Scaler\nkinds.append(Scaler)\n",
        "train(model, torch.cuda.amp.GradScaler(enabled=on))\n",
        "made = partial(torch.cuda.amp.GradScaler, enabled=on)\n",
        "made = (torch.cuda.amp.GradScaler if on else Idle)()\n",
        "Scaler = torch.cuda.amp.GradScaler if on else None\nif Scaler is not None:\n    scaler = Scaler()\n",
        "Scaler = torch.cuda.amp.GradScaler\nif on and Scaler:\n    scaler = Scaler()\n",
        "def f():\n    kind = torch.cuda.amp.GradScaler\n    return kind()\ndef g(x, kind):\n    return isinstance(x, kind)\n",
        "class A:\n    def __init__(self):\n        self.amp = torch.cuda.amp.GradScaler\n        self.scaler = self.amp()\n",
        "if args.GradScaler:\n    show(args.GradScaler)\n",
        "def f(make=None):\n    return make()\nScaler = torch.cuda.amp.GradScaler\nf(make=Scaler)\n",
        "def f():\n    return torch.cuda.amp.GradScaler if on else Idle\n",
        "class A:\n    def __init__(self, x, make=torch.cuda.amp.GradScaler):\n        self.make = make\n        self.made = self.make()\n",
        "from torch.cuda.amp import GradScaler as Scaler\nprint(Scaler.__name__)\n",
    ],
)
def test_an_object_whose_class_is_only_called_by_another_name_is_made_anew(tmp_path: Path, other: str) -> None:
    assert 'kept = GradScaler("cuda")' in fixed(tmp_path, IMPORTS + USE, b=f"import torch\n{other}")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("from torch.cuda.amp import GradScaler as Scaler\n", "from b import Scaler\nisinstance(x, Scaler)\n"),
        ("from torch.cuda.amp import GradScaler\n", "from .b import GradScaler as Scaler\nisinstance(x, Scaler)\n"),
        ("Scaler = torch.cuda.amp.GradScaler\n", "import b\nisinstance(x, b.Scaler)\n"),
    ],
)
def test_an_object_whose_class_is_asked_for_by_the_name_of_another_file_stays(
    tmp_path: Path, first: str, second: str
) -> None:
    assert "    kept = GradScaler()\n" in fixed(tmp_path, IMPORTS + USE, b=f"import torch\n{first}", c=second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("from torch.cuda.amp import GradScaler as Scaler\n", "from b import Scaler\nscaler = Scaler()\n"),
        ("from torch.cuda.amp import GradScaler as Scaler\n", "from torch.own import Scaler\nisinstance(x, Scaler)\n"),
        ("def f():\n    kind = torch.cuda.amp.GradScaler\n    kind()\n", "from d import kind\nisinstance(x, kind)\n"),
    ],
)
def test_an_object_whose_class_another_file_only_calls_is_made_anew(tmp_path: Path, first: str, second: str) -> None:
    assert 'kept = GradScaler("cuda")' in fixed(tmp_path, IMPORTS + USE, b=f"import torch\n{first}", c=second)
