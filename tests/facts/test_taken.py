"""Which names a file may have from another one, which need not import it by its name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from torchlint.facts.taken import may_be_taken
from torchlint.text.source import Source


def is_taken(main: str, path: str = "ops.py", **packages: str) -> bool:
    """Whether a file may have `vmap` from one, given what a script has and the packages around it."""
    files = {"main.py": main, **{f"{name}/__init__.py": code for name, code in packages.items()}}
    sources = [Source.of(name, code.encode()) for name, code in files.items()]

    def others(word: bytes) -> Iterator[Source]:
        return (source for source in sources if word in source.data)

    return may_be_taken(path, "vmap", others)


@pytest.mark.parametrize(
    "code",
    [
        "from ops import vmap\n",
        "from utils import vmap as map_rows\n",
        "from .ops import (\n    rows,\n    vmap,\n)\n",
        "import ops\nops.vmap(f)\n",
        "import ops\npartial(ops\n    .vmap, f)\n",
        "get('torch').vmap(f)\n",
        "backend = get('torch')\nbackend.vmap(f)\n",
        "def solve(x, backend=ops):\n    backend.vmap(f)\n",
        "class A:\n    backend = ops\n    def f(self):\n        self.backend.vmap(f)\n",
        "inspect.getmodule(step).vmap(f)\n",
        "sys.modules[Trainer.__module__].vmap(f)\n",
        "import importlib\nimportlib.import_module('ops').vmap(f)\n",
        "import config\nconfig.vmap(f)\n",
        "getattr(ops, 'vmap')\n",
        "runpy.run_path('ops.py')['vmap']\n",
        "mock.patch('ops.vmap', f)\n",
        "mock.patch(f'{TARGET}.vmap', f)\n",
        "subprocess.run([sys.executable, '-c', 'from ops import vmap; vmap(f)'])\n",
        "from pkg.ops import *\nvmap(f)\n",
        "from . import *\nvmap(f)\n",
        "from utils import *\nprint(other.vmap)\n",
        "from torch import vmap\nfrom ops import *\npartial(vmap, f)\n",
        "def f(:\n    backend.vmap\n",
    ],
)
def test_a_name_that_a_file_may_have_from_another_one(code: str) -> None:
    assert is_taken(code)


@pytest.mark.parametrize(
    "code",
    [
        "from functorch import vmap\nvmap(f)\n",
        "from torch import vmap\nTABLE = {rows: vmap}\n",
        "import torch\ntorch.vmap(f)\ntorch.func.vmap(f)\n",
        "import torch.func as F\nF.vmap(f)\n",
        "from ops import *\nfrom torch import vmap\nvmap(f)\n",
        "from torch import vmap\nfrom utils import *\nvmap(f)\n",
        "def vmap(f): ...\nvmap(f)\n",
        "class A:\n    def f(self):\n        self.vmap = self.vmap or 1\n",
        "batcher = Batcher()\nbatcher.vmap(f)\nBatcher().vmap(f)\nsuper().vmap(f)\n",
        "class A:\n    def __init__(self):\n        self.batcher = Batcher()\n        self.batcher.vmap(f)\n",
        "def main(args):\n    if args.vmap or args.amp.vmap.dtype or self.args.vmap: ...\n",
        '"""Uses `vmap`; from ops import vmap."""\n# ops.vmap(f)\n',
        "def f(x: 'vmap') -> 'vmap': ...\n",
        "print('it does the same as vmap')\n",
    ],
)
def test_a_name_that_a_file_has_by_itself_or_from_torch(code: str) -> None:
    assert not is_taken(code)


@pytest.mark.parametrize(
    "code",
    [
        "import ops\ngetattr(ops, name)(x)\n",
        "from pkg import ops\ngetattr(ops, args.name)(x)\n",
        "import pkg.ops as kinds\ngetattr(kinds, f'{name}_rows')(x)\n",
        "import pkg.ops\npkg.ops.__dict__[name](x)\n",
        "import ops\nchoices = [name for name in ops.__dict__ if callable(ops.__dict__[name])]\n",
        "import ops\nvars(ops)[name]\n",
        "from inspect import getmembers\nimport ops\ngetmembers(ops, callable)\n",
        "from importlib import import_module\nkinds = import_module('pkg.ops')\ngetattr(kinds, name)\n",
    ],
)
def test_names_that_a_file_finds_as_it_runs(code: str) -> None:
    assert is_taken(code)
    assert not is_taken(code, "other.py")


@pytest.mark.parametrize(
    "code",
    [
        "import ops\ngetattr(ops, 'rows')(x)\nvars(args)\n",
        "import ops\ngetattr(self.ops, name)\n",
        "from torchvision import ops\ngetattr(ops, name)\n",
        "import torchvision.ops as ops\nvars(ops)\n",
    ],
)
def test_names_that_a_file_finds_elsewhere(code: str) -> None:
    assert not is_taken(code)


def test_names_that_a_file_finds_in_a_package_that_hands_on_all() -> None:
    main = "import kinds\ngetattr(kinds, name)(x)\n"

    assert is_taken(main, kinds="from .ops import *\n")
    assert is_taken(main, kinds="from .more import *\n", more="from ..ops import *\n")
    assert not is_taken(main, kinds="from .ops import rows\n")


def test_a_name_that_a_file_has_from_a_package_that_hands_on_all() -> None:
    main = "from kinds import *\nvmap(f)\n"

    assert is_taken(main, kinds="from .ops import *\n")
    assert not is_taken(main, kinds="from .ops import rows\n")


def test_scripts_that_are_no_modules() -> None:
    def taken(data: bytes, path: str) -> bool:
        source = Source.of(path, data)
        return may_be_taken("ops.py", "vmap", lambda word: [source] if word in data else [])

    assert taken(b"#!/usr/bin/env python3\nfrom ops import vmap\n", "bin/go")
    assert taken(b'check:\n\tpython -c "from ops import rows, vmap; vmap(rows)"\n', "Makefile")
    assert not taken(b"#!/usr/bin/env python3\nfrom torch import vmap\n", "bin/go")
    assert not taken(b'check:\n\tpython -c "from torch import vmap"\n', "Makefile")
    assert not taken(b"An import of vmap is needed.\n", "NOTES")
