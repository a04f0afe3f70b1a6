"""The table of torch's operators against the torch that is there."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("yaml", reason="torchgen reads torch's schemas with it")
pytest.importorskip("expecttest", reason="torch's own samples need it")

from torchlint.torch_api.operators import operator

pytestmark = pytest.mark.torch
SCRIPTS = Path(__file__).parents[2] / "scripts" / "torch_api"


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield importlib.import_module("table")
    finally:
        sys.path.remove(str(SCRIPTS))


def test_the_table_is_what_torch_says_and_what_is_mended(script: ModuleType) -> None:
    """Of some operators: `python scripts/torch_api --check` asks all of them, and takes over a minute."""
    old = json.loads(script.TABLE.read_text(encoding="utf-8"))
    if torch.__version__.partition("+")[0] != old["torch"]:
        pytest.skip(f"the table is made of torch {old['torch']}")
    program = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import table\n"
        "old = table.by_spelling(json.loads(table.TABLE.read_text(encoding='utf-8')))\n"
        "some = sorted(old)[::60]\n"
        "new = table.plain_rows(some)\n"
        "print(len(some), [(name, old[name], new.get(name)) for name in some if old[name] != new.get(name)])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(SCRIPTS)], capture_output=True, text=True, check=False)

    count, _, different = ran.stdout.partition(" ")
    assert different == "[]\n", ran.stdout + ran.stderr
    assert int(count) > 20


def test_the_names_that_rules_are_shown_fit_the_table(script: ModuleType) -> None:
    table = json.loads(script.TABLE.read_text(encoding="utf-8"))

    assert script.NAMES.read_text(encoding="utf-8") == script.names(table)


def test_what_is_mended_has_a_reason_and_is_of_torch(script: ModuleType) -> None:
    names = {name for entry in script.entries() for name in entry["names"].split()}

    assert [] == [entry["names"] for entry in script.entries() if len(entry["reason"]) < 10]
    assert [] == [name for name in names if script.found_at(name) is None]


def test_what_is_mended_says_more_than_torch_declares(script: ModuleType) -> None:
    """An entry that torch declares by now can go."""
    said = script.declared.rows()

    assert [] == [
        name
        for name, facts in script.mended().items()
        if name in said and all(said[name].get(key) == value for key, value in facts.items())
    ]


X = torch.arange(16.0).reshape(4, 4) + torch.eye(4) * 9
IMAGE = torch.ones(1, 1, 6, 6)


def kind(value: Any) -> str:
    """What a value is, in the table's words."""
    if isinstance(value, torch.Tensor):
        return "tensor"
    if isinstance(value, (tuple, list)) and value and all(isinstance(one, torch.Tensor) for one in value):
        return f"{len(value)} tensors"
    return {torch.Size: "size", torch.dtype: "dtype", type(None): "none"}.get(type(value), type(value).__name__)


@pytest.mark.parametrize(
    ("name", "arguments", "keywords"),
    [
        ("torch.unique", (X,), {}),
        ("torch.unique", (X,), {"return_counts": True}),
        ("torch.unique", (X,), {"return_counts": True, "return_inverse": True}),
        ("torch.unique_consecutive", (X,), {"return_inverse": True}),
        ("torch.nonzero", (X,), {}),
        ("torch.max", (X,), {}),
        ("torch.max", (X, X), {}),
        ("torch.max", (X, 1), {}),
        ("torch.where", (X > 0, X, X), {}),
        ("torch.lu", (X,), {}),
        ("torch.lu", (X,), {"get_infos": True}),
        ("torch.nn.functional.max_pool2d", (IMAGE, 2), {}),
        ("torch.nn.functional.max_pool2d", (IMAGE, 2), {"return_indices": True}),
        ("torch.nn.functional.adaptive_max_pool2d", (IMAGE, 2, True), {}),
        ("torch.linalg.lstsq", (X, X), {}),
        ("torch.linalg.svd", (X,), {}),
        ("torch.svd_lowrank", (X,), {}),
        ("torch.lobpcg", (X @ X.T,), {"k": 1}),
        ("torch.linalg.inv_ex", (X,), {}),
        ("torch.Tensor.size", (X,), {}),
        ("torch.Tensor.size", (X, 1), {}),
        ("torch.Tensor.type", (X,), {}),
        ("torch.Tensor.type", (X, torch.float64), {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_calls_give_what_the_table_says(name: str, arguments: Any, keywords: dict[str, Any]) -> None:
    from torchlint.facts.arguments import Arguments
    from torchlint.facts.operator_results import result_of
    from torchlint.facts.values import TENSOR, constant

    row = operator(name)
    assert row is not None
    given = [TENSOR if isinstance(one, torch.Tensor) else constant(one) or TENSOR for one in arguments]
    result = result_of(row, Arguments(given, {key: constant(value) for key, value in keywords.items()}))
    assert result is not None

    called: Any = torch
    for part in name.split(".")[1:]:
        called = getattr(called, part)
    said = (
        f"{len(result.items)} tensors"
        if result.kind == "tuple"
        else {"int64": "tensor", "extent": "int"}.get(result.kind, result.kind)
    )
    assert said == kind(called(*arguments, **keywords))
