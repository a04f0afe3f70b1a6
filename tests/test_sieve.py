"""The sieve leaves out no place that a rule asks for: with it and without it the findings are the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint.lint.run import lint
from torchlint.lint.sieve import Sieve
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.text.finding import Finding

Told = list[tuple[str, int, str]]
Both = Callable[[dict[str, str]], tuple[list[Finding], list[Finding]]]
ROOT = Path(__file__).parents[1]
CODES = frozenset(load())


def found(files: dict[str, bytes], sieve: bool) -> list[Finding]:
    result = lint(files, Settings(codes=CODES, fixable=CODES, sieve=sieve))
    assert () == result.errors
    return list(result.findings)


def told(files: dict[str, str], code: str) -> Told:
    """The findings of one rule; the same with and without the sieve."""
    data = {path: text.encode() for path, text in files.items()}
    sifted = found(data, sieve=True)
    assert sifted == found(data, sieve=False)
    return [(finding.path, finding.line, finding.code) for finding in sifted if finding.code == code]


# Ways to write what TL801 looks for


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nnn.DataParallel(model)",
        "import torch\n# nn.DataParallel(model)",
        "import torch\n'nn.DataParallel(model)'",
        "import torch\nfrom other import DataParallel\nDataParallel(model)",
        "from torch import nn\ndef f(nn):\n    nn.DataParallel(model)",
        "import torch\nDistributedDataParallel(model)",
    ],
)
def test_what_only_looks_like_it(code: str) -> None:
    assert [] == told({"a.py": code}, "TL801")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import torch\ntorch.nn.DataParallel(model)", 2),
        ("from torch import nn\nnn.DataParallel(model)", 2),
        ("from torch import nn\n# A sentence about devices.\nnn.DataParallel(model)", 3),
        ("from torch import nn\nx = 1  # of devices.\n\nnn.DataParallel(model)", 4),
        ("import torch.nn as N\nN.DataParallel(model)", 2),
        ("from torch.nn import DataParallel\nDataParallel(model)", 2),
        ("from torch.nn import DataParallel as DP\nDP(model)", 2),
        ("from torch.nn import (\n    Linear,\n    DataParallel as DP,\n)\nDP(model)", 5),
        ("from torch.nn import (  # layers (all)\n    Linear,\n    DataParallel as DP,\n)\nDP(model)", 5),
        ("from torch.nn import (  # layers (all)\n    Linear,\n    DataParallel,\n)\nDataParallel(model)", 5),
        ("from torch.nn import Linear, \\\n    DataParallel\nDataParallel(model)", 3),
        ("from torch.nn import Linear, \\\n    DataParallel as DP\nDP(model)", 3),
        ("import os; from torch.nn import DataParallel\nDataParallel(model)", 2),
        ("import os; import torch.nn as N\nN.DataParallel(model)", 2),
        ("try: import torch.nn as N\nexcept ImportError: N = None\nN.DataParallel(model)", 3),
        ("if True: from torch.nn import DataParallel\nDataParallel(model)", 2),
        ("def f():\n    from torch.nn import DataParallel\n    DataParallel(model)", 3),
        ("def f():\n\timport torch.nn as N\n\tN.DataParallel(model)", 3),
        ("from torch.nn import DataParallel\tas\tDP\nDP(model)", 2),
        ("from torch.nn import DataParallel as \\\n    DP\nDP(model)", 3),
        ("from torch.nn import *\nDataParallel(model)", 2),
        ("from torch.nn.parallel import DataParallel\nDataParallel(model)", 2),
        ("import torch\ntorch.nn.parallel.DataParallel(model)", 2),
        ("import torch\ntorch.nn. DataParallel (model)", 2),
        ("import torch\ntorch.nn.\\\n    DataParallel(model)", 2),
        ("import torch\n(torch\n .nn\n .DataParallel(model))", 2),
        ("import torch\nclass A(torch.nn.DataParallel):\n    pass", 2),
        ("from torch import nn\ndef f(wrap=nn.DataParallel(model)):\n    pass", 2),
        ("from torch import nn\nclass A:\n    wrap = nn.DataParallel(model)", 3),
        ("import torch; torch.nn.DataParallel(model)", 1),
        ("x = 1; import torch.nn as N; N.DataParallel(model)", 1),
        ("from torch import nn\nx = [nn.DataParallel(m) for m in ms]", 2),
        ("from torch import nn\nf(lambda m: nn.DataParallel(m))", 2),
        ("from torch import nn\r\nnn.DataParallel(model)\r\n", 2),
        ("from torch import nn\rnn.DataParallel(model)\r", 2),
        ("import torch as 火\n火.nn.DataParallel(model)", 2),
    ],
)
def test_ways_to_import_and_to_write_a_name(code: str, line: int) -> None:
    assert [("a.py", line, "TL801")] == told({"a.py": code}, "TL801")


@pytest.mark.parametrize(
    "files",
    [
        {
            "a.py": "from layers import DataParallel\nDataParallel(model)",
            "layers.py": "from torch.nn import DataParallel",
        },
        {"a.py": "from layers import Wrap\nWrap(model)", "layers.py": "from torch.nn import DataParallel as Wrap"},
        {"a.py": "import layers\nlayers.Wrap(model)", "layers.py": "from torch.nn import DataParallel as Wrap"},
        {"a.py": "import layers\nlayers.nn.DataParallel(model)", "layers.py": "from torch import nn"},
        {"a.py": "from layers import nn\nnn.DataParallel(model)", "layers.py": "from torch import nn"},
        {"a.py": "from layers import *\nnn.DataParallel(model)", "layers.py": "from torch import nn"},
        {"a.py": "from layers import *\nWrap(model)", "layers.py": "from torch.nn import DataParallel as Wrap"},
        {
            "a.py": "from pkg import Second\nSecond(model)",
            "pkg/__init__.py": "from .one import First as Second",
            "pkg/one.py": "from torch.nn import DataParallel as First",
        },
    ],
)
def test_names_that_the_project_gives_out(files: dict[str, str]) -> None:
    torch = {path: f"{text}\nTORCH = 'torch'" for path, text in files.items()}

    assert [("a.py", 2, "TL801")] == told(torch, "TL801")


# Methods and members


LOOP = "    loss = model(batch.cuda()).sum()\n    loss.backward()\n    optimizer.step()\n"


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("    total += loss.item()", 7),
        ("    total += loss.item ()", 7),
        ("    total += loss.  item()", 7),
        ("    total += (loss\n        .item())", 7),
        ("    total += loss.\\\n        item()", 7),
        ("    total += float(loss)", 7),
        ("    for x in y:\n        total += loss.item()", 8),
    ],
)
def test_ways_to_write_a_method(code: str, line: int) -> None:
    program = f"import torch\ndef train(loader, model, optimizer):\n  for batch in loader:\n{LOOP}{code}\n"

    assert [("a.py", line, "TL101")] == told({"a.py": program}, "TL101")


@pytest.mark.parametrize(
    "code",
    [
        "from torch.distributions import Normal as N\nN(a, b)",
        "from torch import distributions\ndistributions.Normal(a, b)",
        "import torch.distributions as D\nD.Normal(a, b)",
        "import torch\ntorch.distributions.Normal(a, b)",
        "from torch.distributions.normal import Normal\nNormal(a, b)",
    ],
)
def test_members_of_a_module(code: str) -> None:
    lines = code.replace("(a, b)", "(a, b).sample()").splitlines()
    program = "\n".join(
        [lines[0], "def train(loader, model, optimizer, a, b):", "  for batch in loader:", LOOP + f"    {lines[1]}", ""]
    )

    assert [("a.py", 7, "TL110")] == told({"a.py": program}, "TL110")


# Programs


@pytest.mark.parametrize("folder", ["torchlint", "rules", "tests/trace"])
def test_findings_in_the_repository(folder: str) -> None:
    files = {str(path): path.read_bytes() for path in sorted((ROOT / folder).rglob("*.py"))}

    assert found(files, sieve=True) == found(files, sieve=False)


def test_a_comment_full_of_hashes_costs_no_more_than_another() -> None:
    """It once took time exponential in their number."""
    data = b"x = (a.  # " + b"# " * 200 + b"\n    item())\n"
    sieve = Sieve([".item()"], lambda path: frozenset(), {})

    assert [data.index(b"item")] == list(sieve.offsets("x.py", data))


@pytest.mark.parametrize(
    "comments", ["# It is about torch.\n" * 40_000, "# x.item\n" * 40_000, "#" + ".#" * 80_000 + "\n"]
)
def test_pages_of_comments_cost_no_more_than_other_pages(comments: str) -> None:
    """Each dot and each word was once looked behind to the end of all comments."""
    data = comments.encode() + b"x.item()\n"
    sieve = Sieve([".item()"], lambda path: frozenset(), {})

    assert [data.rindex(b"item")] == list(sieve.offsets("x.py", data))
