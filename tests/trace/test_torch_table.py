"""What torchlint believes of torch's own callables, against the torch that is there: its stubs, schemas and answers."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from torchlint.facts import tensor_methods
from torchlint.facts import torch_table as table

pytestmark = pytest.mark.torch
STUBS = Path(torch.__file__).parent / "_C"
OTHERS = (numpy.ndarray, torch.nn.Module, str, bytes, list, dict, set, tuple, int, float)
PLACES = (torch, torch.linalg, torch.special, torch.nn.functional, torch.Tensor)
# Kernels of batch normalisation and of recurrent layers, quantized packing: not called by programs.
INTERNAL = re.compile(
    r"_|.*(batch_norm|cudnn|miopen|mkldnn|native|fbgemm|qparams|quantized|_copy$|with_indices)|(gru|lstm|rnn)|q_|sym_"
)


def returns(stub: str, owner: str = "") -> dict[str, set[str]]:
    """What the functions of a stub give, by name: one annotation for each overload."""
    body = ast.parse((STUBS / stub).read_text(encoding="utf-8")).body
    if owner:
        body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == owner)
    found: dict[str, set[str]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            found.setdefault(node.name, set()).add(ast.unparse(node.returns))
    return found


FUNCTIONS = {
    name: given
    for name, given in returns("_VariableFunctions.pyi").items()
    if hasattr(torch, name) and not INTERNAL.match(name)
}
METHODS = {name: given for name, given in returns("__init__.pyi", "TensorBase").items() if not INTERNAL.match(name)}
SEVERAL = {*table.TUPLES, *table.SEQUENCES, *table.REDUCE_PAIRS}


def without_a_tensor(annotations: dict[str, set[str]]) -> set[str]:
    """The names that never give one tensor."""
    return {name for name, given in annotations.items() if not given & {"Tensor", "Self", "S"}}


def arity(annotation: str) -> int:
    """How many tensors an annotation such as `tuple[Tensor, Tensor]` or `torch.return_types.sort` stands for."""
    if annotation.startswith("torch.return_types."):
        return int(getattr(torch.return_types, annotation.rpartition(".")[2]).n_fields)
    return len(re.findall(r"Tensor", annotation))


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


def test_every_function_that_gives_no_tensor_is_listed() -> None:
    # The first two are called as functions of torch.nn.functional, which give one tensor; nobody calls the others.
    silent = {"adaptive_max_pool1d", "embedding_bag", "histogramdd", "init_num_threads", "is_vulkan_available"}

    assert silent == without_a_tensor(FUNCTIONS) - {*table.NOT_TENSOR} - SEVERAL


def test_every_method_that_gives_no_tensor_is_listed() -> None:
    # What it gives is a class or a scheme, and only programs about quantization and subclasses ask for it.
    assert {"qscheme", "storage_type"} == without_a_tensor(METHODS) - {*table.METHODS_NOT_TENSOR} - SEVERAL


@pytest.mark.parametrize("name", sorted({*table.NOT_TENSOR} & FUNCTIONS.keys()))
def test_what_is_listed_gives_no_tensor(name: str) -> None:
    assert name in without_a_tensor(FUNCTIONS)


@pytest.mark.parametrize("name", sorted({*table.METHODS_NOT_TENSOR} & METHODS.keys()))
def test_methods_that_are_listed_give_no_tensor(name: str) -> None:
    assert name in without_a_tensor(METHODS)


@pytest.mark.parametrize("name", sorted({*table.TUPLES} & FUNCTIONS.keys()))
def test_tuples_have_their_length(name: str) -> None:
    assert {table.TUPLES[name]} == {arity(given) for given in FUNCTIONS[name]}


def test_every_function_is_there() -> None:
    names = {*table.NOT_TENSOR, *SEVERAL, *table.REDUCTIONS, *table.BOOLEAN, *table.INTEGER}

    assert set() == {name for name in names if not any(hasattr(place, name) for place in PLACES)}


def test_every_factory_is_there() -> None:
    assert set() == {name for name in table.FACTORIES | table.LIKE | table.FROM_HOST if not hasattr(torch, name)}


def test_every_method_and_attribute_is_there() -> None:
    names = {*table.METHODS_NOT_TENSOR, *table.ATTRIBUTES_NOT_TENSOR, *table.TENSOR_ATTRIBUTES, *table.TENSOR_ONLY}

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


def test_methods_of_tensors() -> None:
    """A stale list: run `python scripts/tensor_methods.py`."""
    public = {n for n in dir(torch.Tensor) if not n.startswith("_") and callable(getattr(torch.Tensor, n))}
    assert public == tensor_methods.METHODS
