"""The table of names by version against the torch that is there."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchlint.facts.compiler_table import PUBLIC
from torchlint.facts.deprecated_table import NAMES

pytestmark = pytest.mark.torch
SCRIPT = Path(__file__).parents[2] / "scripts" / "api_table.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("api_table_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_installed_torch_agrees_with_the_table(script: ModuleType) -> None:
    table = json.loads(script.TABLE.read_text(encoding="utf-8"))
    if script.installed() not in table["measured"]:
        pytest.skip(f"torch {script.installed()} was never measured")

    assert [] == list(script.differences(table, script.measure(), script.installed()))


@pytest.mark.parametrize(
    ("key", "state"),
    [
        ("torch.relu", "there"),
        ("torch.no_such_name", "absent"),
        ("torch.no_such_module.name", "absent"),
        ("torch.optim.SGD(lr)", "there"),
        ("torch.optim.SGD(no_such_argument)", "absent"),
        ("torch.linalg.inv_ex(check_errors)", "there"),
        ("torch.nn.Module.zero_grad(set_to_none=)", "= True"),
        ("torch.nn.init.uniform", "FutureWarning"),
        ("torch.symeig", "raises"),
        ("torch.meshgrid(!indexing)", "UserWarning"),
        ("torch.nn.MSELoss(reduce)", "UserWarning"),
    ],
)
def test_what_torch_answers(script: ModuleType, key: str, state: str) -> None:
    assert state == script.state(key)


def test_a_warning_of_something_else_does_not_count(script: ModuleType) -> None:
    def warn() -> None:
        warnings.warn("the seed is 3", UserWarning, stacklevel=1)

    assert "" == script.told(warn)


def test_a_name_is_deprecated_although_its_call_fails(script: ModuleType) -> None:
    def warn() -> None:
        warnings.warn("`f` is deprecated", FutureWarning, stacklevel=1)
        raise RuntimeError("there is no GPU")

    assert "FutureWarning" == script.told(warn)


def merged(script: ModuleType, *answers: tuple[str, dict[str, str]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for version, answer in answers:
        table = script.merged(table, answer, version)
    return table


def test_a_state_is_written_where_it_begins(script: ModuleType) -> None:
    table = merged(script, ("2.4", {"f": "there"}), ("2.13", {"f": "UserWarning"}), ("2.9", {"f": "there"}))

    assert {"measured": ["2.4", "2.9", "2.13"], "names": {"f": {"2.4": "there", "2.13": "UserWarning"}}} == table


def test_a_version_measured_again_replaces_what_it_said(script: ModuleType) -> None:
    table = merged(script, ("2.4", {"f": "there"}), ("2.13", {"f": "there"}), ("2.4", {"f": "absent"}))

    assert {"f": {"2.4": "absent", "2.13": "there"}} == table["names"]


def test_a_name_that_nobody_asks_for_is_dropped(script: ModuleType) -> None:
    table = merged(script, ("2.4", {"f": "there", "g": "there"}), ("2.13", {"f": "there"}))

    assert {"f": {"2.4": "there"}} == table["names"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"f": "there"}, []),
        ({"f": "absent"}, ["f is absent, the table says there"]),
        ({"f": "there", "g": "there"}, ["g is there, the table says unknown"]),
        ({}, ["f is not asked for any more"]),
    ],
)
def test_differences_are_told(script: ModuleType, answer: dict[str, str], said: list[str]) -> None:
    table = {"measured": ["2.4", "2.13"], "names": {"f": {"2.4": "there"}}}

    assert said == list(script.differences(table, answer, "2.13"))


# --- names in rules ----------------------------------------------------------------------------------------------

ROOT = SCRIPT.parents[1]
MENTIONED = re.compile(r"(?<![\w./])(?:torch|functorch)(?:\.\w+)+(?![\w/{*]|\.[{*])")
# Ascend's plugin, which is not part of torch, and the beginning of a name.
FOREIGN = {"torch.npu", "torch.compiler.is_"}


def texts(tree: ast.AST) -> Iterator[str]:
    """The strings of a file; what an f-string fills in is a `{`."""
    parts: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts.update(node.values)
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.value


def mentioned() -> set[str]:
    """The names of torch in the rules, fixers and tables: examples and messages too."""
    files = [path for folder in ("rules", "fixers", "torchlint/facts") for path in (ROOT / folder).glob("*.py")]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    return {name for tree in trees for text in texts(tree) for name in MENTIONED.findall(text)}


def test_every_name_that_a_rule_mentions_is_there_or_listed_as_gone(script: ModuleType) -> None:
    gone = {name for name in mentioned() if script.found(name) is script.MISSING}

    assert gone - FOREIGN <= NAMES.keys() | PUBLIC.keys()
