"""What a function reads on the host where it is a tensor, for those that give it one."""

from __future__ import annotations

import ast

import pytest

from torchlint.facts.module import Module
from torchlint.facts.type_tested import read_of
from torchlint.text.source import Source


def read_by(test: str) -> list[str]:
    """What `log("loss", loss)` gives a function that reads `value` behind a test."""
    code = f"def log(key, value):\n    if {test}:\n        value = value.item()\n    print(key, value)\nlog('loss', loss)\n"
    module = Module(Source.of("a.py", code.encode()), "a", is_package=False)
    (call,) = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "log"]
    return [ast.unparse(given) for given, _ in read_of(module.top_functions["log"], call)]


@pytest.mark.parametrize(
    "test",
    [
        "type(value) != torch.Tensor",
        "not type(value) == torch.Tensor",
        "type(value) is float",
        "type(value) == torch.Tensor or key",
        "type(value) == kind == torch.Tensor",
        "torch.Tensor == type",
        "type(self.value) == torch.Tensor",
        "isinstance(value, float)",
        "hasattr(value, 'shape')",
        "hasattr(key, 'item')",
        "type(key) == torch.Tensor",
    ],
)
def test_what_is_no_tensor_for_sure_is_not_read_as_one(test: str) -> None:
    assert [] == read_by(test)


@pytest.mark.parametrize(
    "test",
    [
        "type(value) == torch.Tensor",
        "type(value) is torch.Tensor",
        "type(value) in (float, torch.Tensor)",
        "type(value) == torch.Tensor and key",
        "isinstance(value, torch.Tensor)",
        "torch.is_tensor(value)",
        "hasattr(value, 'item')",
    ],
)
def test_a_tensor_is_read(test: str) -> None:
    assert ["loss"] == read_by(test)
