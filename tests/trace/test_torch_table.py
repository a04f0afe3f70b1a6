"""What torchlint believes of torch's own callables, against the torch that is there: its stubs, schemas and answers."""

from __future__ import annotations

import inspect

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from torchlint.facts import torch_table as table

pytestmark = pytest.mark.torch
OTHERS = (numpy.ndarray, torch.nn.Module, str, bytes, list, dict, set, tuple, int, float)


def test_every_method_and_attribute_is_there() -> None:
    names = {*table.ATTRIBUTES_NOT_TENSOR, *table.TENSOR_ATTRIBUTES, *table.TENSOR_ONLY}

    assert set() == {name for name in names if not hasattr(torch.Tensor, name)}


def test_only_tensors_have_what_makes_an_unknown_value_one() -> None:
    assert {} == {name: kind for name in table.TENSOR_ONLY for kind in OTHERS if hasattr(kind, name)}


def test_every_distribution_is_listed() -> None:
    base = torch.distributions.Distribution
    kinds = {
        name
        for name in torch.distributions.__all__
        if inspect.isclass(kind := getattr(torch.distributions, name)) and issubclass(kind, base)
    }

    assert kinds - {"Distribution", "ExponentialFamily"} == table.DISTRIBUTIONS
