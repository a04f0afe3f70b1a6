"""The table of torch's operators as it is read: conditions, and what arguments tell of them."""

from __future__ import annotations

import ast

import pytest

from torchlint.facts.arguments import Arguments
from torchlint.facts.operator_results import holds
from torchlint.facts.values import LIKELY_TENSOR, TENSOR, UNKNOWN, Value, constant, join
from torchlint.torch_api import operators
from torchlint.torch_api.dynamic import DYNAMIC
from torchlint.torch_api.operators import ALWAYS, NEVER, operator

VALUES = {"t": TENSOR, "maybe": LIKELY_TENSOR, "either": join(TENSOR, constant(3))}


def arguments(code: str) -> Arguments:
    """`t, 1, n=None, **options`: `t` is a tensor, what is no literal and not in VALUES is unknown."""
    call = ast.parse(f"f({code})", mode="eval").body
    assert isinstance(call, ast.Call)

    def read(node: ast.expr) -> Value:
        if isinstance(node, ast.Constant):
            return constant(node.value)
        return VALUES.get(node.id, UNKNOWN) if isinstance(node, ast.Name) else UNKNOWN

    return Arguments.of(call, read)


@pytest.mark.parametrize("name", ["torch.no_such_function", "torch.cuda.synchronize", "numpy.unique", "unique", ""])
def test_what_is_no_operator_has_no_row(name: str) -> None:
    assert operator(name) is None


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("torch.relu", "t", False),
        ("torch.unique", "t", True),
        ("torch.unique", "*everything", True),
        ("torch.linalg.inv_ex", "t", False),
        ("torch.linalg.inv_ex", "t, check_errors=False", False),
        ("torch.linalg.inv_ex", "t, check_errors=True", True),
        ("torch.linalg.inv_ex", "t, check_errors=flag", None),
        ("torch.linalg.inv_ex", "t, **options", None),
        ("torch.nn.functional.one_hot", "t", True),
        ("torch.nn.functional.one_hot", "t, None", True),
        ("torch.nn.functional.one_hot", "t, 10", False),
        ("torch.nn.functional.one_hot", "t, num_classes=10", False),
        ("torch.nn.functional.one_hot", "t, classes", None),
        ("torch.repeat_interleave", "t, 3", False),
        ("torch.repeat_interleave", "t, t", True),
        ("torch.repeat_interleave", "t, maybe", None),
        ("torch.repeat_interleave", "t, either", None),
        ("torch.repeat_interleave", "t, unknown", None),
        ("torch.repeat_interleave", "t, t, output_size=8", False),
        ("torch.multinomial", "t, 3", False),
        ("torch.searchsorted", "a, b", False),
        ("torch.searchsorted", "a, b, sorter=c", True),
        ("torch.cov", "t", False),
        ("torch.cov", "t, aweights=t", True),
        ("torch.isin", "t, t", None),
        ("torch.functional.unique", "t", True),
    ],
)
def test_whether_the_host_waits(name: str, code: str, expected: bool | None) -> None:
    row = operator(name)
    assert row is not None
    assert expected is holds(row, row.waits, arguments(code))


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("torch.sum", "t", True),
        ("torch.sum", "t, None", True),
        ("torch.sum", "t, 0", False),
        ("torch.sum", "t, dim=0", False),
        ("torch.sum", "t, **options", None),
        ("torch.norm", "t, 2", True),
        ("torch.norm", "t, 2, 1", False),
        ("torch.max", "t, t", False),
        ("torch.max", "t, unknown", None),
        ("torch.dist", "t, t", True),
        ("torch.nn.functional.mse_loss", "t, t", True),
        ("torch.nn.functional.mse_loss", "t, t, reduction='none'", False),
        ("torch.nn.functional.mse_loss", "t, t, reduction='sum'", True),
        ("torch.nn.functional.mse_loss", "t, t, reduction=reduction", None),
    ],
)
def test_whether_the_result_has_no_dimensions(name: str, code: str, expected: bool | None) -> None:
    row = operator(name)
    assert row is not None
    assert expected is holds(row, row.scalar, arguments(code))


def test_a_method_stands_in_the_row_of_its_function() -> None:
    method, function = operator("torch.Tensor.unique"), operator("torch.unique")
    assert method is not None and function is not None
    assert (method.returns, method.when, method.waits) == (function.returns, function.when, function.waits)
    assert (ALWAYS, NEVER) == (method.waits, method.scalar)


def test_names_by_column() -> None:
    named = {*operators.names("dynamic")}
    assert {"torch.nonzero", "torch.Tensor.nonzero", "torch.where", "torch.nn.functional.one_hot"} <= named
    assert {"torch.relu", "torch.topk", "torch.nonzero_static"}.isdisjoint(named)
    assert DYNAMIC == named
