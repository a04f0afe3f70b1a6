"""Which versions of torch a branch is for, and what belongs to a compatibility shim."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import versions
from torchlint.facts.module import Function
from torchlint.torch_api.version import Range

Last = Callable[[str], tuple[Function, ast.expr]]
TARGET = Range.parse(">=1.13")


@pytest.fixture
def reached(last_in: Last) -> Callable[[str], str]:
    """The versions under which the last expression is reached, of those from 1.13 on."""

    def ask(code: str) -> str:
        function, node = last_in(code)
        return str(versions.narrowed(TARGET, function.flow, node))

    return ask


@pytest.mark.parametrize(
    "code",
    [
        "here",
        "if use_amp:\n    here",
        "if torchvision.__version__ >= '2.4':\n    here",
        "if version >= '2.4':\n    here",
        "if torch.__version__ != '2.4':\n    here",
        "if torch.__version__ == x:\n    here",
        "if torch.__version__ in allowed:\n    here",
        "if '2.0' <= x <= '2.4':\n    here",
        "if '2.0' != torch.__version__ != '2.4':\n    here",
        "if not '2.0' <= torch.__version__ <= '2.4':\n    here",
        "if torch.__version__ >= '2.4' or use_amp:\n    here",
        "if not (torch.__version__ >= '2.4' and use_amp):\n    here",
        "if torch.__version__ >= minimum:\n    here",
        "if is_torch_version(operator, '2.4'):\n    here",
        "if is_torch_version('~=', '2.4'):\n    here",
        "if is_torch_version('>=', 'latest'):\n    here",
        "if torch.__version__.startswith('1.1'):\n    here",
        "if torch.__version__.startswith(wanted):\n    here",
        "if other.__version__.startswith('2'):\n    here",
        "if is_torch_greater_or_equal(minimum):\n    here",
        "if torch_at_least:\n    here",
        "if hasattr(torch, 'compile'):\n    here",
        "if get()() >= '2.4':\n    version",
        "from models import __version__\nif __version__ >= '2.4':\n    here",
        "version = torchvision.__version__\nif version >= '2.4':\n    here",
        "version = torch.__version__\nversion = other\nif version >= '2.4':\n    here",
        "def f(version):\n    if version >= '2.4':\n        here\nversion = torch.__version__",
        "version = version or torch.__version__\nversion = version\nif version >= '2.4':\n    here",
    ],
)
def test_branches_for_every_version(reached: Callable[[str], str], code: str) -> None:
    assert str(TARGET) == reached(code)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("torch.__version__ >= '2.4'", ">=2.4"),
        ("torch.__version__ < '2.4'", ">=1.13,<2.4"),
        ("torch.__version__ <= '2.4'", ">=1.13,<2.5"),
        ("torch.__version__ > '2.4'", ">=2.4"),
        ("'2.0' <= torch.__version__ <= '2.4'", ">=2.0,<2.5"),
        ("digit_version('2.0') <= digit_version(TORCH_VERSION) < digit_version('2.4')", ">=2.0,<2.4"),
        ("'2.4' <= torch.__version__ != '2.5'", ">=2.4"),
        ("torch.__version__ == '2.4'", ">=2.4,<2.5"),
        ("not torch.__version__ < '2.4'", ">=2.4"),
        ("'2.4' <= torch.__version__", ">=2.4"),
        ("'2.4' > torch.__version__", ">=1.13,<2.4"),
        ("torch.__version__ >= '2.4.1+cu121'", ">=2.4"),
        ("torch.__version__.split('.')[0] == '2'", ">=2.0,<3.0"),
        ("torch.__version__[0] == '1'", ">=1.13,<2.0"),
        ("torch.__version__[0] <= '1'", ">=1.13,<2.0"),
        ("int(torch.__version__.split('.')[0]) == 1", ">=1.13,<2.0"),
        ("int(torch.__version__.split('.')[0]) > 1", ">=2.0"),
        ("not int(torch.__version__.split('.')[0]) < 2", ">=2.0"),
        ("Version(torch.__version__).major <= 1", ">=1.13,<2.0"),
        ("2 <= Version(torch.__version__).major", ">=2.0"),
        ("torch.__version__.split('+')[0] > '2'", ">=2.0"),
        ("torch.__version__.split('+')[0] == '2.4.0'", ">=2.4,<2.5"),
        ("version.parse(torch.__version__) >= version.parse('2.4')", ">=2.4"),
        ("Version(torch.__version__).release >= (2, 4)", ">=2.4"),
        ("TORCH_VERSION >= (2, 4, 0)", ">=2.4"),
        ("torch_version >= '2.4'", ">=2.4"),
        ("use_amp and torch.__version__ >= '2.4'", ">=2.4"),
        ("not (torch.__version__ < '2.4' or use_amp)", ">=2.4"),
        ("torch.__version__.startswith('2')", ">=2.0,<3.0"),
        ("not torch.__version__.startswith('2.')", ">=1.13,<2.0"),
        ("torch.__version__.startswith('1.')", ">=1.13,<2.0"),
        ("not torch.__version__.startswith('1')", ">=2.0"),
        ("is_torch_version('>=', '2.4')", ">=2.4"),
        ("not is_torch_version('>=', '2.4')", ">=1.13,<2.4"),
        ("is_torch_greater_or_equal('2.5')", ">=2.5"),
        ("is_torch_greater_or_equal_than_2_5", ">=2.5"),
        ("utils.is_torch_ge_2_5", ">=2.5"),
        ("TORCH_GE_2_5", ">=2.5"),
        ("not TORCH_VERSION_AT_LEAST_2_5", ">=1.13,<2.5"),
    ],
)
def test_branches_for_some_versions(reached: Callable[[str], str], condition: str, expected: str) -> None:
    assert expected == reached(f"if {condition}:\n    here")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("if torch.__version__ < '2.4':\n    old()\nelse:\n    here", ">=2.4"),
        ("def f():\n    if torch.__version__ < '2.4':\n        return\n    here", ">=2.4"),
        ("if torch.__version__ >= '2.0':\n    if torch.__version__ < '2.4':\n        here", ">=2.0,<2.4"),
        ("torch_version = installed()\nif torch_version >= '2.4':\n    here", ">=2.4"),
        ("version = torch.__version__\nif version >= '2.4':\n    here", ">=2.4"),
        ("from torch import __version__\nif __version__ >= '2.4':\n    here", ">=2.4"),
        ("from torch import nn, __version__ as installed\nif installed < '2.4':\n    here", ">=1.13,<2.4"),
        ("from torch import __version__ as installed\nif installed < '2.4':\n    here", ">=1.13,<2.4"),
        ("version = parse(torch.__version__)\nif version >= (2, 0) and version < (2, 4):\n    here", ">=2.0,<2.4"),
        ("v = torch.__version__\nnew = v >= '2.4'\ndef f():\n    if not new:\n        here", ">=1.13,<2.4"),
        ("if torch.__version__ >= '2.0' and use_amp and torch.__version__ < '2.4':\n    here", ">=2.0,<2.4"),
        ("if torch.__version__ < '1.10':\n    here", "None"),
        ("if torch.__version__ < '1.10':\n    if torch.__version__ >= '2.0':\n        here", "None"),
    ],
)
def test_several_conditions(reached: Callable[[str], str], code: str, expected: str) -> None:
    assert expected == reached(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("here", False),
        ("if hasattr(model, 'compile'):\n    here", False),
        ("if hasattr(torch(), 'compile'):\n    here", False),
        ("from models import nn\nif hasattr(nn, 'RMSNorm'):\n    here", False),
        ("from torch import nn\nif hasattr(nn, 'RMSNorm'):\n    here", True),
        ("from torch import Tensor\nif hasattr(Tensor, 'symeig'):\n    here", True),
        ("try:\n    here\nexcept ValueError:\n    pass", False),
        ("try:\n    here\nexcept:\n    pass", False),
        ("try:\n    a()\nexcept ImportError:\n    a()\nelse:\n    here", False),
        ("try:\n    a()\nexcept ImportError:\n    a()\nfinally:\n    here", False),
        ("if hasattr(torch, 'compile'):\n    here", True),
        ("if hasattr(torch.nn, 'RMSNorm'):\n    pass\nelse:\n    here", True),
        ("def f():\n    if not hasattr(torch, 'compile'):\n        return\n    here", True),
        ("try:\n    here\nexcept ImportError:\n    pass", True),
        ("try:\n    a()\nexcept (ImportError, ValueError):\n    here", True),
        ("try:\n    a()\nexcept AttributeError:\n    here", True),
    ],
)
def test_compatibility_shims(last_in: Last, code: str, expected: bool) -> None:
    function, node = last_in(code)

    assert expected == versions.behind_probe(function.flow, node)
