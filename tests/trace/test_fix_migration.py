"""A safe fix changes nothing but the warning: programs run before and after it, and give the same."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path
from typing import Any

import pytest

from torchlint import fix
from torchlint.config import Settings
from torchlint.lint import lint
from torchlint.source import Source

torch = pytest.importorskip("torch")


def repaired(code: str, rule: str) -> str:
    settings = Settings(codes=frozenset((rule,)), fixable=frozenset((rule,)))
    findings = lint({"program.py": code.encode()}, settings).findings
    fixes = [finding.fix for finding in findings if finding.fix is not None and finding.fix.applicability == "safe"]
    data, done = fix.apply(Source.of("program.py", code.encode()), fixes)
    assert len(fixes) == len(done) == len(findings) > 0
    return data.decode()


def run(code: str, folder: Path) -> tuple[Any, set[str]]:
    """What the program leaves in `result`, and the kinds of warnings that torch raised."""
    program = folder / "program.py"
    program.write_text(code)
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = runpy.run_path(str(program))["result"]
    ours = (FutureWarning, DeprecationWarning, UserWarning)
    told = [warning for warning in caught if issubclass(warning.category, ours) and _of_api(str(warning.message))]
    return result, {warning.category.__name__ for warning in told}


def _of_api(message: str) -> bool:
    return "CUDA is not available" not in message


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and bool(torch.equal(one, other))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


AMP = [
    """
import torch
x = torch.randn(4, 4)
with torch.cpu.amp.autocast():
    result = x @ x
""",
    """
import torch
x = torch.randn(4, 4)
with torch.cpu.amp.autocast(False):
    a = x @ x
with torch.cpu.amp.autocast(True, torch.float16, False):
    result = [a, x @ x]
""",
    """
import torch as th
from torch.cpu.amp import autocast, GradScaler as Scaler
options = {"enabled": True}
@autocast(dtype=th.bfloat16)
def run(x):
    return x @ x
def again(x, torch=None):
    with autocast(**options):
        return x @ x
scaler = Scaler(1024.0, enabled=False)
result = [run(th.ones(2, 2)), again(th.ones(2, 2)), scaler.state_dict(), scaler.get_scale()]
""",
    """
from torch.cuda.amp import custom_fwd, custom_bwd
import torch.autograd
class Double(torch.autograd.Function):
    @staticmethod
    @custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x):
        return x * 2
    @staticmethod
    @custom_bwd
    def backward(ctx, grad):
        return grad * 2
x = torch.ones(3, requires_grad=True)
Double.apply(x).sum().backward()
result = x.grad
""",
]


@pytest.mark.parametrize(("rule", "code"), [("TL901", code) for code in AMP])
def test_safe_fix_keeps_the_result_and_ends_the_warning(rule: str, code: str, tmp_path: Path) -> None:
    before, warned = run(code, tmp_path)

    after, silent = run(repaired(code, rule), tmp_path)

    assert same(before, after)
    assert warned != set()
    assert silent == set()
