"""Safe fixes of the rules on transfers and memory, run before and after: the same values, dtypes, strides, exceptions."""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchlint.fix import apply as fix
from torchlint.lint.run import lint
from torchlint.settings.config import Settings
from torchlint.text.source import Source

torch = pytest.importorskip("torch")

Program = Callable[..., Any]


def before_and_after(folder: Path, code: str, rule: str) -> tuple[Program, Program]:
    """`run` of the program as written and as its fixes leave it, safe or not."""
    wanted = frozenset((rule,))
    source = f"import numpy as np\nimport torch\n\n{code}".encode()
    findings = lint({"program.py": source}, Settings(codes=wanted, fixable=wanted)).findings
    fixes = [found.fix for found in findings if found.fix is not None]
    assert fixes and all(fix.applicable(one, "unsafe") for one in fixes)
    data, done = fix.apply(Source.of("program.py", source), fixes)
    assert len(fixes) == len(done)
    return _run(folder / "before.py", source), _run(folder / "after.py", data)


def _run(path: Path, data: bytes) -> Program:
    path.write_bytes(data)
    run: Program = runpy.run_path(str(path))["run"]
    return run


def described(run: Program, *arguments: object) -> object:
    """What a call gives, as far as a caller can tell; for an exception its class."""
    torch.manual_seed(0)
    try:
        result = run(*arguments)
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        return type(error)
    results = result if isinstance(result, tuple) else (result,)
    return [
        (type(t), t.dtype, t.shape, t.stride(), t.device, t.requires_grad, t.is_leaf, None if t.is_meta else t.tolist())
        for t in results
    ]


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    "made",
    [
        "torch.zeros(2, 3).to(device)",
        "torch.ones((2, 3), dtype=torch.float64).to(device)",
        "torch.full((2,), 7).to(device, non_blocking=True)",
        "torch.full((2,), True).to(device=device)",
        "torch.eye(3).to(device, torch.float16)",
        "torch.zeros(x.shape).to(x)",
        "torch.ones(1, 1).type_as(x)",
        "torch.arange(x.shape[0]).to(device)",
        "torch.arange(1, 9, 2, dtype=torch.int32).to(device)",
        "torch.zeros(4).long().unsqueeze(0).to(device)",
        "torch.ones(2, 3).transpose(0, 1).to(device)",
        "torch.zeros(-1).to(device)",
        "torch.full((2,), 'x').to(device)",
    ],
)
def test_a_tensor_made_on_the_device_is_the_tensor_that_was_moved(tmp_path: Path, made: str, device: str) -> None:
    code = f"class Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor, device: torch.device):\n        return {made}\n\n"
    before, after = before_and_after(tmp_path, code + "def run(x, device):\n    return Net()(x, device)\n", "TL405")
    x = torch.zeros(4, 2, dtype=torch.float64, device=device)

    assert described(before, x, device) == described(after, x, device)


LOOP = """
def run(dataset, model, optimizer, device):
    loader = torch.utils.data.DataLoader(dataset, batch_size=2, pin_memory=True)
    seen = []
    for x, y in loader:
        x = x.to(device)
        loss = model(x).sum() + y.to(device=device).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.detach())
    return torch.stack(seen)
"""


@pytest.mark.filterwarnings("ignore:.*pin_memory.*")
@pytest.mark.parametrize("device", ["cpu", "meta", "nowhere"])
def test_a_copy_that_does_not_wait_brings_the_same_batch(tmp_path: Path, device: str) -> None:
    before, after = before_and_after(tmp_path, LOOP, "TL402")
    dataset = torch.utils.data.TensorDataset(torch.arange(8.0).reshape(4, 2), torch.ones(4))

    def trained(run: Program) -> object:
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 1, device="cpu" if device == "nowhere" else device)
        return described(run, dataset, model, torch.optim.SGD(model.parameters(), lr=0.1), device)

    assert trained(before) == trained(after)


@pytest.mark.parametrize(
    "copied",
    [
        "x.clone().detach()",
        "x.clone().data",
        "x.t().clone().detach()",
        "x.clone(memory_format=torch.contiguous_format).detach()",
    ],
)
def test_a_tensor_detached_first_is_the_same_clone(tmp_path: Path, copied: str) -> None:
    before, after = before_and_after(tmp_path, f"def run(x: torch.Tensor):\n    return {copied}\n", "TL507")
    for x in (torch.arange(6.0).reshape(2, 3), torch.ones(2, 3, requires_grad=True).t(), torch.ones(2, 1).expand(2, 3)):
        assert described(before, x) == described(after, x)
        assert x.data_ptr() != after(x).data_ptr()


@pytest.mark.parametrize(
    "copied",
    [
        "x.clone().float()",
        "x.clone().double()",
        "x.clone().bool()",
        "x.t().clone().to(torch.float16)",
        "x.clone().to('meta', torch.float32)",
        "x.clone().to(dtype=torch.float32, non_blocking=True)",
        "x.cpu().clone()",
        "x.detach().half().clone()",
        "x.cpu().clone().to(torch.float64)",
        "(x * 2).clone()",
        "(x - 1).clone()",
        "torch.cat([x]).clone()",
        "torch.stack([x, x]).clone()",
        "torch.where(x > 0, x, 0).clone()",
        "x.repeat(1, 1).clone()",
        "x.cumsum(0).clone()",
    ],
)
def test_a_clone_beside_a_cast_is_one_copy(tmp_path: Path, copied: str) -> None:
    code = f"def run(x: torch.Tensor):\n    for _ in range(1):\n        made = {copied}\n    return made\n"
    before, after = before_and_after(tmp_path, code, "TL713")
    for x in (
        torch.arange(6.0).reshape(2, 3),
        torch.arange(6).reshape(2, 3),
        torch.ones(2, 3, requires_grad=True).t(),
        torch.ones(2, 1).expand(2, 3),
        torch.ones(4, 6)[::2, ::2],
        torch.ones(0, 3),
    ):
        assert described(before, x) == described(after, x)
        if not copied.endswith("(7)") and "meta" not in copied:
            made = after(x)
            assert x.data_ptr() != made.data_ptr() or not x.numel()
            if made.requires_grad:
                slopes = [torch.autograd.grad(run(x).sum(), x)[0] for run in (before, after)]
                assert described(lambda slopes=slopes: slopes[0]) == described(lambda slopes=slopes: slopes[1])


@pytest.mark.parametrize("made", ["x[...]", "x * 2", "x[0]", "x.t()"])
def test_a_tensor_of_a_tensor_is_its_detached_clone(tmp_path: Path, made: str) -> None:
    before, after = before_and_after(tmp_path, f"def run(x: torch.Tensor):\n    return torch.tensor({made})\n", "TL407")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in (torch.arange(6.0).reshape(2, 3), torch.ones(2, 3, requires_grad=True), torch.ones(2, 1).expand(2, 3)):
            assert described(before, x) == described(after, x)


@pytest.mark.parametrize(
    "made",
    [
        "np.zeros((2, 3))",
        "np.full((2,), n, dtype=np.float16), dtype=torch.float16",
        "np.array(n)",
        "np.where(n > 1, 2, 3)",
        "np.concatenate([np.ones(2), np.zeros(n)])",
        "np.zeros(2, dtype=object)",
        "np.zeros(-1)",
    ],
)
def test_an_array_that_was_just_made_need_not_be_copied(tmp_path: Path, made: str) -> None:
    pytest.importorskip("numpy")
    code = f"class Net(torch.nn.Module):\n    def forward(self, n: int):\n        return torch.tensor({made})\n\n"
    before, after = before_and_after(tmp_path, code + "def run(n):\n    return Net()(n)\n", "TL407")

    assert described(before, 2) == described(after, 2)
