"""A safe fix changes nothing but the warning: programs run before and after it, and give the same."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path
from typing import Any

import pytest

from torchlint.fix import apply as fix
from torchlint.lint.run import lint
from torchlint.settings.config import Settings
from torchlint.text.source import Source

torch = pytest.importorskip("torch")


def repaired(code: str, rule: str) -> str:
    """The program after all of its fixes: those of one import wait for each other."""
    settings = Settings(codes=frozenset((rule,)), fixable=frozenset((rule,)), preview=True)
    data = code.encode()
    rounds = 0
    while findings := lint({"program.py": data}, settings).findings:
        fixes = [one.fix for one in findings if one.fix is not None and fix.applicable(one.fix, "unsafe")]
        assert len(fixes) == len(findings)
        data, done = fix.apply(Source.of("program.py", data), fixes)
        assert done
        rounds += 1
    assert rounds
    return data.decode()


def run(code: str, folder: Path) -> tuple[Any, set[str]]:
    """What the program leaves in `result`, and the kinds of warnings that torch raised."""
    program = folder / "program.py"
    program.write_text(code)
    torch.manual_seed(0)
    torch.set_warn_always(True)
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


DEPRECATED = [
    """
import torch
import torch.nn.functional as F
a = torch.randn(3, 3)
x = torch.randn(1, 1, 4, 4)
q, r = torch.qr(a)
y, z = torch.meshgrid(a[0], a[1])
result = [q, r, torch.cholesky(a @ a.T + torch.eye(3)), y, z, F.upsample(x, scale_factor=2),
          F.upsample_nearest(x, None, 2), F.upsample_bilinear(x, scale_factor=2)]
""",
    """
import torch as th
from torch.nn import Hardtanh, init
from torch.nn.utils import clip_grad_norm
from torch.nn.utils.stateless import functional_call
from functorch import vmap, grad
layer = th.nn.Linear(3, 3)
init.xavier_uniform(layer.weight, gain=2.0)
init.constant(layer.bias, 0.5)
layer(th.ones(2, 3)).sum().backward()
norm = clip_grad_norm(layer.parameters(), max_norm=1.0)
out = functional_call(layer, {"bias": th.zeros(3)}, th.ones(2, 3))
clipped = Hardtanh(min_value=0.0, max_value=2.0)(th.arange(4.0))
result = [layer.weight.grad, norm, out, vmap(lambda v: v * 2)(th.ones(3)), grad(lambda v: v.sin())(th.tensor(1.0)), clipped]
""",
    """
import torch
torch.set_autocast_gpu_dtype(torch.bfloat16)
torch.set_autocast_cpu_dtype(torch.float16)
result = [torch.get_autocast_gpu_dtype(), torch.get_autocast_cpu_dtype(), torch.is_autocast_cpu_enabled(),
          torch.has_cuda, torch.has_mkldnn, torch.distributed.reduce_op.SUM]
torch.set_autocast_gpu_dtype(torch.float16)
torch.set_autocast_cpu_dtype(torch.bfloat16)
""",
    """
import torch.nn.functional
torch.manual_seed(3)
x = torch.randn(8)
result = torch.nn.functional.gumbel_softmax(x, tau=0.5, eps=1e-3)
""",
]
CHECKPOINT = [
    """
import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
x = torch.ones(3, requires_grad=True)
y = checkpoint(torch.sin, x) + checkpoint(
    torch.cos,
    x,
    preserve_rng_state=False,
)
checkpoint_sequential([torch.sin, torch.cos], 2, y).sum().backward()
result = x.grad
""",
]
QUIET = [
    (
        "TL910",
        """
import torch
from torch.autograd import Variable
x = torch.ones(3)
a, b = Variable(x * 2), Variable(x)
b += 1
result = [a, b, x, a.requires_grad, torch.FloatTensor([1, -2.5]), torch.LongTensor([[1, 2], [3, 4]]),
          torch.Tensor([1, 2]), torch.BoolTensor([1, 0]), torch.ByteTensor([3])]
""",
    ),
    (
        "TL910",
        """
import torch as th
import torch.autograd as ag
x = th.ones(3, requires_grad=True)
y = x * 2
result = [ag.Variable(y + 1), ag.Variable(y).requires_grad, th.DoubleTensor([[-1.5], [2]])]
""",
    ),
    (
        "TL909",
        """
import torch
import torch._dynamo
from torch._dynamo import disable, is_compiling
seen = []
@disable
def note(x):
    seen.append(is_compiling())
    return x
@torch.compile(backend="eager")
def step(x):
    return note(x + 1) * (2 if torch._dynamo.is_compiling() else 3)
result = [step(torch.ones(2)), seen, step(torch.ones(2))]
torch._dynamo.reset()
""",
    ),
]
COPIES = [
    (
        "TL713",
        """
import torch
x = torch.linspace(-3, 3, 12).reshape(3, 4)
class Block(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        device = torch.device("cpu")
        a = x.to(device).to(torch.int64)
        b = x.to(dtype=torch.bfloat16).to(device=device)
        c = x.t().contiguous().contiguous()
        return [a, b, c, c.stride()]
result = Block()(x)
""",
    ),
    (
        "TL911",
        """
import torch
x = torch.arange(9.0).reshape(3, 3).requires_grad_()
rows = torch.tensor([0, 2])
trained = [x]
optimizer = torch.optim.SGD(trained, lr=0.0)
result = []
for _ in range(2):
    y = x * 1.0
    picks = [y[[slice(0, 2), 0]], y[[rows, rows]], y[[[0, 1], [0, 1]]], y[[None, 0]], y[[..., 0]], y[[slice(0, 2)]], y[[0, 1]]]
    sum(p.sum() for p in picks).backward()
    optimizer.step()
    result += [p.detach() for p in picks]
result.append(x.grad)
""",
    ),
]
PROGRAMS = [
    *(("TL906", code) for code in CHECKPOINT),
    *(("TL901", code) for code in AMP),
    *(("TL903", code) for code in DEPRECATED),
]


@pytest.mark.parametrize(("rule", "code"), PROGRAMS)
def test_a_fix_keeps_the_result_and_ends_the_warning(rule: str, code: str, tmp_path: Path) -> None:
    before, warned = run(code, tmp_path)

    after, silent = run(repaired(code, rule), tmp_path)

    assert same(before, after)
    assert warned != set()
    assert silent == set()


@pytest.mark.parametrize(("rule", "code"), [*QUIET, *COPIES])
def test_a_fix_keeps_the_result(rule: str, code: str, tmp_path: Path) -> None:
    before, _ = run(code, tmp_path)

    after, _ = run(repaired(code, rule), tmp_path)

    assert same(before, after)
