"""What torchlint believes of torch's own callables, against the torch that is there: its stubs, schemas and answers."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from torchlint.facts import torch_table as table

pytestmark = pytest.mark.torch
STUBS = Path(torch.__file__).parent / "_C"
OTHERS = (numpy.ndarray, torch.nn.Module, str, bytes, list, dict, set, tuple, int, float)
PLACES = (torch, torch.linalg, torch.special, torch.nn.functional, torch.Tensor)


def called(name: str) -> Any:
    """What a function or method gives for a tensor of numbers, or for two, or with a size."""
    x = torch.tensor([1.0, 2.0])
    for arguments in ((x,), (x, x), (x, 1), (5, (2,)), (3,), (x.int(),)):
        for place in PLACES:
            try:
                return getattr(place, name)(*arguments)
            except (AttributeError, RuntimeError, TypeError, ValueError):
                continue
    raise AssertionError(f"{name} was not called")


def test_every_factory_is_there() -> None:
    assert set() == {name for name in table.FACTORIES | table.LIKE | table.FROM_HOST if not hasattr(torch, name)}


def test_every_method_and_attribute_is_there() -> None:
    names = {*table.ATTRIBUTES_NOT_TENSOR, *table.TENSOR_ATTRIBUTES, *table.TENSOR_ONLY}

    assert set() == {name for name in names if not hasattr(torch.Tensor, name)}


def test_only_tensors_have_what_makes_an_unknown_value_one() -> None:
    assert {} == {name: kind for name in table.TENSOR_ONLY for kind in OTHERS if hasattr(kind, name)}


@pytest.mark.parametrize("name", sorted(n for n in table.FACTORIES | table.LIKE if n[0].islower() and n != "from_file"))
def test_factories_take_a_device(name: str) -> None:
    taken = {a.name for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}") for a in schema.arguments}
    builtin = name in ("tensor", "as_tensor") and "device=" in str(getattr(torch, name).__doc__)

    assert builtin or "device" in taken


@pytest.mark.parametrize("name", sorted(table.BOOLEAN - {"is_same_size", "bool"}))
def test_comparisons_give_booleans(name: str) -> None:
    assert torch.bool == called(name).dtype


@pytest.mark.parametrize("name", sorted(table.INTEGER - {"multinomial", "long", "int"}))
def test_indices_are_integers(name: str) -> None:
    assert not called(name).dtype.is_floating_point


def test_every_distribution_is_listed() -> None:
    base = torch.distributions.Distribution
    kinds = {
        name
        for name in torch.distributions.__all__
        if inspect.isclass(kind := getattr(torch.distributions, name)) and issubclass(kind, base)
    }

    assert kinds - {"Distribution", "ExponentialFamily"} == table.DISTRIBUTIONS
