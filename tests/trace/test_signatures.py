"""Where rules look for an argument among those passed by position, against the signatures of the torch that is there."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

torch = pytest.importorskip("torch")

from torchlint.facts import amp, layers
from torchlint.facts.deprecated_table import REQUIRED
from torchlint.facts.distributions import validated_at
from torchlint.rule import Rule, load

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
ROOT = Path(__file__).parents[2]


def found(name: str) -> Any:
    """What a dotted name of torch stands for, None where this torch or this machine does not have it."""
    value: Any = torch
    for index, part in enumerate(name.split(".")[1:], 2):
        try:
            value = getattr(value, part, None) or importlib.import_module(".".join(name.split(".")[:index]))
        except ImportError:
            return None
    return value


def orders(name: str) -> list[list[str]]:
    """The names of the positional parameters of a callable, or of a method of tensors such as `.to`: one list an overload."""
    method = name.startswith(".")
    value = getattr(torch.Tensor, name[1:], None) or getattr(torch.nn.Module, name[1:], None) if method else found(name)
    try:
        signature = inspect.signature(value) if value is not None else None
    except (TypeError, ValueError):
        signature = None
    if signature is not None:
        lists = [
            [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        ]
    else:
        last = name.rpartition(".")[2]
        spelled = f"linalg_{last}" if name.startswith("torch.linalg.") else last
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{spelled}")
        lists = [[argument.name for argument in schema.arguments if not argument.kwarg_only] for schema in schemas]
    return [names[1:] if method else names for names in lists]


def asked(path: Path) -> Iterator[tuple[str, int]]:
    """The calls of a file that pass a keyword's name and its position: `site.argument("bias", 2)`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            last = [argument.value for argument in node.args[-2:] if isinstance(argument, ast.Constant)]
            if len(last) == 2 and isinstance(last[0], str) and type(last[1]) is int and last[1] >= 0:
                yield last[0], last[1]


def places() -> Iterator[ParameterSet]:
    for rule in load().values():
        module = rule.name.replace("-", "_")
        for path in (ROOT / "rules" / f"{module}.py", ROOT / "fixers" / f"{module}.py"):
            if path.is_file():
                for keyword, position in sorted(set(asked(path))):
                    yield pytest.param(rule, keyword, position, id=f"{path.parent.name}-{rule.code}-{keyword}")


@pytest.mark.parametrize(("rule", "keyword", "position"), list(places()))
def test_an_argument_stands_where_the_rule_looks(rule: Rule, keyword: str, position: int) -> None:
    names = sorted(name.removesuffix("()") for name in rule.on if name.startswith(("torch.", ".")))
    taking = {name: [order for order in orders(name) if keyword in order] for name in names}

    assert {} == {
        name: [order.index(keyword) for order in found]
        for name, found in taking.items()
        if found and not any(order.index(keyword) == position for order in found)
    }


@pytest.mark.parametrize(("name", "position"), list(layers.BIAS.items()))
def test_bias_stands_where_the_table_says(name: str, position: int) -> None:
    assert position == orders(name)[0].index("bias")


@pytest.mark.parametrize("name", sorted(torch.distributions.__all__))
def test_a_distribution_is_told_to_validate_where_the_table_says(name: str) -> None:
    order = orders(f"torch.distributions.{name}")
    if f"torch.distributions.{name}()" in load()["TL110"].on:
        assert validated_at(name) == order[0].index("validate_args")


@pytest.mark.parametrize("name", [name for name, missing in REQUIRED.items() if missing.position >= 0])
def test_what_must_be_given_stands_where_the_table_says(name: str) -> None:
    assert REQUIRED[name].position in {order.index(REQUIRED[name].keyword) for order in orders(name)}


def test_autocast_takes_its_arguments_in_another_order_than_before() -> None:
    assert list(amp.AUTOCAST_ORDER) == orders("torch.cuda.amp.autocast")[0]
    assert ["device_type", "dtype", "enabled", "cache_enabled"] == orders("torch.amp.autocast")[0]


def test_a_loader_takes_workers_and_pinning_where_the_values_say() -> None:
    order = orders("torch.utils.data.DataLoader")[0]

    assert {"batch_size": 1, "shuffle": 2, "num_workers": 5, "pin_memory": 7} == {
        name: order.index(name) for name in ("batch_size", "shuffle", "num_workers", "pin_memory")
    }
