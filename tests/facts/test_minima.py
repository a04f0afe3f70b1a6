"""Which torch a module can be imported under."""

from __future__ import annotations

import ast

import pytest

from torchlint.facts.minima import demanded


@pytest.mark.parametrize(
    "code",
    [
        "",
        "def f():\n    assert torch.__version__ >= '2.4'",
        "try:\n    assert torch.__version__ >= '2.4'\nexcept AssertionError:\n    pass",
        "if torch.__version__ < '2.4':\n    warnings.warn('old')",
        "if torch.__version__ < '2.4':\n    raise_later = True",
        "if torch.__version__ < '2.4' and windows:\n    raise ImportError",
        "if windows:\n    assert torch.__version__ >= '2.4'",
        "assert torchvision.__version__ >= '0.4'",
        "assert torch.__version__ >= minimum",
        "minimum = '2.4'\nminimum = read()\nassert torch.__version__ >= minimum",
        "for minimum in ('2.4',):\n    pass\nassert torch.__version__ >= minimum",
        "a = b\nb = a\nassert a >= '2.4'",
        "assert int(torch.__version__.split('.')[1]) >= 4",
        "assert sys.version_info >= (3, 8)",
        "assert version('numpy') >= '2.4'",
        "assert torch.__version__ >= '2.4'\nassert torch.__version__ < '2.0'",
    ],
)
def test_most_modules_run_under_every_torch(code: str) -> None:
    assert str(demanded(ast.parse(code))) == ""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("assert torch.__version__ >= '2.4', 'too old'", ">=2.4"),
        ("assert version.parse(torch.__version__) >= version.parse('2.4.1')", ">=2.4"),
        ("assert tuple(map(int, torch.__version__.split('.')[:2])) >= (2, 4)", ">=2.4"),
        ("assert torch.__version__ >= '2.4' and torch.cuda.is_available()", ">=2.4"),
        ("assert not torch.__version__ < '2.4'", ">=2.4"),
        ("assert int(torch.__version__.split('.')[0]) >= 2", ">=2.0"),
        ("assert Version(torch.__version__).major >= 2", ">=2.0"),
        ("assert torch.__version__ >= '1.10'\nassert torch.__version__ < '2.4'", ">=1.10,<2.4"),
        ("if TORCH_VERSION < (1, 10):\n    raise ImportError('old')", ">=1.10"),
        ("if torch.__version__ < '2.4':\n    print('old')\n    sys.exit(1)", ">=2.4"),
        ("if torch.__version__ < '2.4' or windows:\n    raise ImportError", ">=2.4"),
        ("if torch.__version__ >= '2.4':\n    new = True\nelse:\n    raise ImportError", ">=2.4"),
        ("if not is_torch_version('>=', '2.4'):\n    raise ImportError", ">=2.4"),
        ("if Version(importlib.metadata.version('torch')) < Version('2.4'):\n    raise ImportError", ">=2.4"),
        ("assert pkg_resources.get_distribution('torch').parsed_version >= parse('2.4')", ">=2.4"),
        ("torch_ver = [int(x) for x in torch.__version__.split('.')[:2]]\nassert torch_ver >= [1, 8], 'old'", ">=1.8"),
        (
            "MINIMUM: str = '2.4'\nREQUIRED = parse(MINIMUM)\nif parse(torch.__version__) < REQUIRED:\n    raise E",
            ">=2.4",
        ),
        ("OLD = torch.__version__ < '2.4'\nif OLD:\n    raise ImportError", ">=2.4"),
    ],
)
def test_what_refuses_to_be_imported_asks_for_more(code: str, expected: str) -> None:
    assert expected == str(demanded(ast.parse(code)))
