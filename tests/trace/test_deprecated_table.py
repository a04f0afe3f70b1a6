"""The table of deprecated and removed names against the torch that is there."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from torchlint.facts.deprecated_table import DEPRECATED, REMOVED, Entry

torch = pytest.importorskip("torch")

SCRIPT = Path(__file__).parents[2] / "scripts" / "deprecated_table.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("deprecated_table_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_installed_torch_agrees_with_the_table(script: ModuleType) -> None:
    assert [] == script.problems()


def test_no_name_is_both_deprecated_and_removed() -> None:
    assert set() == DEPRECATED.keys() & REMOVED.keys()


@pytest.mark.parametrize(
    ("name", "entry", "said"),
    [
        ("torch.no_such_name", Entry((1, 0), "x", warning="UserWarning"), ["torch.no_such_name is gone"]),
        ("torch.relu", Entry((1, 0), "x", warning="UserWarning"), ["torch.relu warns of nothing, not UserWarning"]),
        (
            "torch.nn.init.uniform",
            Entry((1, 0), "x", warning="FutureWarning", rename="torch.nn.init.nothing_"),
            ["torch.nn.init.uniform would become torch.nn.init.nothing_, which is not there"],
        ),
        ("torch.nn.init.uniform", Entry((99, 0), "x", warning="UserWarning"), []),
    ],
)
def test_a_wrong_deprecation_is_told(script: ModuleType, name: str, entry: Entry, said: list[str]) -> None:
    assert said == list(script.problems_of_deprecated(name, entry))


@pytest.mark.parametrize(
    ("name", "entry", "said"),
    [
        ("torch.relu", Entry((1, 0), "x", (2, 0)), ["torch.relu is still there"]),
        ("torch.no_such_name", Entry((1, 0), "x", (99, 0)), ["torch.no_such_name is gone before (99, 0)"]),
        ("torch.no_such_name", Entry((1, 0), "x", (2, 0)), []),
        ("torch.solve", Entry((1, 0), "x", (2, 0)), []),
    ],
)
def test_a_wrong_removal_is_told(script: ModuleType, name: str, entry: Entry, said: list[str]) -> None:
    assert said == list(script.problems_of_removed(name, entry))
